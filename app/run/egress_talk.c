/* Speaking to a run's proxy. */
#include "run/egress_talk.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/egress_proxy.h"
#include "run/place.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 1000
#define ANSWER_MS 5000 /* one thread serves control and traffic */
#define PIECE 4096

static int
lost(struct err *e)
{
	e->kind = ERR_PROXY;
	return err_wrap(e, "the run's proxy");
}

int
egress_ask(const struct config *config, const char *id, const char *line,
    struct err *e)
{
	char path[RUN_PATH_SIZE];

	run_path(config, id, EGRESS_SOCKET, path);
	FD_AUTO fd = fd_connect_unix(path, CONNECT_MS, e);
	if (fd < 0 || fd_set_nonblock(fd, 1) != 0 ||
	    fd_write_all(
		fd, line, strlen(line), clock_mono_ms() + ANSWER_MS, e) != 0)
		return lost(e);
	return fd_take(&fd);
}

/* Up to its end. */
static int
read_all(int fd, struct buf *to, int64_t deadline, struct err *e)
{
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		size_t room = to->max - to->size;

		if (room == 0)
			return err_set(e, ERR_PROXY,
			    "the run's proxy said more than %zu bytes",
			    to->max);
		if (clock_mono_ms() >= deadline)
			return err_set(
			    e, ERR_PROXY, "the run's proxy does not answer");
		if (poll(&p, 1, clock_left(deadline)) <= 0)
			continue;
		if (room > PIECE)
			room = PIECE;
		char *at = buf_grow(to, room);
		ssize_t n = at != NULL ? read(fd, at, room) : 0;
		if (n == 0) {
			to->data[to->size] = '\0';
			return 0;
		}
		if (n > 0)
			to->size += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, ERR_PROXY, "the run's proxy");
	}
}

int
egress_talk(const struct config *config, const char *id, const char *line,
    const struct buf *text, struct buf *answer, struct err *e)
{
	int64_t deadline = clock_mono_ms() + ANSWER_MS;
	FD_AUTO fd = egress_ask(config, id, line, e);

	if (fd < 0)
		return -1;
	if (fd_write_all(fd, text->data, text->size, deadline, e) != 0)
		return lost(e);
	(void)shutdown(fd, SHUT_WR);
	if (read_all(fd, answer, deadline, e) != 0)
		return -1;
	if (str_starts(answer->data, "error "))
		return err_set(e, ERR_PROXY, "the run's proxy: %.*s",
		    (int)strcspn(answer->data + 6, "\n"), answer->data + 6);
	return 0;
}
