/* POST /v1/runs/{id}/exec. */
#include "api/exec.h"
#include "api/exec_input.h"
#include "api/exec_view.h"
#include "api/lease.h"
#include "api/relay.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/env.h"
#include "run/execs.h"
#include "run/exit.h"
#include "run/reach.h"

#define KILLED_MS 5000 /* a killed command is gone by then */
#define DETACH_MS 10000

static bool
client_gone(void *arg)
{
	return exchange_gone(arg);
}

/* The client left, or the run was given to somebody else: end the command, and
 * wait until it has ended. */
static void
kill_and_wait(struct guest *guest)
{
	int64_t deadline = clock_mono_ms() + KILLED_MS;
	struct guest_event ev = {.type = GUEST_NOTHING};
	struct err ignored = ERR_INIT;

	if (guest_kill(guest, &ignored) != 0)
		return;
	while (ev.type != GUEST_EXIT && ev.type != GUEST_LOST &&
	       clock_left(deadline) > 0)
		if (guest_next(
			guest, -1, clock_left(deadline), &ev, &ignored) != 0)
			return;
}

/* Stream a command that runs to its end, its client's, or its lease's. */
static int
stream_exec(struct call *c, const struct exec_request *rq,
    const struct run *run, struct guest *guest, struct err *e)
{
	struct err ignored = ERR_INIT;
	struct relay r;

	int rc = relay_begin(&r, c, run, guest, rq->format, e);
	r.slot = c->slot;
	r.stream.offsets = rq->wire.keep;
	switch (rc == 0 ? relay_run(&r) : RELAY_LEFT) {
	case RELAY_LEFT:
		if (!rq->wire.go_on)
			kill_and_wait(guest);
		else
			(void)guest_detach(guest, DETACH_MS, &ignored);
		break;
	case RELAY_TAKEN:
		kill_and_wait(guest);
		relay_lost(&r, "the run was given to somebody else");
		break;
	case RELAY_LOST:
		relay_lost(&r, NULL);
		break;
	case RELAY_EXIT:
		break;
	}
	relay_release(&r);
	return rc;
}

/* Leave a command to itself: whoever gets the answer can take the run over. */
static int
detach_exec(struct call *c, const struct exec_request *rq, struct run *run,
    struct guest *guest, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct wire_info info;

	if (guest_detach(guest, DETACH_MS, e) != 0 ||
	    execs_find(&c->ctx, run, c->x->arena, rq->wire.id, &info, e) != 0)
		return -1;
	inflight_end(c->slot, c->ctx.redis);
	struct jw w = call_json(&body);
	jw_key(&w, "exec");
	jw_open(&w, '{');
	exec_view(&w, &info);
	jw_close(&w, '}');
	return call_answer(c, &w, 202, e);
}

/* An admitted exec, from its run's record on. */
static int
exec_in(struct call *c, struct exec_request *rq, struct run *run, struct err *e)
{
	const char *const *own = rq->wire.env;

	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	if (run_env_read(
		c->ctx.config, run, own, c->x->arena, &rq->wire.env, e) != 0)
		return -1;
	if (*rq->wire.user == '\0')
		rq->wire.user = run->user;
	rq->wire.id = inflight_op(c->slot)->id;
	rq->wire.generation = (uint64_t)inflight_op(c->slot)->generation;
	const struct guest_order order = {
	    &rq->wire, rq->stdin_text, rq->stdin_size, client_gone, c->x};
	struct guest *guest = reach_exec(&c->ctx, run, &order, e);
	if (guest == NULL)
		return -1;
	exchange_header(c->x, "X-Exec-Id", rq->wire.id);
	int rc = rq->detach ? detach_exec(c, rq, run, guest, e)
			    : stream_exec(c, rq, run, guest, e);
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
	return rc == 0 ? 0 : run_taken(&c->ctx, &run, e);
}
