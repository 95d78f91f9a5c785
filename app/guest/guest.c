/* The host's end of an operation in a run. */
#include "guest/guest.h"
#include "guest/conn.h"
#include "guest/object.h"
#include "guest/refusal.h"
#include "lib/clock.h"
#include "lib/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define START_MS 30000 /* until the command runs */
#define GONE_MS 200    /* between two looks whether the caller is gone */
#define LATE_MS 2900   /* the guest ends a command within so long */
#define DRAIN_MS 1000  /* and what has come by then is read for so long */
#define PIECE 16384u   /* of standard input in one frame */
#define NEVER CONN_NEVER

struct guest {
	struct conn c;
	const char *input; /* standard input not yet in c.out */
	size_t input_size;
	bool input_open;	  /* its end is not in c.out yet */
	bool input_ends;	  /* it is to be ended */
	bool over;		  /* the last event was handed out */
	bool killed;		  /* by guest_kill */
	int64_t last_at;	  /* by then its end must have come, or NEVER */
	int64_t left_at;	  /* when guest_next last returned */
	char id[WIRE_ID_MAX + 1]; /* of the exec that was asked about, or "" */
};

void
guest_free(struct guest *g)
{
	if (g == NULL)
		return;
	conn_release(&g->c);
	free(g);
}

/* Put the next of standard input into out, as far as the guest has room. */
static void
add_input(struct guest *g)
{
	size_t size = g->input_size < PIECE ? g->input_size : PIECE;

	if (!g->input_open || g->c.in.state != INBOUND_RUNNING)
		return;
	if (size > g->c.in.room)
		size = g->c.in.room;
	if (size > 0) {
		wire_put(&g->c.out, WIRE_STDIN, g->input, size);
		g->input += size;
		g->input_size -= size;
		g->c.in.room -= (uint32_t)size;
	}
	if (g->input_size == 0 && g->input_ends) {
		wire_put(&g->c.out, WIRE_STDIN_END, NULL, 0);
		g->input_open = false;
	}
}

/* Send what can be sent now. */
static void
send_frames(struct guest *g)
{
	bool some;

	do {
		if (g->c.out.size == 0)
			add_input(g);
		some = g->c.out.size > 0;
		conn_flush(&g->c);
	} while (some && g->c.out.size == 0);
}

/*
 * Wait until bytes came (1), other_fd has something or the time is up (0), or
 * it is not to be borne (-1).
 */
static int
wait_bytes(struct guest *g, int other_fd, int64_t until, struct err *e)
{
	int woken;

	do {
		send_frames(g);
		woken = conn_wait(&g->c, other_fd, until, e);
	} while (woken == CONN_AGAIN);
	return woken < 0 ? -1 : woken == CONN_BYTES;
}

static int
refuse(const struct guest *g, const struct inbound_event *ev, struct err *e)
{
	return refusal_of_object(ev->why, g->id, ev->bytes, ev->size, e);
}

/* It was started, or why not. gone may be NULL. */
static int
wait_started(struct guest *g, bool (*gone)(void *arg), void *arg, struct err *e)
{
	int64_t deadline = clock_mono_ms() + START_MS;
	struct inbound_event ev;

	for (;;) {
		int rc = inbound_next(&g->c.in, &ev, e);
		if (rc < 0)
			return -1;
		if (rc > 0)
			return ev.type == WIRE_STARTED ? 0 : refuse(g, &ev, e);
		if (g->c.closed)
			return conn_vanished(&g->c, e);
		if (gone != NULL && gone(arg))
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

/* A guest on a connection that was opened, which now belongs to it. */
static struct guest *
new_guest(const struct conn *c, const char *id)
{
	struct guest *g = mem_zalloc(sizeof(*g));

	g->c = *c;
	g->last_at = NEVER;
	(void)snprintf(g->id, sizeof(g->id), "%s", id);
	return g;
}

static struct guest *
start(const struct conn *c, const struct guest_order *order, struct err *e)
{
	const struct wire_exec *x = order->exec;
	struct guest *g = new_guest(c, "");

	g->input = order->stdin_text;
	g->input_size = order->stdin_text != NULL ? order->stdin_size : 0;
	g->input_open = x->open_stdin;
	g->input_ends = x->id == NULL || !x->feedable;
	if (x->id != NULL && x->keep)
		g->c.in.window = g->c.in.room = WIRE_WINDOW_KEPT;
	wire_put_exec(&g->c.out, x);
	if (g->c.out.over)
		(void)err_set(e, ERR_INPUT,
		    "command and environment are larger than %u bytes",
		    WIRE_MAX);
	if (g->c.out.over || wait_started(g, order->gone, order->arg, e) != 0) {
		guest_free(g);
		return NULL;
	}
	g->left_at = clock_mono_ms();
	if (x->timeout_ms > 0)
		g->last_at = g->left_at + x->timeout_ms + LATE_MS;
	return g;
}

struct guest *
guest_attach(int fd, enum guest_framing framing,
    const struct guest_order *order, struct err *e)
{
	struct conn c;

	conn_init(&c, fd, framing, INBOUND_EXEC);
	return start(&c, order, e);
}

struct guest *
guest_exec(struct engine *en, const struct guest_place *place,
    const struct guest_order *order, struct err *e)
{
	struct wire_exec x = *order->exec;
	struct guest_order mine = *order;
	struct conn c;

	/* A one-shot init: PID 1 knows nothing of it. */
	if (*place->dir == '\0' && place->wire < 3)
		x.generation = 0;
	mine.exec = &x;
	if (conn_open(&c, en, place, INBOUND_EXEC, e) != 0)
		return NULL;
	return start(&c, &mine, e);
}

bool
guest_pending(const struct guest *g)
{
	return !g->over && inbound_pending(&g->c.in);
}

/* The last event, of our own making: nothing more is heard of the guest. */
static void
make_last(struct guest *g, struct guest_event *ev, enum guest_event_type type)
{
	conn_release(&g->c);
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
		    : from->type == WIRE_GAP	? GUEST_GAP
						: GUEST_EXIT,
	    .bytes = from->bytes,
	    .size = from->size,
	};
	if (ret_event->type == GUEST_GAP)
		ret_event->offset = from->offset;
	if (ret_event->type == GUEST_EXIT)
		ret_event->exit = from->exit;
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
		int rc = inbound_next(&g->c.in, &ev, e);
		if (rc < 0)
			return -1;
		if (rc > 0 && clock_mono_ms() - DRAIN_MS < g->last_at) {
			convert(g, &ev, ret_event);
			return 0;
		}
		if (rc > 0 || g->c.closed) {
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
	wire_put(&g->c.out, WIRE_KILL, NULL, 0);
	send_frames(g);
	return 0;
}

/* Until the guest says that the command goes on without this side, or that it
 * has ended. */
static int
wait_left(struct guest *g, int64_t deadline, struct err *e)
{
	struct inbound_event ev;
	bool told = false;

	for (;;) {
		int rc = inbound_next(&g->c.in, &ev, e);
		if (rc < 0)
			return -1;
		if (rc > 0 && (ev.type == WIRE_DONE || ev.type == WIRE_EXIT))
			return 0;
		if (rc > 0)
			continue;
		if (g->c.closed)
			return conn_vanished(&g->c, e);
		send_frames(g);
		if (!told && g->input_size == 0 &&
		    !(g->input_open && g->input_ends)) {
			wire_put(&g->c.out, WIRE_DETACH, NULL, 0);
			told = true;
		}
		if (clock_left(deadline) == 0)
			return err_set(e, ERR_GUEST,
			    "the run's init did not let go in time");
		if (wait_bytes(g, -1, deadline, e) < 0)
			return -1;
	}
}

int
guest_detach(struct guest *g, int timeout_ms, struct err *e)
{
	if (g->over)
		return err_set(e, ERR_GUEST, "the command has ended");
	g->over = true;
	g->c.in.kind = INBOUND_DETACH;
	return wait_left(g, clock_mono_ms() + timeout_ms, e);
}

/* -- execs that run already ------------------------------------------------ */

/* Begin what the connection's kind says, with the frame in its out. */
static struct guest *
begin(struct conn *c, const char *id, struct err *e)
{
	struct guest *g = new_guest(c, id);

	if (wait_started(g, NULL, NULL, e) == 0)
		return g;
	guest_free(g);
	return NULL;
}

struct guest *
guest_follow(struct engine *en, const struct guest_place *place,
    const struct wire_attach *attach, struct err *e)
{
	struct conn c;

	if (conn_open(&c, en, place, INBOUND_ATTACH, e) != 0)
		return NULL;
	wire_put_attach(&c.out, attach);
	return begin(&c, attach->id, e);
}

struct guest *
guest_input(struct engine *en, const struct guest_place *place,
    const struct wire_act *act, struct err *e)
{
	struct conn c;

	if (conn_open(&c, en, place, INBOUND_INPUT, e) != 0)
		return NULL;
	wire_put_act(&c.out, act);
	return begin(&c, act->id, e);
}

/* Until all of the input was sent; once its end was, until it was taken. */
static int
feed(struct guest *g, int other_fd, int timeout_ms, struct err *e)
{
	const struct guest_patience patience = {other_fd, timeout_ms};
	struct inbound_event ev;

	for (;;) {
		int rc = inbound_next(&g->c.in, &ev, e);
		if (rc > 0 && ev.type == WIRE_FAIL)
			return refuse(g, &ev, e);
		if (rc > 0 && (g->input_open || g->c.out.size > 0))
			return err_set(
			    e, ERR_GUEST, "input was done before its end");
		if (rc != 0)
			return rc < 0 ? -1 : 0;
		if (g->c.closed)
			return conn_vanished(&g->c, e);
		send_frames(g);
		if (g->input_open && g->input_size == 0 && g->c.out.size == 0)
			return 0;
		if (conn_await(&g->c, &patience, NEVER, e) < 0)
			return -1;
	}
}

int
guest_feed(struct guest *g, const char *bytes, size_t size, int other_fd,
    int timeout_ms, struct err *e)
{
	g->input = bytes;
	g->input_size = size;
	g->input_open = true;
	return feed(g, other_fd, timeout_ms, e);
}

int
guest_feed_end(struct guest *g, int other_fd, int timeout_ms, struct err *e)
{
	g->input_open = g->input_ends = true;
	return feed(g, other_fd, timeout_ms, e);
}
