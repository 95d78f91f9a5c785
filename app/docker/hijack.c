/* Opening a hijacked stream, on a socket of our own. */
#include "docker/hijack.h"
#include "docker/upgrade.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define REQUEST_MAX (64u * 1024)
#define REFUSAL_MAX (64u * 1024) /* longest refusal that is quoted */

static int
wait_for(int fd, short events, int64_t deadline, struct err *e)
{
	struct pollfd p = {fd, events, 0};

	while (poll(&p, 1, clock_left(deadline)) <= 0)
		if (clock_mono_ms() >= deadline)
			return err_set(e, ERR_ENGINE_TIMEOUT,
			    "Docker did not open a stream in time");
	return 0;
}

static int
cut(struct err *e)
{
	return err_set(e, ERR_ENGINE_AWAY,
	    "Docker closed the connection before a stream was open");
}

static int
send_all(int fd, const struct buf *bytes, int64_t deadline, struct err *e)
{
	for (size_t sent = 0; sent < bytes->size;) {
		if (wait_for(fd, POLLOUT, deadline, e) != 0)
			return -1;
		ssize_t n = send(fd, bytes->data + sent, bytes->size - sent,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return cut(e);
		if (n > 0)
			sent += (size_t)n;
	}
	return 0;
}

/* Some bytes, at most size, or -1. */
static ssize_t
receive(
    int fd, char *to, size_t size, int flags, int64_t deadline, struct err *e)
{
	for (;;) {
		if (wait_for(fd, POLLIN, deadline, e) != 0)
			return -1;
		ssize_t n = recv(fd, to, size, flags | MSG_DONTWAIT);
		if (n > 0)
			return n;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return cut(e);
	}
}

/* Read the head and not a byte beyond: look first, then take. */
static int
read_head(int fd, int64_t deadline, struct upgrade *ret_head, struct err *e)
{
	BUF_AUTO head = BUF_INIT(UPGRADE_HEAD_MAX + 4096);
	char piece[4096];
	int rc = 0;

	while (rc == 0) {
		ssize_t n =
		    receive(fd, piece, sizeof(piece), MSG_PEEK, deadline, e);
		if (n < 0)
			return -1;
		size_t before = head.size;
		buf_add(&head, piece, (size_t)n);
		rc = upgrade_head(head.data, head.size, ret_head, e);
		if (rc < 0)
			return -1;
		size_t take = rc > 0 ? ret_head->head_size - before : (size_t)n;
		/* They were there when we looked. */
		if (recv(fd, piece, take, 0) != (ssize_t)take)
			return cut(e);
	}
	return 0;
}

static int
refused(int fd, const struct upgrade *head, int64_t deadline, struct err *e)
{
	ENGINE_REPLY_AUTO reply = {
	    head->status, BUF_INIT(REFUSAL_MAX), BUF_INIT(0)};
	size_t left = head->content_length;

	while (left > 0 && !reply.body.over) {
		char piece[4096];
		ssize_t n = receive(fd, piece,
		    left < sizeof(piece) ? left : sizeof(piece), 0, deadline,
		    e);

		if (n < 0)
			return -1;
		buf_add(&reply.body, piece, (size_t)n);
		left -= (size_t)n;
	}
	return engine_refused(&reply, "cannot open a stream", e);
}

int
hijack_open(struct engine *en, const char *path, const char *json,
    int timeout_ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	BUF_AUTO request = BUF_INIT(REQUEST_MAX);
	struct upgrade head;
	const char *version = engine_version(en, timeout_ms, e);

	if (version == NULL)
		return -1;
	buf_addf(&request,
	    "POST /v%s%s HTTP/1.1\r\n"
	    "Host: docker\r\n"
	    "Connection: Upgrade\r\n"
	    "Upgrade: tcp\r\n"
	    "Content-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    version, path, strlen(json), json);
	if (request.over)
		return err_set(e, ERR_ENGINE,
		    "a request to Docker is longer than %u bytes", REQUEST_MAX);
	FD_AUTO fd =
	    fd_connect_unix(engine_socket(en), clock_left(deadline), e);
	if (fd < 0) {
		e->kind = ERR_ENGINE_AWAY;
		return -1;
	}
	if (send_all(fd, &request, deadline, e) != 0 ||
	    read_head(fd, deadline, &head, e) != 0)
		return -1;
	if (head.status != 101 && (head.status != 200 || head.framed))
		return refused(fd, &head, deadline, e);
	return fd_take(&fd);
}
