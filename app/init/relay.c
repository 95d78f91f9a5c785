/* Between Docker's exec stream and PID 1. */
#include "init/relay.h"
#include "init/peer.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define RUN_SOCKET "/.sbx/run/guest.sock" /* where a run has the directory */
#define READY_MS 5000			  /* for PID 1 to make /work */
#define LOOK_MS 5
#define REFUSE_MS 10000
#define ROOM (64u * 1024)

struct relay {
	int run;	/* PID 1's socket */
	struct buf in;	/* for PID 1 */
	struct buf out; /* from there */
	bool begun;	/* the first of in was sent */
	bool deaf;	/* PID 1 takes no more, which is no end yet */
	bool ended;	/* nothing comes after out */
};

static int
find_run(struct err *e)
{
	int64_t deadline = clock_mono_ms() + READY_MS;

	for (;;) {
		int left = clock_left(deadline);
		int fd = fd_connect_unix(PEER_SOCKET, left, e);

		if (fd < 0)
			fd = fd_connect_unix(RUN_SOCKET, left, e);
		if (fd >= 0 || left == 0)
			return fd;
		(void)poll(NULL, 0, LOOK_MS);
	}
}

static bool
would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Read once into b. As read(2). */
static ssize_t
fill(struct buf *b, int fd)
{
	char *to = buf_grow(b, b->max - b->size);
	ssize_t n = read(fd, to, b->max - b->size);

	if (n > 0)
		b->size += (size_t)n;
	return n;
}

/* PID 1 looks once at what it is to do: the first frame goes whole, or as much
 * of it as there is room for. */
static bool
may_send(const struct relay *r)
{
	return !r->deaf && r->in.size > 0 &&
	       (r->begun || r->in.size == r->in.max ||
		   (r->in.size >= WIRE_HEAD &&
		       r->in.size - WIRE_HEAD >=
			   wire_payload_size(r->in.data)));
}

static void
send_on(struct relay *r)
{
	if (!may_send(r))
		return;
	ssize_t n = r->begun
			? send(r->run, r->in.data, r->in.size, MSG_NOSIGNAL)
			: peer_send(r->run, r->in.data, r->in.size);
	if (n > 0) {
		buf_drop(&r->in, (size_t)n);
		r->begun = true;
	} else if (!would_block()) {
		r->deaf = true;
	}
}

/* False where the host has left. */
static bool
on_host(struct relay *r, short revents)
{
	if (!(revents & POLLIN))
		return revents == 0;
	ssize_t n = fill(&r->in, STDIN_FILENO);

	return n > 0 || (n < 0 && would_block());
}

static void
on_run(struct relay *r)
{
	ssize_t n = fill(&r->out, r->run);

	if (n == 0 || (n < 0 && !would_block()))
		r->ended = true;
}

/* False where nobody reads any more. */
static bool
write_on(struct relay *r)
{
	if (r->out.size == 0)
		return true;
	ssize_t n = write(STDOUT_FILENO, r->out.data, r->out.size);

	if (n > 0)
		buf_drop(&r->out, (size_t)n);
	return n > 0 || would_block();
}

static void
arm(const struct relay *r, struct pollfd p[3])
{
	bool wants = !r->deaf && r->in.size < r->in.max;
	short run = (short)((may_send(r) ? POLLOUT : 0) |
			    (r->out.size < r->out.max ? POLLIN : 0));

	/* Without events a hang-up is told, although there is input still. */
	p[0] = (struct pollfd){STDIN_FILENO, wants ? POLLIN : 0, 0};
	p[1] = (struct pollfd){run && !r->ended ? r->run : -1, run, 0};
	p[2] = (struct pollfd){STDOUT_FILENO, r->out.size > 0 ? POLLOUT : 0, 0};
}

static void
relay(struct relay *r)
{
	struct pollfd p[3];

	while (!r->ended || r->out.size > 0) {
		arm(r, p);
		if (poll(p, 3, -1) < 0)
			continue;
		bool host = on_host(r, p[0].revents);

		send_on(r);
		if (p[1].revents & (POLLIN | POLLHUP | POLLERR) &&
		    r->out.size < r->out.max)
			on_run(r);
		if (!host || p[2].revents & POLLERR || !write_on(r))
			return;
	}
}

int
relay_run(void)
{
	BUF_AUTO fail = BUF_INIT(WIRE_HEAD + 1 + WIRE_TEXT);
	struct relay r = {.in = BUF_INIT(ROOM), .out = BUF_INIT(ROOM)};
	struct err e = ERR_INIT;
	sigset_t all;

	/* Root of the run may end this, not speak through it. A write to
	 * nobody is EPIPE, with SIGPIPE blocked. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	r.run = find_run(&e);
	if (r.run < 0) {
		wire_put_fail(&fail, WIRE_FAIL_INTERNAL, e.text);
		(void)fd_write_all(STDOUT_FILENO, fail.data, fail.size,
		    clock_mono_ms() + REFUSE_MS, &e);
		return 1;
	}
	if (fd_set_nonblock(r.run, 1) != 0 ||
	    fd_set_nonblock(STDIN_FILENO, 1) != 0 ||
	    fd_set_nonblock(STDOUT_FILENO, 1) != 0)
		return 1;
	relay(&r);
	return 0;
}
