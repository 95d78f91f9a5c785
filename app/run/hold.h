/*
 * Holding a run still while it is copied: a snapshot, a warm commit.
 *
 * One holder per run. The hold is a key in Redis that lapses 15 s after its
 * worker died; the container is paused by the engine for the time of the hold.
 * Calls that arrive wait up to 30 s for its end (ERR_RUN_PAUSED, 503 with
 * Retry-After), deadlines run on, and a removal goes ahead. A container of ours
 * that is paused without a hold is resumed by the reaper.
 *
 *	sbx:hold:<ID>	string "<what> <token>", lapses
 */
#ifndef SBX_RUN_HOLD_H
#define SBX_RUN_HOLD_H

#include "run/context.h"
#include "store/run.h"

#include <stdbool.h>

struct hold {
	const struct run_ctx *ctx;
	char run[ULID_SIZE], token[ULID_SIZE];
	const char *container, *what;
	bool paused;
	int64_t refreshed; /* monotonic ms */
};

/* Take it: what is "snapshot" or "warm-commit". ERR_CONFLICT where somebody has
 * it. The run goes on until hold_freeze. */
int hold_take(const struct run_ctx *ctx, const struct run *run,
    const char *what, struct hold *ret_hold, struct err *e);

/* Pause the container (not of one that has exited). ERR_RUN_NOT_RUNNING. */
int hold_freeze(struct hold *h, struct err *e);
void hold_thaw(struct hold *h);

/* Called while the holder works, often: refreshes the key. True where the hold
 * was lost (the run is being removed, Redis has forgotten it): give up. Fits
 * tree_watch and engine_call's gone. */
bool hold_lost(void *hold);

/* Thaw and let go. Takes one that is released already. */
void hold_release(struct hold *h);

/* For a call that arrives: wait up to 30 s, or until gone(arg), for the end of
 * a hold. Costs nothing where there is none (run was read without a hold mark).
 */
int hold_await(const struct run_ctx *ctx, struct run *run,
    bool (*gone)(void *arg), void *arg, struct err *e);

#endif
