/*
 * Holding a run still while it is copied: a snapshot, a warm commit.
 *
 * One holder per run. The hold is in the run's record and lapses HELD_MS after
 * its worker died (store/held.h); between freeze and thaw the engine has the
 * container paused. Calls that arrive then wait up to 30 s for the thaw
 * (ERR_RUN_PAUSED, 503 with Retry-After), deadlines run on, and a removal goes
 * ahead. A container of ours that is paused without a hold is resumed by the
 * reaper.
 */
#ifndef SBX_RUN_HOLD_H
#define SBX_RUN_HOLD_H

#include "run/context.h"
#include "store/run.h"

#include <stdbool.h>

#define HOLD_TEXT_SIZE (32 + ULID_SIZE)

struct hold {
	const struct run_ctx *ctx; /* NULL: not held */
	/* Its own: it can be thawed in the middle of another's call. */
	struct engine *engine;
	char run[ULID_SIZE], token[ULID_SIZE];
	char text[HOLD_TEXT_SIZE]; /* "<what> <token>" */
	bool exited;		   /* there is nothing to pause */
	bool frozen;
	bool lost;
	int64_t kept; /* monotonic ms */
};

/* Take it: what is "snapshot" or "warm-commit". ERR_CONFLICT where somebody has
 * it; ERR_RUN_ABSENT, ERR_RUN_NOT_RUNNING. The run goes on until hold_freeze.
 */
int hold_take(const struct run_ctx *ctx, const struct run *run,
    const char *what, struct hold *ret_hold, struct err *e);

/* Pause the container (not of one that has exited), trying for some seconds.
 * ERR_RUN_NOT_RUNNING; ERR_BUSY where something in it does not stand still. */
int hold_freeze(struct hold *h, struct err *e);
/* Takes one that is not frozen. */
void hold_thaw(struct hold *h);

/* Called while the holder works, often: keeps the hold. True, for good, where
 * it was lost (the run is being removed, Redis has forgotten it): give up, what
 * was copied since is not to be used. Fits tree_watch and engine_call's gone.
 */
bool hold_lost(void *hold);

/* The same, asked now: for the last look before a result is published.
 * ERR_RUN_NOT_RUNNING, with a sentence for the caller. */
int hold_check(struct hold *h, struct err *e);

/* That sentence, of one that was lost. Returns -1. */
int hold_was_lost(const struct hold *h, struct err *e);

/* Thaw and let go, which every one that was taken needs. Takes one that is
 * released already. */
void hold_release(struct hold *h);

/* The run's record, as it was read, says that it is held still. */
bool hold_stands(const struct run *run);

#define HOLD_AWAIT_MS 30000 /* for who arrives (CONTRACT 7) */

/* For a call that arrives: wait for the thaw, until CLOCK_MONOTONIC ms or
 * ctx->gone. Costs nothing where the run was not held when it was read.
 * ERR_RUN_PAUSED, ERR_GONE_AWAY, and where the run has ended meanwhile
 * ERR_RUN_NOT_RUNNING or ERR_RUN_ABSENT. */
int hold_await(const struct run_ctx *ctx, const struct run *run, int64_t until,
    struct err *e);

/* The same by its record as it is now. *ret_held: it was held. */
int hold_await_now(const struct run_ctx *ctx, const char *id, int64_t until,
    bool *ret_held, struct err *e);

/* Resume a container that is paused though nobody holds its run (the reaper).
 * *ret_resumed is false where somebody does. */
int hold_mend(const struct run_ctx *ctx, const struct run *run,
    bool *ret_resumed, struct err *e);

#endif
