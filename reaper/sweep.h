/*
 * A sweep: one thing that the reaper does again and again.
 *
 * Each has a thread with connections of its own. A round ends when there is
 * nothing more to do or its budget is spent; what fails on one item goes on
 * with the next. Rounds need no memory of each other: whatever a round did not
 * finish, a later one finds again.
 */
#ifndef SBX_REAPER_SWEEP_H
#define SBX_REAPER_SWEEP_H

#include "lib/arena.h"
#include "run/context.h"

#include <stdbool.h>

struct sweeper {
	const struct sweep *sweep;
	struct run_ctx ctx;
	struct arena arena; /* reset before each round */
	int stop_fd;	    /* hangs up when the reaper ends */
	int wake_fd;	    /* readable: begin a round at once; -1 for none */
	bool away;	    /* this round has no Redis */
	int64_t dealt, failed; /* items of this round, for the metrics */
	void *own;	       /* what open made */
};

struct sweep {
	const char *name;
	int64_t period_ms; /* 0: SBX_REAP_INTERVAL */
	int64_t budget_ms;
	/* Before the first round, and after the last; NULL: nothing to do. */
	int (*open)(struct sweeper *s, struct err *e);
	void (*close)(struct sweeper *s);
	/* A round, to be left at the CLOCK_MONOTONIC deadline. May shorten
	 * *wait_ms, the time until the next. */
	int (*round)(struct sweeper *s, int64_t deadline, int64_t *wait_ms,
	    struct err *e);
};

/* The round must end: its budget is spent, or the reaper stops. */
bool sweep_over(const struct sweeper *s, int64_t deadline);

int expire_open(struct sweeper *s, struct err *e);
void expire_close(struct sweeper *s);
int expire_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);

int reconcile_open(struct sweeper *s, struct err *e);
void reconcile_close(struct sweeper *s);
int reconcile_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);

int proxies_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);

int cache_sweep_open(struct sweeper *s, struct err *e);
void cache_sweep_close(struct sweeper *s);
int cache_sweep_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);

int disk_open(struct sweeper *s, struct err *e);
void disk_close(struct sweeper *s);
int disk_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e);

#endif
