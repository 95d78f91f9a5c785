/* A connection with a run's init. */
#include "guest/conn.h"
#include "docker/exec.h"
#include "guest/refusal.h"
#include "guest/socket.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define CONNECT_MS 5000 /* for room in the backlog of the guest's socket */

void
conn_init(
    struct conn *c, int fd, enum guest_framing framing, enum inbound_kind kind)
{
	static const struct conn fresh = {
	    -1, INBOUND_INIT, BUF_INIT(WIRE_HEAD + WIRE_MAX), 0, false, -1};

	*c = fresh;
	c->fd = fd;
	c->in.plain = framing == GUEST_PLAIN;
	c->in.kind = kind;
}

static int
open_by_engine(struct engine *en, const char *container, struct err *e)
{
	static const char *const argv[] = {GUEST_PROGRAM, "exec", NULL};
	const struct exec_spec spec = {container, "0:0", argv};
	int fd = exec_open(en, &spec, e);

	/* ABSENT: removed; CONFLICT: ended or paused. */
	if (fd < 0 && (e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT))
		e->kind = ERR_RUN_NOT_RUNNING;
	return fd;
}

int
conn_open(struct conn *c, struct engine *en, const struct guest_place *place,
    enum inbound_kind kind, struct err *e)
{
	bool socket = *place->dir != '\0';
	int fd = socket ? socket_open(place->dir, place->pid, CONNECT_MS, e)
			: open_by_engine(en, place->container, e);

	if (fd < 0)
		return -1;
	conn_init(c, fd, socket ? GUEST_PLAIN : GUEST_DOCKER, kind);
	return 0;
}

void
conn_release(struct conn *c)
{
	fd_close(&c->passed);
	fd_close(&c->fd);
	inbound_release(&c->in);
	buf_release(&c->out);
}

/* -- sending --------------------------------------------------------------- */

static void
drop_out(struct conn *c)
{
	c->sent = 0;
	if (c->out.room > WIRE_CHUNK) /* of the request: not kept */
		buf_release(&c->out);
	else
		buf_reset(&c->out);
}

void
conn_flush(struct conn *c)
{
	while (c->sent < c->out.size) {
		ssize_t n = send(c->fd, c->out.data + c->sent,
		    c->out.size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		c->sent += (size_t)n;
	}
	drop_out(c);
}

/* -- waiting --------------------------------------------------------------- */

/* The first descriptor that comes is kept, the kernel drops what has no room.
 */
static void
keep_passed(struct conn *c, struct msghdr *m)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(m);
	int fd;

	if (head == NULL || head->cmsg_level != SOL_SOCKET ||
	    head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(fd)))
		return;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	if (c->passed >= 0)
		fd_close(&fd);
	else
		c->passed = fd;
}

static ssize_t
receive_bytes(struct conn *c, char *to, size_t size)
{
	union {
		char room[CMSG_LEN(sizeof(int))]; /* of CMSG_SPACE two fit */
		struct cmsghdr head;
	} rights;
	struct iovec v = {to, size};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = rights.room,
	    .msg_controllen = sizeof(rights.room)};

	/* Without room for them the kernel drops them all. */
	if (c->in.kind != INBOUND_GET)
		return recv(c->fd, to, size, MSG_DONTWAIT);
	ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n > 0)
		keep_passed(c, &m);
	return n;
}

/* Read once. Returns 1 where something came or the connection ended, 0 where
 * nothing has. */
static int
receive(struct conn *c, struct err *e)
{
	size_t size;
	char *to = inbound_space(&c->in, &size);
	ssize_t n = receive_bytes(c, to, size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		c->closed = true;
		return 1;
	}
	return inbound_came(&c->in, (size_t)n, e) == 0 ? 1 : -1;
}

static int
wait_for(
    struct conn *c, short events, int other_fd, int64_t until, struct err *e)
{
	struct pollfd p[2] = {
	    {c->fd, events, 0}, {other_fd, POLLIN | POLLRDHUP, 0}};
	int n = poll(p, 2, until == CONN_NEVER ? -1 : clock_left(until));

	if (n < 0 && errno != EINTR)
		return err_sys(e, ERR_INTERNAL, "poll");
	if (n < 0)
		return CONN_AGAIN;
	if (n == 0)
		return CONN_TIME;
	if (p[0].revents & ~POLLOUT) {
		int rc = receive(c, e);
		if (rc != 0)
			return rc < 0 ? -1 : CONN_BYTES;
	}
	return p[1].revents ? CONN_OTHER : CONN_AGAIN;
}

static short
events_of(const struct conn *c)
{
	return c->out.size > 0 ? POLLIN | POLLOUT : POLLIN;
}

int
conn_wait(struct conn *c, int other_fd, int64_t until, struct err *e)
{
	return wait_for(c, events_of(c), other_fd, until, e);
}

/* The same for who has patience, no longer than until. */
static int
wait_patiently(struct conn *c, short events,
    const struct guest_patience *patience, int64_t until, struct err *e)
{
	int64_t idle = clock_mono_ms() + patience->timeout_ms;
	int woken = wait_for(
	    c, events, patience->other_fd, until < idle ? until : idle, e);

	if (woken == CONN_OTHER)
		return err_set(e, ERR_GONE_AWAY, "the caller left");
	if (woken == CONN_TIME)
		return err_set(
		    e, ERR_GUEST, "the run's init did not answer in time");
	return woken;
}

int
conn_await(struct conn *c, const struct guest_patience *patience, int64_t until,
    struct err *e)
{
	return wait_patiently(c, events_of(c), patience, until, e);
}

int
conn_vanished(const struct conn *c, struct err *e)
{
	size_t size;
	const char *words = inbound_words(&c->in, &size);

	return refusal_of_engine(words, size, e);
}

int
conn_next(struct conn *c, const struct guest_patience *patience, int64_t until,
    struct inbound_event *ret_event, struct err *e)
{
	for (;;) {
		int rc = inbound_next(&c->in, ret_event, e);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (c->closed)
			return conn_vanished(c, e);
		conn_flush(c);
		if (conn_await(c, patience, until, e) < 0)
			return -1;
	}
}

/* Take n bytes off the front of what is left to send. */
static void
advance(struct msghdr *m, size_t n)
{
	while (m->msg_iovlen > 0 && n >= m->msg_iov->iov_len) {
		n -= m->msg_iov->iov_len;
		m->msg_iov++;
		m->msg_iovlen--;
	}
	if (m->msg_iovlen > 0) {
		m->msg_iov->iov_base = (char *)m->msg_iov->iov_base + n;
		m->msg_iov->iov_len -= n;
	}
}

int
conn_put(struct conn *c, const struct guest_patience *patience,
    enum wire_type type, const char *bytes, size_t size, struct err *e)
{
	char head[WIRE_HEAD];
	union {
		const char *from;
		void *base; /* an iovec is for both directions */
	} payload = {bytes};
	struct iovec iov[2] = {{head, sizeof(head)}, {payload.base, size}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

	wire_head(head, type, size);
	for (;;) {
		ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
			advance(&m, (size_t)n);
		if (m.msg_iovlen == 0)
			return 0;
		if (n >= 0 || errno == EINTR)
			continue;
		if (errno != EAGAIN) /* what it said before is there to read */
			return 1;
		int woken = wait_patiently(
		    c, POLLIN | POLLOUT, patience, CONN_NEVER, e);
		if (woken < 0)
			return -1;
		if (woken == CONN_BYTES)
			return 1;
	}
}
