/* The host's end of an operation in a run. */
#include "guest/guest.h"
#include "docker/exec.h"
#include "guest/inbound.h"
#include "guest/refusal.h"
#include "guest/socket.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS 30000	/* until the command runs */
#define CONNECT_MS 5000 /* for room in the backlog of the guest's socket */
#define GONE_MS 200	/* between two looks whether the caller is gone */
#define LATE_MS 2900	/* the guest ends a command within so long */
#define DRAIN_MS 1000	/* and what has come by then is read for so long */
#define PIECE 16384u	/* of standard input in one frame */
#define NEVER INT64_MAX

struct guest {
	int fd;
	struct inbound in;
	struct buf out; /* whole frames; sent of them are on their way */
	size_t sent;
	const char *input; /* standard input not yet in out */
	size_t input_size;
	bool input_open; /* its end is not in out yet */
	bool over;	 /* the last event was handed out */
	bool closed;	 /* the other side ended the connection */
	bool killed;	 /* by guest_kill */
	int64_t last_at; /* by then its end must have come, or NEVER */
	int64_t left_at; /* when guest_next last returned */
	char piece[INBOUND_FEED];
};

void
guest_free(struct guest *g)
{
	if (g == NULL)
		return;
	fd_close(&g->fd);
	inbound_release(&g->in);
	buf_release(&g->out);
	free(g);
}

/* Put the next of standard input into out, as far as the guest has room. */
static void
add_input(struct guest *g)
{
	size_t size = g->input_size < PIECE ? g->input_size : PIECE;

	if (!g->input_open || g->in.state != INBOUND_RUNNING)
		return;
	if (size > g->in.room)
		size = g->in.room;
	if (size > 0) {
		wire_put(&g->out, WIRE_STDIN, g->input, size);
		g->input += size;
		g->input_size -= size;
		g->in.room -= (uint32_t)size;
	}
	if (g->input_size == 0) {
		wire_put(&g->out, WIRE_STDIN_END, NULL, 0);
		g->input_open = false;
	}
}

static void
drop_sent(struct guest *g)
{
	g->sent = 0;
	if (g->out.room > WIRE_CHUNK) /* of the request: not kept */
		buf_release(&g->out);
	else
		buf_reset(&g->out);
}

/* Send what can be sent now. A guest that takes nothing any more is found out
 * by reading, which also has what it said before. */
static void
send_frames(struct guest *g)
{
	for (;;) {
		if (g->sent == g->out.size) {
			drop_sent(g);
			add_input(g);
			if (g->out.size == 0)
				return;
		}
		ssize_t n = send(g->fd, g->out.data + g->sent,
		    g->out.size - g->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			drop_sent(g);
			g->input_open = false;
			return;
		}
		g->sent += (size_t)n;
	}
}

/* Read once. Returns 1 where something came or the connection ended, 0 where
 * nothing has. */
static int
receive(struct guest *g, struct err *e)
{
	ssize_t n = recv(g->fd, g->piece, sizeof(g->piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		g->closed = true;
		return 1;
	}
	return inbound_feed(&g->in, g->piece, (size_t)n, e) == 0 ? 1 : -1;
}

/*
 * Wait until bytes came (1), other_fd has something or the time is up (0), or
 * it is not to be borne (-1).
 */
static int
wait_bytes(struct guest *g, int other_fd, int64_t until, struct err *e)
{
	for (;;) {
		send_frames(g);
		struct pollfd p[2] = {
		    {g->fd, POLLIN, 0}, {other_fd, POLLIN | POLLRDHUP, 0}};
		if (g->out.size > 0)
			p[0].events |= POLLOUT;
		int wait = until == NEVER ? -1 : clock_left(until);
		int n = poll(p, 2, wait);
		if (n < 0 && errno != EINTR)
			return err_sys(e, ERR_INTERNAL, "poll");
		if (n > 0 && (p[0].revents & ~POLLOUT)) {
			int rc = receive(g, e);
			if (rc != 0)
				return rc;
		}
		if (n > 0 && p[1].revents)
			return 0;
		if (n == 0 && wait >= 0 && clock_left(until) == 0)
			return 0;
	}
}

/* The command runs, or why not. */
static int
wait_started(struct guest *g, const struct guest_order *order, struct err *e)
{
	int64_t deadline = clock_mono_ms() + START_MS;
	struct inbound_event ev;

	for (;;) {
		int rc = inbound_next(&g->in, &ev, e);
		if (rc < 0)
			return -1;
		if (rc > 0 && ev.type == WIRE_STARTED)
			return 0;
		if (rc > 0)
			return refusal_of_guest(ev.why, ev.bytes, ev.size, e);
		if (g->closed) {
			size_t size;
			const char *words = inbound_words(&g->in, &size);

			return refusal_of_engine(words, size, e);
		}
		if (order->gone != NULL && order->gone(order->arg))
			return err_set(e, ERR_GONE_AWAY, "the caller left");
		int64_t now = clock_mono_ms();
		if (now >= deadline)
			return err_set(e, ERR_GUEST,
			    "the run's init did not start the command in %d s",
			    START_MS / 1000);
		int64_t look =
		    now + GONE_MS < deadline ? now + GONE_MS : deadline;
		if (wait_bytes(g, -1, look, e) < 0)
			return -1;
	}
}

struct guest *
guest_attach(int fd, enum guest_framing framing,
    const struct guest_order *order, struct err *e)
{
	static const struct inbound fresh = INBOUND_INIT;
	static const struct buf empty = BUF_INIT(WIRE_HEAD + WIRE_MAX);
	const struct wire_exec *x = order->exec;
	struct guest *g = mem_alloc(sizeof(*g));

	/* Not zeroed: piece is only memory once something came. */
	memset(g, 0, offsetof(struct guest, piece));
	g->fd = fd;
	g->in = fresh;
	g->in.plain = framing == GUEST_PLAIN;
	g->out = empty;
	g->input = order->stdin_text;
	g->input_size = order->stdin_text != NULL ? order->stdin_size : 0;
	g->input_open = x->open_stdin;
	g->last_at = NEVER;
	wire_put_exec(&g->out, x);
	if (g->out.over) {
		(void)err_set(e, ERR_INPUT,
		    "command and environment are larger than %u bytes",
		    WIRE_MAX);
		guest_free(g);
		return NULL;
	}
	if (wait_started(g, order, e) != 0) {
		guest_free(g);
		return NULL;
	}
	g->left_at = clock_mono_ms();
	if (x->timeout_ms > 0)
		g->last_at = g->left_at + x->timeout_ms + LATE_MS;
	return g;
}

static struct guest *
exec_by_engine(struct engine *en, const char *container,
    const struct guest_order *order, struct err *e)
{
	static const char *const argv[] = {GUEST_PROGRAM, "exec", NULL};
	const struct exec_spec spec = {container, "0:0", argv};
	struct wire_exec unfenced = *order->exec;
	struct guest_order mine = *order;
	int fd = exec_open(en, &spec, e);

	/* PID 1 knows nothing of it. */
	unfenced.generation = 0;
	mine.exec = &unfenced;
	if (fd >= 0)
		return guest_attach(fd, GUEST_DOCKER, &mine, e);
	/* ABSENT: removed; CONFLICT: ended or paused. */
	if (e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT)
		e->kind = ERR_RUN_NOT_RUNNING;
	return NULL;
}

struct guest *
guest_exec(struct engine *en, const struct guest_place *place,
    const struct guest_order *order, struct err *e)
{
	if (*place->dir == '\0')
		return exec_by_engine(en, place->container, order, e);
	int fd = socket_open(place->dir, place->pid, CONNECT_MS, e);
	return fd >= 0 ? guest_attach(fd, GUEST_PLAIN, order, e) : NULL;
}

bool
guest_pending(const struct guest *g)
{
	return !g->over && inbound_pending(&g->in);
}

/* The last event, of our own making: nothing more is heard of the guest. */
static void
make_last(struct guest *g, struct guest_event *ev, enum guest_event_type type)
{
	fd_close(&g->fd);
	g->over = true;
	*ev = (struct guest_event){.type = type};
	if (type == GUEST_EXIT)
		ev->exit = (struct wire_exit){.code = -1, .timed_out = true};
}

/* One of the guest's own events. */
static void
convert(struct guest *g, const struct inbound_event *from,
    struct guest_event *ret_event)
{
	*ret_event = (struct guest_event){
	    .type = from->type == WIRE_STDOUT	? GUEST_STDOUT
		    : from->type == WIRE_STDERR ? GUEST_STDERR
						: GUEST_EXIT,
	    .bytes = from->bytes,
	    .size = from->size,
	    .exit = from->exit,
	};
	g->over = ret_event->type == GUEST_EXIT;
}

/* The next event, or what is made of its absence. */
static int
next_event(struct guest *g, int other_fd, int64_t until,
    struct guest_event *ret_event, struct err *e)
{
	enum guest_event_type late = g->killed ? GUEST_LOST : GUEST_EXIT;
	struct inbound_event ev;

	for (;;) {
		int rc = inbound_next(&g->in, &ev, e);
		if (rc < 0)
			return -1;
		if (rc > 0 && clock_mono_ms() - DRAIN_MS < g->last_at) {
			convert(g, &ev, ret_event);
			return 0;
		}
		if (rc > 0 || g->closed) {
			make_last(g, ret_event, rc > 0 ? late : GUEST_LOST);
			return 0;
		}
		rc = wait_bytes(
		    g, other_fd, until < g->last_at ? until : g->last_at, e);
		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (clock_mono_ms() < g->last_at)
			*ret_event =
			    (struct guest_event){.type = GUEST_NOTHING};
		else
			make_last(g, ret_event, late);
		return 0;
	}
}

int
guest_next(struct guest *g, int other_fd, int timeout_ms,
    struct guest_event *ret_event, struct err *e)
{
	int64_t now = clock_mono_ms();

	if (g->over)
		return err_set(e, ERR_GUEST, "the command has ended");
	/* A command that ended in time behind output for a slow client is not
	 * late: only the time in which we listened counts. */
	if (g->last_at != NEVER)
		g->last_at += now - g->left_at;
	int rc = next_event(g, other_fd, now + timeout_ms, ret_event, e);
	g->left_at = clock_mono_ms();
	return rc;
}

int
guest_kill(struct guest *g, struct err *e)
{
	int64_t now = clock_mono_ms();

	if (g->over)
		return err_set(e, ERR_GUEST, "the command has ended");
	if (g->killed)
		return 0;
	g->killed = true;
	g->input_open = false;
	if (g->last_at > now + LATE_MS)
		g->last_at = now + LATE_MS;
	g->left_at = now;
	wire_put(&g->out, WIRE_KILL, NULL, 0);
	send_frames(g);
	return 0;
}

int
guest_detach(struct guest *g, int timeout_ms, struct err *e)
{
	(void)g;
	(void)timeout_ms;
	return err_set(e, ERR_UNSUPPORTED, "detached execs");
}
