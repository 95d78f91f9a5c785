/* Finding a run's init, and telling it which generation was granted. */
#include "guest/guest.h"
#include "guest/socket.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* The guest gives what it ends 3 s, and then ends it all the same. */
#define FENCE_MS 8000

static int
receive(int fd, struct wire_fenced *ret_fenced, struct err *e)
{
	int64_t deadline = clock_mono_ms() + FENCE_MS;
	struct buf in = BUF_INIT(64);
	enum wire_type type = 0;
	const char *payload;
	char piece[32];
	size_t size, used;
	int rc;

	while ((rc = wire_next(
		    in.data, in.size, &type, &payload, &size, &used, e)) == 0) {
		struct pollfd p = {fd, POLLIN, 0};

		if (poll(&p, 1, clock_left(deadline)) == 0) {
			rc = err_set(e, ERR_GUEST,
			    "the run's init did not answer in time");
			break;
		}
		ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0 || in.size + (size_t)n > in.max) {
			rc = err_set(e, ERR_GUEST,
			    "the run's init vanished before it answered");
			break;
		}
		buf_add(&in, piece, (size_t)n);
	}
	if (rc == 1 && type != WIRE_FENCED)
		rc = err_set(e, ERR_GUEST, "the run's init made no sense");
	if (rc == 1)
		rc = wire_get_fenced(payload, size, ret_fenced, e);
	buf_release(&in);
	return rc;
}

bool
guest_visible(const struct guest_place *place)
{
	FD_AUTO dir = open(place->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here, above;

	return dir >= 0 && fstat(dir, &here) == 0 &&
	       fstatat(dir, "..", &above, 0) == 0 &&
	       here.st_dev != above.st_dev;
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
guest_fence(const struct guest_place *place, uint64_t generation,
    bool *ret_done, uint64_t *ret_known, struct err *e)
{
	BUF_AUTO frame = BUF_INIT(64);
	struct wire_fenced fenced = {false, 0};
	FD_AUTO fd = socket_open(place->dir, place->pid, FENCE_MS, e);

	if (fd < 0)
		return -1;
	wire_put_fence(&frame, generation);
	if (send(fd, frame.data, frame.size, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)frame.size)
		return err_sys(e, ERR_GUEST, "cannot speak to the run's init");
	if (receive(fd, &fenced, e) != 0)
		return -1;
	*ret_done = fenced.done && fenced.generation == generation;
	*ret_known = fenced.generation;
	return 0;
}
