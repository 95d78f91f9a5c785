/* Holding a run still. */
#include "run/hold.h"
#include "docker/container.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/exit.h"
#include "run/place.h"
#include "store/held.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define KEEP_MS 1000 /* how soon a holder learns that its run is going */
#define LOOK_MS 20
#define LOOK_MOST_MS 200
#define FREEZE_MS 10000 /* for what runs to come out of the kernel */

/* -- the holder ------------------------------------------------------------ */

int
hold_take(const struct run_ctx *ctx, const struct run *run, const char *what,
    struct hold *ret_hold, struct err *e)
{
	struct hold h = {.exited = str_eq(run->state, "exited")};

	memcpy(h.run, run->id, sizeof(h.run));
	if (ulid_new(h.token, e) != 0)
		return -1;
	(void)snprintf(h.text, sizeof(h.text), "%.31s %s", what, h.token);
	if (held_take(ctx->redis, h.run, h.text, e) != 0)
		return -1;
	h.ctx = ctx;
	h.engine = engine_new(engine_socket(ctx->engine));
	h.kept = clock_mono_ms();
	*ret_hold = h;
	return 0;
}

/* Without Redis it is kept for as long as nobody else can have it. */
static void
keep(struct hold *h, bool frozen)
{
	struct err ignored = ERR_INIT;
	int64_t now = clock_mono_ms();
	bool kept = false;

	if (held_keep(
		h->ctx->redis, h->run, h->text, frozen, &kept, &ignored) == 0) {
		h->lost = h->lost || !kept;
		h->kept = now;
	} else if (now - h->kept >= HELD_MS) {
		h->lost = true;
	}
}

bool
hold_lost(void *hold)
{
	struct hold *h = hold;

	if (!h->lost && clock_mono_ms() - h->kept >= KEEP_MS)
		keep(h, h->frozen);
	return h->lost;
}

int
hold_was_lost(const struct hold *h, struct err *e)
{
	return err_set(e, ERR_RUN_NOT_RUNNING,
	    "Run %s was destroyed, or was let go on, while it was copied.",
	    h->run);
}

int
hold_check(struct hold *h, struct err *e)
{
	bool kept;

	if (held_keep(h->ctx->redis, h->run, h->text, h->frozen, &kept, e) != 0)
		return -1;
	h->lost = h->lost || !kept;
	return h->lost ? hold_was_lost(h, e) : 0;
}

/* What syncs, or forks without end, may not be caught at the first try. */
static int
pause_all(struct hold *h, struct err *e)
{
	int64_t until = clock_mono_ms() + FREEZE_MS;
	struct err busy = ERR_INIT;
	char name[RUN_NAME_SIZE];

	run_name(h->run, name);
	while (container_pause(h->engine, name, &busy) != 0) {
		if (busy.kind != ERR_BUSY) {
			*e = busy;
			return -1;
		}
		if (hold_lost(h))
			return hold_was_lost(h, e);
		if (clock_left(until) == 0)
			return err_set(e, ERR_BUSY,
			    "Run %s does not stand still: something in it has "
			    "been in the kernel for %d s; try again.",
			    h->run, FREEZE_MS / 1000);
		(void)poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

int
hold_freeze(struct hold *h, struct err *e)
{
	if (h->exited)
		return hold_check(h, e);
	h->frozen = true;
	if (hold_check(h, e) != 0)
		return -1;
	if (pause_all(h, e) == 0)
		return 0;
	if (e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT)
		e->kind = ERR_RUN_NOT_RUNNING;
	return -1;
}

void
hold_thaw(struct hold *h)
{
	struct err ignored = ERR_INIT;
	char name[RUN_NAME_SIZE];

	if (!h->frozen)
		return;
	/* One that was lost may be somebody else's by now, or the reaper has
	 * resumed the container: not ours to resume. */
	keep(h, true);
	run_name(h->run, name);
	if (!h->lost)
		(void)container_unpause(h->engine, name, &ignored);
	h->frozen = false;
	if (!h->lost)
		keep(h, false);
}

void
hold_release(struct hold *h)
{
	struct err ignored = ERR_INIT;

	if (h->ctx == NULL)
		return;
	redis_settle(h->ctx->redis);
	hold_thaw(h);
	(void)held_end(h->ctx->redis, h->run, h->text, &ignored);
	engine_free(h->engine);
	h->ctx = NULL;
}

/* -- who waits ------------------------------------------------------------- */

bool
hold_stands(const struct run *run)
{
	return run->hold_frozen && run->hold_until_ms > run->read_ms;
}

static int
paused(const struct run *run, struct err *e)
{
	const char *space = strchr(run->hold, ' ');
	int size = space != NULL ? (int)(space - run->hold) : 0;

	return err_set(e, ERR_RUN_PAUSED,
	    "Run %s is held still while a %.*s of it is made; try again in a "
	    "moment.",
	    run->id, size, run->hold);
}

/* Look at the record: 1 where the run is held, 0 where it runs on. */
static int
look(const struct run_ctx *ctx, const char *id, struct run *now,
    struct arena *a, struct err *e)
{
	arena_reset(a);
	if (run_get(ctx->redis, id, false, a, now, e) != 0)
		return -1;
	if (!str_eq(now->state, "running"))
		return run_not_running(now, e);
	return hold_stands(now);
}

/* The same again and again while it is held, until 0 or -1. */
static int
look_on(const struct run_ctx *ctx, const char *id, int64_t until,
    struct arena *a, struct err *e)
{
	int pause_ms = LOOK_MS, rc;
	struct run now;

	while ((rc = look(ctx, id, &now, a, e)) > 0) {
		if (clock_left(until) == 0)
			return paused(&now, e);
		if (ctx->gone != NULL && ctx->gone(ctx->arg))
			return err_set(e, ERR_GONE_AWAY, "the caller left");
		(void)poll(NULL, 0, pause_ms);
		pause_ms = pause_ms < LOOK_MOST_MS ? pause_ms * 2 : pause_ms;
	}
	return rc;
}

int
hold_await_now(const struct run_ctx *ctx, const char *id, int64_t until,
    bool *ret_held, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct run now;
	int rc = look(ctx, id, &now, &a, e);

	*ret_held = rc > 0;
	if (rc > 0 && ctx->wait_begin != NULL &&
	    ctx->wait_begin(ctx->arg, e) != 0)
		rc = -1;
	else if (rc > 0) {
		rc = look_on(ctx, id, until, &a, e);
		if (ctx->wait_end != NULL)
			ctx->wait_end(ctx->arg);
	}
	arena_release(&a);
	return rc;
}

int
hold_await(const struct run_ctx *ctx, const struct run *run, int64_t until,
    struct err *e)
{
	bool held;

	return hold_stands(run) ? hold_await_now(ctx, run->id, until, &held, e)
				: 0;
}

/* -- the reaper ------------------------------------------------------------ */

int
hold_mend(const struct run_ctx *ctx, const struct run *run, bool *ret_resumed,
    struct err *e)
{
	char name[RUN_NAME_SIZE];
	struct hold h;

	*ret_resumed = false;
	/* Holding it, so that nobody freezes it meanwhile. */
	if (hold_take(ctx, run, "repair", &h, e) != 0)
		return e->kind == ERR_CONFLICT ? 0 : -1;
	run_name(run->id, name);
	int rc = container_unpause(ctx->engine, name, e);
	*ret_resumed = rc == 0;
	hold_release(&h);
	return rc;
}
