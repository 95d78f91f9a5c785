/* Files below /work: who may do what, and the short answers. */
#include "api/files.h"
#include "api/files_body.h"
#include "api/files_condition.h"
#include "api/files_input.h"
#include "api/files_list.h"
#include "api/lease.h"
#include "lib/clock.h"
#include "run/exit.h"
#include "run/files.h"

/* The run gets as long without a byte as the client does. */
static int
stall_ms(const struct call *c)
{
	return (int)c->ctx.config->client_stall_sec * 1000;
}

static struct guest_patience
patience(const struct call *c)
{
	return (struct guest_patience){c->x->client_fd, stall_ms(c)};
}

/* -- reads --------------------------------------------------------------- */

static int
answer(struct call *c, enum wire_file_what what, struct files *f, struct err *e)
{
	switch (what) {
	case WIRE_FILE_LIST:
		return files_list(c, f, e);
	case WIRE_FILE_STAT:
		return files_stat_answer(c, f, e);
	case WIRE_FILE_PACK:
		return files_send_archive(c, f, e);
	default:
		return files_send_content(c, f, e);
	}
}

static int
read_once(struct call *c, const struct files_input *in, struct run *run,
    struct err *e)
{
	const struct guest_patience p = patience(c);

	struct files *f = files_open(&c->ctx, run, in->what, in->path, &p, e);
	if (f == NULL)
		return -1;
	int rc = answer(c, in->what, f, e);
	files_free(f);
	return rc;
}

/* What reads for us in the run can be killed there, by a takeover or by the run
 * itself: then another does, from the start, unless the client has something of
 * the answer already. */
static int
read_in(struct call *c, const struct files_input *in, struct run *run,
    struct err *e)
{
	int64_t until = clock_mono_ms() + stall_ms(c);

	if (read_once(c, in, run, e) == 0)
		return 0;
	bool ended = e->kind == ERR_GUEST || e->kind == ERR_ENGINE ||
		     e->kind == ERR_RUN_NOT_RUNNING;
	if (!ended || c->x->status != 0 || clock_left(until) == 0)
		return -1;
	return read_once(c, in, run, e);
}

int
api_files_get(struct call *c, struct err *e)
{
	struct files_input in;
	struct run run;

	if (files_input(c, &in, e) != 0 ||
	    inflight_read(c->slot, c->ctx.redis, in.id, c->x->arena, &run, e) !=
		0)
		return -1;
	int rc = read_in(c, &in, &run, e);
	inflight_end(c->slot, c->ctx.redis);
	return rc;
}

/* -- changes ------------------------------------------------------------- */

static int
change_in(
    struct call *c, struct wire_file *change, struct run *run, struct err *e)
{
	bool takes =
	    change->what == WIRE_FILE_PUT || change->what == WIRE_FILE_UNPACK;
	const struct guest_patience p = patience(c);

	change->generation = (uint64_t)inflight_op(c->slot)->generation;
	change->limit = takes ? files_body_max(c) : 0;
	struct files *f = files_change(&c->ctx, run, change, &p, e);
	if (f == NULL)
		return -1;
	int rc = takes ? files_take(c, f, e) : files_done(f, e);
	files_free(f);
	return rc;
}

static int
change(struct call *c, struct err *e)
{
	struct files_input in;
	struct credential who;
	struct run run;

	if (files_input(c, &in, e) != 0)
		return -1;
	struct wire_file what = {.what = in.what,
	    .path = in.path,
	    .to = in.to,
	    .recursive = in.recursive};
	if (files_condition(c->x, &what, e) != 0 ||
	    lease_credential_query(c, &who, e) != 0 ||
	    inflight_begin(
		c->slot, c->ctx.redis, in.id, &who, c->x->arena, &run, e) != 0)
		return -1;
	int rc = change_in(c, &what, &run, e);
	inflight_end(c->slot, c->ctx.redis);
	if (rc != 0)
		return run_taken(&c->ctx, &run, e);
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}

int
api_files_put(struct call *c, struct err *e)
{
	return files_body_check(c, e) == 0 ? change(c, e) : -1;
}

int
api_files_post(struct call *c, struct err *e)
{
	return change(c, e);
}

int
api_files_delete(struct call *c, struct err *e)
{
	return change(c, e);
}
