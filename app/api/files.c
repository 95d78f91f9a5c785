/* Files below /work: who may do what, and the short answers. */
#include "api/files.h"
#include "api/files_body.h"
#include "api/files_input.h"
#include "api/files_list.h"
#include "api/lease.h"
#include "lib/clock.h"
#include "run/files.h"

#include <poll.h>

/* Without a byte from the run. Removing a large tree says nothing until it is
 * done; whoever does not want to wait for it leaves. */
#define QUIET_MS 600000
#define TAKEOVER_MS 1000 /* between a mark's end and the grant */
#define ASK_MS 50

static struct guest_patience
patience(const struct call *c)
{
	return (struct guest_patience){c->x->client_fd, QUIET_MS};
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
read_in(struct call *c, const struct files_input *in, struct run *run,
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
change_in(struct call *c, const struct files_input *in, struct run *run,
    struct err *e)
{
	bool takes = in->what == WIRE_FILE_PUT || in->what == WIRE_FILE_UNPACK;
	const struct guest_patience p = patience(c);
	const struct wire_file change = {
	    .what = in->what,
	    .generation = (uint64_t)inflight_op(c->slot)->generation,
	    .path = in->path,
	    .to = in->to,
	    .recursive = in->recursive,
	    .limit = takes ? files_body_max(c) : 0,
	};

	struct files *f = files_change(&c->ctx, run, &change, &p, e);
	if (f == NULL)
		return -1;
	int rc = takes ? files_take(c, f, e) : files_done(f, e);
	files_free(f);
	return rc;
}

/*
 * What ended in the run without a word was perhaps ended by who takes the run
 * over with force, and has been waiting for this mark to go: the grant comes
 * right behind it. Returns -1.
 */
static int
explain(struct call *c, const struct run *run, struct err *e)
{
	int64_t until = clock_mono_ms() + TAKEOVER_MS;
	struct err ignored = ERR_INIT;
	struct run now;

	while ((e->kind == ERR_GUEST || e->kind == ERR_ENGINE) &&
	       clock_left(until) > 0 &&
	       run_get(c->ctx.redis, run->id, true, c->x->arena, &now,
		   &ignored) == 0) {
		if (now.lease_generation > run->lease_generation)
			return err_set(e, ERR_LEASE_SUPERSEDED,
			    "Run %s was given to %s meanwhile: this request "
			    "was superseded.",
			    run->id, now.lease_holder);
		(void)poll(NULL, 0, ASK_MS);
	}
	return -1;
}

static int
change(struct call *c, struct err *e)
{
	struct files_input in;
	struct credential who;
	struct run run;

	if (files_input(c, &in, e) != 0 ||
	    lease_credential_query(c, &who, e) != 0 ||
	    inflight_begin(
		c->slot, c->ctx.redis, in.id, &who, c->x->arena, &run, e) != 0)
		return -1;
	int rc = change_in(c, &in, &run, e);
	inflight_end(c->slot, c->ctx.redis);
	if (rc != 0)
		return explain(c, &run, e);
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
