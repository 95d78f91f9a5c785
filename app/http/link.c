/* Bytes of FastCGI connections. */
#include "http/link.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define HEAD_READ (8 * 1024)
#define HEAD_MAX (256 * 1024) /* nginx takes headers of 32 KiB */
#define BATCH 2		      /* records at once: 64 KiB is over one */
#define PAGES (60 * 1024)     /* of a file in a record: whole pages */

void
link_init(struct link *l, int watch, int stall_ms)
{
	const struct buf head = BUF_INIT(HEAD_MAX);

	*l = (struct link){.fd = -1, .watch = watch, .stall_ms = stall_ms};
	l->head = head;
}

void
link_release(struct link *l)
{
	buf_release(&l->head);
}

void
link_begin(struct link *l, int fd)
{
	l->fd = fd;
	memset(&l->body, 0, sizeof(l->body));
}

/* 1 where fd is ready, 0 where it is not in time, -1 where the peer left. */
static int
wait_for(const struct link *l, short what, int timeout_ms)
{
	struct pollfd p[] = {{l->fd, what, 0}, {l->watch, POLLIN, 0}};
	int n = poll(p, 2, timeout_ms);

	return p[1].revents != 0 ? -1 : n > 0;
}

/* -- reading ------------------------------------------------------------- */

int
link_head(struct link *l, int timeout_ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	struct pollfd p = {l->fd, POLLIN, 0};
	int64_t used = 0;

	buf_reset(&l->head);
	while (used == 0) {
		char *to = buf_grow(&l->head, HEAD_READ);

		if (to == NULL)
			return err_set(e, ERR_INPUT,
			    "the request's head is over %d bytes", HEAD_MAX);
		if (poll(&p, 1, clock_left(deadline)) <= 0)
			return err_set(e, ERR_INPUT, "no request came in time");
		ssize_t n = recv(l->fd, to, HEAD_READ, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0)
			return err_set(e, ERR_INPUT, "the request broke off");
		used = record_request(
		    l->head.data, l->head.size + (size_t)n, &l->body.id);
		if (used < 0)
			return err_set(
			    e, ERR_INPUT, "what came is no FastCGI request");
		if (used > 0)
			n = used - (int64_t)l->head.size;
		if (recv(l->fd, to, (size_t)n, MSG_DONTWAIT) != n)
			return err_set(e, ERR_INPUT, "the request broke off");
		l->head.size += (size_t)n;
	}
	return 0;
}

/*
 * Read once: content to where it belongs, at most size bytes of it, and where
 * that is all of its record also what leads to the next one, so that large
 * bodies are neither copied again nor read a record's head at a time.
 */
static int64_t
receive(struct link *l, char *to, size_t size, bool careful)
{
	struct record_body *b = &l->body;
	char behind[UINT8_MAX + RECORD_HEAD];
	size_t direct = size < b->content ? size : b->content, more = 0;

	if (direct == b->content) {
		more = b->padding;
		if (b->content == 0 || !careful)
			more += RECORD_HEAD - b->head_size;
	}
	struct iovec v[] = {{to, direct}, {behind, more}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	ssize_t n = recvmsg(l->fd, &m, MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? LINK_LATE : -1;
	if ((size_t)n < direct)
		direct = (size_t)n;
	b->content -= direct;
	if (record_squeeze(b, behind, (size_t)n - direct) < 0)
		return -1;
	return (int64_t)direct;
}

int64_t
link_body(struct link *l, char *to, size_t size, int64_t deadline, bool careful)
{
	int64_t n = 0;

	while (n == 0 && !l->body.ended) {
		n = receive(l, to, size, careful);
		if (n != LINK_LATE)
			continue;
		n = wait_for(l, POLLIN, clock_left(deadline));
		if (n <= 0)
			return n == 0 ? LINK_LATE : -1;
		n = 0;
	}
	return n;
}

int
link_await(struct link *l, int other_fd, int timeout_ms)
{
	struct pollfd p[] = {
	    {l->fd, POLLIN, 0}, {l->watch, POLLIN, 0}, {other_fd, POLLIN, 0}};

	if (l->body.ended)
		return 1;
	(void)poll(p, 3, timeout_ms);
	if (p[1].revents != 0)
		return -1;
	return p[0].revents != 0;
}

void
link_drain(struct link *l, size_t most, int timeout_ms)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	struct pollfd p = {l->fd, POLLIN, 0};
	char waste[16 * 1024];

	while (!l->body.ended && most > 0 &&
	       poll(&p, 1, clock_left(deadline)) > 0) {
		ssize_t n = recv(l->fd, waste, sizeof(waste), MSG_DONTWAIT);

		if (n <= 0 || record_squeeze(&l->body, waste, (size_t)n) < 0)
			return;
		most -= (size_t)n < most ? (size_t)n : most;
	}
}

/* -- writing ------------------------------------------------------------- */

static int
send_all(const struct link *l, struct iovec *v, size_t count)
{
	while (count > 0) {
		const struct msghdr m = {.msg_iov = v, .msg_iovlen = count};
		ssize_t n = sendmsg(l->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			if ((errno != EAGAIN && errno != EINTR) ||
			    wait_for(l, POLLOUT, l->stall_ms) <= 0)
				return -1;
			continue;
		}
		for (; count > 0 && (size_t)n >= v->iov_len; count--, v++)
			n -= (ssize_t)v->iov_len;
		if (count > 0) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	return 0;
}

int
link_writable(const struct link *l)
{
	return wait_for(l, POLLOUT, l->stall_ms) > 0 ? 0 : -1;
}

int
link_send(const struct link *l, const char *bytes, size_t size)
{
	while (size > 0) {
		char head[BATCH][RECORD_HEAD];
		struct iovec v[2 * BATCH];
		size_t count = 0;

		for (int i = 0; i < BATCH && size > 0; i++) {
			size_t n = size < RECORD_MAX ? size : RECORD_MAX;

			record_head(head[i], l->body.id, n);
			v[count++] = (struct iovec){head[i], RECORD_HEAD};
			v[count++] =
			    (struct iovec){(void *)(uintptr_t)bytes, n};
			bytes += n;
			size -= n;
		}
		if (send_all(l, v, count) != 0)
			return -1;
	}
	return 0;
}

/* That many bytes of the file, the descriptor not blocking. */
static int
send_pages(const struct link *l, int fd, off_t *at, size_t size)
{
	while (size > 0) {
		ssize_t n = sendfile(l->fd, fd, at, size);

		if (n == 0)
			return LINK_SHORT;
		if (n > 0)
			size -= (size_t)n;
		else if ((errno != EAGAIN && errno != EINTR) ||
			 wait_for(l, POLLOUT, l->stall_ms) <= 0)
			return -1;
	}
	return 0;
}

int
link_send_file(const struct link *l, int fd, uint64_t offset, uint64_t size)
{
	off_t at = (off_t)offset;
	int rc = fd_set_nonblock(l->fd, 1);

	while (size > 0 && rc == 0) {
		size_t n = size < PAGES ? (size_t)size : PAGES;
		char head[RECORD_HEAD];
		struct iovec v = {head, RECORD_HEAD};

		record_head(head, l->body.id, n);
		rc = send_all(l, &v, 1);
		if (rc == 0)
			rc = send_pages(l, fd, &at, n);
		size -= n;
	}
	/* sendfile(2) has no flag for it, and libfcgi is to wait. */
	(void)fd_set_nonblock(l->fd, 0);
	return rc;
}
