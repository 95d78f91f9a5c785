/* POST /v1/runs/{id}/exec. */
#include "api/exec.h"
#include "api/exec_input.h"
#include "api/exec_stream.h"
#include "api/lease.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/env.h"
#include "run/exit.h"
#include "run/reach.h"

#include <string.h>

#define KEEPALIVE_MS 15000
#define FLUSH_AT (128u * 1024) /* no more is gathered before it is sent */
#define FRAMES_MAX (WIRE_MAX * 8)
#define KILLED_MS 5000 /* a killed command is gone by then */

static const char given_away[] = "the run was given to somebody else";

/* One exec on its way to its client. */
struct relay {
	struct call *call;
	struct exchange *x; /* the call's */
	struct guest *guest;
	struct exec_stream stream;
	struct inflight_slot *slot;
	struct buf out;
	int64_t sent; /* monotonic ms of the last bytes to the client */
};

static bool
client_gone(void *arg)
{
	return exchange_gone(arg);
}

static int
send_out(struct relay *r, struct err *e)
{
	r->sent = clock_mono_ms();
	if (exchange_write(r->x, r->out.data, r->out.size, e) != 0)
		return -1;
	buf_reset(&r->out);
	return exchange_flush(r->x, e);
}

/* The command did not end by itself, and nobody told how: say so. */
static void
add_lost(struct relay *r, const char *why)
{
	const struct wire_exit lost = {.code = -1};

	exec_stream_exit(&r->stream, &lost, why, &r->out);
}

/* Add one event; returns 1 after the last one. */
static int
add_event(struct relay *r, const struct guest_event *ev)
{
	switch (ev->type) {
	case GUEST_STDOUT:
	case GUEST_STDERR:
		exec_stream_output(&r->stream,
		    ev->type == GUEST_STDOUT ? EXEC_STDOUT : EXEC_STDERR,
		    ev->bytes, ev->size, &r->out);
		return 0;
	case GUEST_EXIT:
		if (ev->exit.code != -1 || ev->exit.timed_out) {
			exec_stream_exit(&r->stream, &ev->exit, NULL, &r->out);
			return 1;
		}
		/* It was ended, and neither by us nor by its deadline. */
		/* FALLTHROUGH */
	case GUEST_LOST:
		add_lost(r, run_lost(&r->call->ctx, inflight_op(r->slot)->run));
		return 1;
	case GUEST_GAP:
	case GUEST_NOTHING:
		break;
	}
	return 0;
}

/* The client left, or the run was given to somebody else: end the command, and
 * wait until it has ended. */
static void
kill_and_wait(struct relay *r)
{
	int64_t deadline = clock_mono_ms() + KILLED_MS;
	struct guest_event ev = {.type = GUEST_NOTHING};
	struct err ignored = ERR_INIT;

	if (guest_kill(r->guest, &ignored) != 0)
		return;
	while (ev.type != GUEST_EXIT && ev.type != GUEST_LOST &&
	       clock_left(deadline) > 0)
		if (guest_next(
			r->guest, -1, clock_left(deadline), &ev, &ignored) != 0)
			return;
}

/* Until the last frame (0) or the client has gone (-1). */
static int
relay(struct relay *r, struct err *e)
{
	for (;;) {
		struct guest_event ev = {.type = GUEST_NOTHING};
		int wait = clock_left(r->sent + KEEPALIVE_MS);
		int last = 0;

		if (wait > OP_REFRESH_MS)
			wait = OP_REFRESH_MS;
		if (guest_next(r->guest, r->x->client_fd, wait, &ev, e) != 0) {
			add_lost(r, "the connection to the run was lost");
			return send_out(r, e);
		}
		if (inflight_lost(r->slot)) {
			kill_and_wait(r);
			add_lost(r, given_away);
			return send_out(r, e);
		}
		if (ev.type == GUEST_NOTHING && exchange_gone(r->x))
			return err_set(e, ERR_GONE_AWAY, "the client left");
		if (ev.type == GUEST_NOTHING &&
		    clock_left(r->sent + KEEPALIVE_MS) == 0)
			exec_stream_keepalive(&r->stream, &r->out);
		else
			last = add_event(r, &ev);
		if (!last && r->out.size < FLUSH_AT && guest_pending(r->guest))
			continue;
		if (r->out.size > 0 && send_out(r, e) != 0)
			return -1;
		if (last)
			return 0;
	}
}

/* A command that runs: from here on there is an answer. */
static int
stream_exec(struct call *c, const struct exec_request *rq, struct guest *guest,
    struct err *e)
{
	struct relay r = {
	    .call = c, .x = c->x, .guest = guest, .slot = c->slot};
	struct err gone = ERR_INIT;
	const struct buf out = BUF_INIT(FRAMES_MAX);
	bool lines = strstr(c->x->accept, "application/x-ndjson") != NULL;

	r.out = out;
	exec_stream_init(&r.stream, rq->format, lines);
	exchange_header(c->x, "X-Exec-Id", inflight_op(c->slot)->id);
	if (exchange_stream(c->x, exec_stream_type(&r.stream), e) != 0)
		return -1;
	exec_stream_hello(&r.stream, &r.out);
	if (send_out(&r, &gone) != 0 || relay(&r, &gone) != 0)
		kill_and_wait(&r);
	buf_release(&r.out);
	return 0;
}

/* An admitted exec, from its run's record on. */
static int
exec_in(struct call *c, struct exec_request *rq, struct run *run, struct err *e)
{
	const char *const *own = rq->wire.env;

	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	if (run_env_read(c->ctx.config, run->id, own, c->x->arena,
		&rq->wire.env, e) != 0)
		return -1;
	if (*rq->wire.user == '\0')
		rq->wire.user = run->user;
	rq->wire.generation = (uint64_t)inflight_op(c->slot)->generation;
	const struct guest_order order = {
	    &rq->wire, rq->stdin_text, rq->stdin_size, client_gone, c->x};
	struct guest *guest = reach_exec(&c->ctx, run, &order, e);
	if (guest == NULL)
		return -1;
	int rc = stream_exec(c, rq, guest, e);
	guest_free(guest);
	return rc;
}

int
api_exec(struct call *c, struct err *e)
{
	struct exec_request rq;
	struct credential who;
	struct run run;
	char id[ULID_SIZE];
	json_auto_t *body = NULL;

	if (call_run_id(c, id, e) != 0 || call_body(c, &body, e) != 0 ||
	    exec_input(body, c->x->arena, &rq, e) != 0 ||
	    lease_credential(body, &who, e) != 0 ||
	    inflight_begin(
		c->slot, c->ctx.redis, id, &who, c->x->arena, &run, e) != 0)
		return -1;
	int rc = exec_in(c, &rq, &run, e);
	inflight_end(c->slot, c->ctx.redis);
	return rc;
}
