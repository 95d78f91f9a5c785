/* Finding a run's init, and telling it which generation was granted. */
#include "guest/conn.h"
#include "guest/refusal.h"
#include "guest/socket.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

/* The guest gives what it ends 3 s, and then ends it all the same. */
#define FENCE_MS 8000

bool
guest_visible(const struct guest_place *place)
{
	FD_AUTO dir = open(place->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, above;

	return dir >= 0 && fstat(dir, &here) == 0 &&
	       fstatat(dir, "..", &above, 0) == 0 &&
	       here.st_dev != above.st_dev;
}

/* That a pid is another's by now is ruled out by who asks: it was looked up. */
bool
guest_spoilt(const struct guest_place *place)
{
	return (kill((pid_t)place->pid, 0) == 0 || errno != ESRCH) &&
	       socket_is_spoilt(place->dir, place->pid);
}

int
guest_wait(const struct guest_place *place, int timeout_ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;

	for (;;) {
		int left = clock_left(deadline);
		int fd = socket_open(place->dir, place->pid, left, e);

		if (fd >= 0) {
			fd_close(&fd);
			return 0;
		}
		if (!guest_visible(place))
			return err_set(e, ERR_GUEST,
			    "the directory of the run's init is not here");
		if (left == 0 ||
		    (kill((pid_t)place->pid, 0) != 0 && errno == ESRCH))
			return -1;
		(void)poll(NULL, 0, 1);
	}
}

int
guest_fence(struct engine *en, const struct guest_place *place,
    uint64_t generation, bool *ret_done, uint64_t *ret_known, struct err *e)
{
	static const struct guest_patience patience = {-1, FENCE_MS};
	int64_t until = clock_mono_ms() + FENCE_MS;
	struct inbound_event ev;
	struct conn c;

	if (conn_open(&c, en, place, INBOUND_FENCE, e) != 0)
		return -1;
	wire_put_fence(&c.out, generation);
	int rc = conn_next(&c, &patience, until, &ev, e);
	if (rc == 0 && ev.type == WIRE_FAIL)
		rc = refusal_of_guest(ev.why, ev.bytes, ev.size, e);
	conn_release(&c);
	if (rc != 0)
		return -1;
	*ret_done = ev.fenced.done && ev.fenced.generation == generation;
	*ret_known = ev.fenced.generation;
	return 0;
}
