/* A run's init that says what it was told to say. */
#include "peer.h"
#include "../check.h"
#include "lib/fd.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_MS 5
#define HEARD_MAX (16u << 20)

void
peer_open(struct peer *p)
{
	static const struct buf bytes = BUF_INIT(HEARD_MAX);
	char path[100];
	struct err e = ERR_INIT;

	memset(p, 0, sizeof(*p));
	p->say = p->heard = bytes;
	p->step = SIZE_MAX;
	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/sbx-peer-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(path, sizeof(path), "%s/" GUEST_SOCKET, p->dir);
	p->listener = fd_listen_unix(path, 0600, 16, &e);
	if (p->listener < 0)
		fail_msg("%s", e.text);
}

void
peer_close(struct peer *p)
{
	char path[100];

	fd_close(&p->listener);
	buf_release(&p->say);
	buf_release(&p->heard);
	(void)snprintf(path, sizeof(path), "%s/" GUEST_SOCKET, p->dir);
	(void)unlink(path);
	assert_int_equal(rmdir(p->dir), 0);
}

struct guest_place
peer_place(const struct peer *p)
{
	return (struct guest_place){"", p->dir, getpid(), WIRE_VERSION};
}

/* Wait a little; false once nobody wants more. Asked for before the wait: what
 * was sent until then is there after it. */
static bool
look(struct peer *p, int fd, short events)
{
	struct pollfd poll_fd = {fd, events, 0};
	bool over = atomic_load(&p->over);

	(void)poll(&poll_fd, 1, LOOK_MS);
	return !over;
}

/* Read once, or wait a little; false where no more will come, or wanted. */
static bool
hear(struct peer *p, int fd)
{
	char piece[65536];
	ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n > 0)
		buf_add(&p->heard, piece, (size_t)n);
	return n > 0 || (n < 0 && look(p, fd, POLLIN));
}

/* Of that type, or any where it is 0; or what is none. */
static bool
heard_frame(const struct peer *p, enum wire_type wanted)
{
	struct err e;
	enum wire_type type;
	const char *payload;
	size_t at = 0, size, used;
	int rc;

	while ((rc = wire_next(p->heard.data + at, p->heard.size - at, &type,
		    &payload, &size, &used, &e)) == 1) {
		if (wanted == 0 || type == wanted)
			return true;
		at += used;
	}
	return rc < 0;
}

static void
await_frame(struct peer *p, int fd, enum wire_type type)
{
	while (!heard_frame(p, type) && hear(p, fd))
		;
}

/* Say all of it; false where nobody hears it. What is said meanwhile is heard,
 * so that neither waits for the other. */
static bool
say(struct peer *p, int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, bytes, size < p->step ? size : p->step,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		} else if (!look(p, fd, POLLOUT) || !hear(p, fd)) {
			return false;
		}
	}
	return true;
}

static void
play(struct peer *p, int fd)
{
	size_t pause =
	    p->cue != 0 && p->pause < p->say.size ? p->pause : p->say.size;

	await_frame(p, fd, 0);
	if (!say(p, fd, p->say.data, pause))
		return;
	if (pause < p->say.size)
		await_frame(p, fd, p->cue);
	if (!say(p, fd, p->say.data + pause, p->say.size - pause))
		return;
	while (p->end == PEER_CLOSE && p->heard.size < p->hear && hear(p, fd))
		;
	while (p->end == PEER_FLOOD &&
	       say(p, fd, p->say.data + p->say.size - p->flood, p->flood))
		;
	while (p->end == PEER_STALL && look(p, -1, 0))
		;
}

static void *
run(void *arg)
{
	struct peer *p = arg;
	int fd = -1;

	while (fd < 0 && look(p, p->listener, POLLIN))
		fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		play(p, fd);
	fd_close(&fd);
	return NULL;
}

void
peer_play(struct peer *p)
{
	assert_false(p->playing);
	buf_reset(&p->heard);
	atomic_store(&p->over, false);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	p->playing = true;
}

void
peer_join(struct peer *p)
{
	if (!p->playing)
		return;
	p->playing = false;
	atomic_store(&p->over, true);
	assert_int_equal(pthread_join(p->thread, NULL), 0);
	buf_reset(&p->say);
	p->step = SIZE_MAX;
	p->pause = p->hear = p->flood = 0;
	p->cue = 0;
	p->end = PEER_CLOSE;
}
