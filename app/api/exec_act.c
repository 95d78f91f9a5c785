/* Doing something to an exec: feeding it, signals, its terminal, its end. */
#include "api/exec_input.h"
#include "api/execs.h"
#include "api/lease.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/execs.h"
#include "run/exit.h"
#include "run/reach.h"
#include "json/read.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#define PIECE 16384
#define SIGNAL_LAST 31 /* the ones with a name */

/* Which exec of which run. */
struct target {
	char run[ULID_SIZE], exec[ULID_SIZE];
};

static int
get_target(struct call *c, struct target *ret_at, struct err *e)
{
	if (call_run_id(c, ret_at->run, e) != 0)
		return -1;
	return call_exec_id(c, ret_at->exec, e);
}

/* In flight from here on, where that is 0: to be ended with inflight_end. */
static int
admit(struct call *c, const struct target *at, const struct credential *who,
    struct wire_act *act, struct run *run, struct err *e)
{
	if (inflight_begin(
		c->slot, c->ctx.redis, at->run, who, c->x->arena, run, e) != 0)
		return -1;
	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	act->id = at->exec;
	act->generation = (uint64_t)inflight_op(c->slot)->generation;
	return 0;
}

/* All of an act that has no more to say than its body did. body may hold the
 * credential, or the query. */
static int
act_on(struct call *c, const struct target *at, const json_t *body,
    struct wire_act *act, struct err *e)
{
	struct credential who;
	struct run run;

	if (lease_credential(body, &who, e) != 0)
		return -1;
	if (*who.owner == '\0' && who.generation == 0 &&
	    lease_credential_query(c, &who, e) != 0)
		return -1;
	if (admit(c, at, &who, act, &run, e) != 0)
		return -1;
	int rc = execs_act(&c->ctx, &run, act, e);
	inflight_end(c->slot, c->ctx.redis);
	return rc == 0 ? 0 : run_taken(&c->ctx, &run, e);
}

static int
answer_done(struct call *c, struct err *e)
{
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}

/* -- signals --------------------------------------------------------------- */

static int
bad_signal(struct err *e)
{
	BUF_AUTO names = BUF_INIT(400);

	for (int i = 1; i <= SIGNAL_LAST; i++)
		buf_addf(&names, "%s%s", i > 1 ? ", " : "", sigabbrev_np(i));
	return err_set(e, ERR_INPUT,
	    "signal must be a number from 1 to %d, or a name, with or without "
	    "SIG: %s.",
	    SIGNAL_LAST, names.data);
}

static int
read_signal(const json_t *body, uint8_t *ret_signal, struct err *e)
{
	const json_t *v = json_object_get(body, "signal");
	const char *name = json_is_string(v) ? json_string_value(v) : "";
	json_int_t number = json_is_integer(v) ? json_integer_value(v) : 0;

	if (json_is_string(v) && strlen(name) != json_string_length(v))
		return bad_signal(e);
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i <= SIGNAL_LAST; i++)
		if (number == i || str_ieq(name, sigabbrev_np(i))) {
			*ret_signal = (uint8_t)i;
			return 0;
		}
	return bad_signal(e);
}

int
api_exec_signal(struct call *c, struct err *e)
{
	struct wire_act act = {.what = WIRE_ACT_SIGNAL};
	json_auto_t *body = NULL;
	struct target at;

	if (get_target(c, &at, e) != 0 || call_body(c, &body, e) != 0 ||
	    read_signal(body, &act.signal, e) != 0 ||
	    act_on(c, &at, body, &act, e) != 0)
		return -1;
	return answer_done(c, e);
}

/* -- terminals, and the end ------------------------------------------------ */

int
api_exec_resize(struct call *c, struct err *e)
{
	static const uint16_t none[2] = {0, 0};
	struct wire_act act = {.what = WIRE_ACT_RESIZE};
	json_auto_t *body = NULL;
	struct target at;

	if (get_target(c, &at, e) != 0 || call_body(c, &body, e) != 0 ||
	    exec_input_size(body, none, &act.cols, &act.rows, e) != 0 ||
	    act_on(c, &at, body, &act, e) != 0)
		return -1;
	return answer_done(c, e);
}

int
api_exec_end(struct call *c, struct err *e)
{
	struct wire_act act = {.what = WIRE_ACT_END};
	json_auto_t *body = NULL;
	struct target at;

	if (get_target(c, &at, e) != 0 || call_body(c, &body, e) != 0)
		return -1;
	/* One that has ended by itself is as its caller wants it. */
	if (act_on(c, &at, body, &act, e) != 0 && e->kind != ERR_EXEC_ENDED)
		return -1;
	return answer_done(c, e);
}

/* -- standard input -------------------------------------------------------- */

/* The next of the body: how much, 0 at its end. */
static int64_t
read_piece(struct call *c, char piece[PIECE], int stall_ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + stall_ms;

	do {
		if (inflight_lost(c->slot))
			return err_set(e, ERR_LEASE_SUPERSEDED,
			    "The run was given to somebody else: this request "
			    "was superseded.");
	} while (!exchange_await(c->x, -1, OP_REFRESH_MS) &&
		 clock_left(deadline) > 0);
	return exchange_read(c->x, piece, PIECE, stall_ms, e);
}

/* The body, as it comes, to an exec that is in flight. */
static int
feed(struct call *c, struct guest *g, int64_t *ret_since, struct err *e)
{
	int stall_ms = (int)c->ctx.config->client_stall_sec * 1000;
	char piece[PIECE];
	int64_t n;

	while ((n = read_piece(c, piece, stall_ms, e)) > 0) {
		*ret_since = clock_mono_ms();
		if (guest_feed(
			g, piece, (size_t)n, c->x->client_fd, stall_ms, e) != 0)
			return -1;
	}
	*ret_since = clock_mono_ms();
	return n == 0 ? guest_feed_end(g, c->x->client_fd, stall_ms, e) : -1;
}

static int
feed_exec(
    struct call *c, const struct wire_act *act, struct run *run, struct err *e)
{
	int64_t stall_sec = c->ctx.config->client_stall_sec, since = 0;
	struct guest *g = execs_input(&c->ctx, run, act, e);

	if (g == NULL)
		return -1;
	int rc = feed(c, g, &since, e);
	guest_free(g);
	if (rc == 0 || e->kind != ERR_GUEST)
		return rc;
	if (clock_mono_ms() - since >= stall_sec * 1000)
		return err_set(e, ERR_CONFLICT,
		    "The command has read nothing for %lld s.",
		    (long long)stall_sec);
	return reach_explain(&c->ctx, run, e);
}

static int
read_close(struct call *c, bool *ret_close, struct err *e)
{
	const char *value;

	if (call_query(c, "close", &value, e) != 0)
		return -1;
	*ret_close = value != NULL && str_eq(value, "1");
	if (value != NULL && !*ret_close && !str_eq(value, "0"))
		return err_set(e, ERR_INPUT,
		    "close must be 1: standard input ends after the body.");
	return 0;
}

int
api_exec_stdin(struct call *c, struct err *e)
{
	struct wire_act act = {.what = WIRE_ACT_INPUT};
	struct credential who;
	struct target at;
	struct run run;

	if (get_target(c, &at, e) != 0 || read_close(c, &act.close, e) != 0 ||
	    lease_credential_query(c, &who, e) != 0 ||
	    admit(c, &at, &who, &act, &run, e) != 0)
		return -1;
	int rc = feed_exec(c, &act, &run, e);
	inflight_end(c->slot, c->ctx.redis);
	return rc == 0 ? answer_done(c, e) : run_taken(&c->ctx, &run, e);
}
