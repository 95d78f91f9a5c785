/* Looking at execs: the list, one of them, what it puts out. */
#include "api/execs.h"
#include "api/exec_view.h"
#include "api/relay.h"
#include "lib/str.h"
#include "run/execs.h"
#include "run/exit.h"

/* The run of the route, which must be running: its execs end with it. */
static int
get_run(struct call *c, struct run *run, struct err *e)
{
	if (call_run(c, run, e) != 0)
		return -1;
	return str_eq(run->state, "running") ? 0 : run_not_running(run, e);
}

int
api_exec_list(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	const struct wire_info *list;
	struct run run;
	size_t count;

	if (get_run(c, &run, e) != 0 ||
	    execs_list(&c->ctx, &run, c->x->arena, &list, &count, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	jw_key(&w, "execs");
	jw_open(&w, '[');
	for (size_t i = 0; i < count; i++) {
		jw_open(&w, '{');
		exec_view(&w, &list[i]);
		jw_close(&w, '}');
	}
	jw_close(&w, ']');
	return call_answer(c, &w, 200, e);
}

int
api_exec_get(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct wire_info info;
	char id[ULID_SIZE];
	struct run run;

	if (call_exec_id(c, id, e) != 0 || get_run(c, &run, e) != 0 ||
	    execs_find(&c->ctx, &run, c->x->arena, id, &info, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	exec_view(&w, &info);
	return call_answer(c, &w, 200, e);
}

static int
stream_query(struct call *c, int64_t *ret_offset, enum exec_format *ret_format,
    struct err *e)
{
	const char *offset, *format;

	*ret_offset = 0;
	if (call_query(c, "offset", &offset, e) != 0 ||
	    call_query(c, "format", &format, e) != 0)
		return -1;
	if (offset != NULL && str_to_int(offset, 0, INT64_MAX, ret_offset) != 0)
		return err_set(e, ERR_INPUT,
		    "offset must be a whole number of bytes, 0 or more.");
	return exec_input_format(format, ret_format, e);
}

/*
 * To the end, or until the client leaves. What reads for us in the run can be
 * killed there, by a takeover or by the run itself, and the exec go on or its
 * end be known: then somebody else reads on.
 */
static void
relay_all(struct relay *r, struct run *run, struct wire_attach *at)
{
	struct err ignored = ERR_INIT;

	if (relay_run(r) != RELAY_LOST)
		return;
	guest_free(r->guest);
	at->offset = r->stream.offset;
	r->guest = execs_follow(&r->call->ctx, run, at, &ignored);
	if (r->guest == NULL || relay_run(r) == RELAY_LOST)
		relay_lost(r, NULL);
}

static int
follow(struct call *c, struct run *run, struct wire_attach *at,
    enum exec_format format, struct err *e)
{
	struct relay r;

	if (!str_eq(run->state, "running"))
		return run_not_running(run, e);
	struct guest *guest = execs_follow(&c->ctx, run, at, e);
	if (guest == NULL)
		return -1;
	exchange_header(c->x, "X-Exec-Id", at->id);
	int rc = relay_begin(&r, c, run, guest, format, e);
	r.stream.offsets = true;
	r.stream.offset = at->offset;
	if (rc == 0 && !c->x->head)
		relay_all(&r, run, at);
	guest_free(r.guest);
	relay_release(&r);
	return rc;
}

/* Nothing of it is in flight; but who follows a command uses its run. */
int
api_exec_stream(struct call *c, struct err *e)
{
	char id[ULID_SIZE], exec[ULID_SIZE];
	enum exec_format format = EXEC_TEXT;
	int64_t offset;
	struct run run;

	if (call_run_id(c, id, e) != 0 || call_exec_id(c, exec, e) != 0 ||
	    stream_query(c, &offset, &format, e) != 0 ||
	    inflight_read(c->slot, c->ctx.redis, id, c->x->arena, &run, e) != 0)
		return -1;
	struct wire_attach at = {exec, (uint64_t)offset};
	int rc = follow(c, &run, &at, format, e);
	inflight_end(c->slot, c->ctx.redis);
	return rc;
}
