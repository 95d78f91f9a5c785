/*
 * Threads that tear runs down, several at once: the engine takes about 90 ms
 * for one removal, and a stuck one must not hold up the others.
 *
 * Jobs go to them over a socket, so that no memory is shared; each has
 * connections of its own and logs what became of a job (run.removed,
 * run.removal_failed). A job that failed is not repeated here: its record is
 * due again.
 */
#ifndef SBX_REAPER_REMOVERS_H
#define SBX_REAPER_REMOVERS_H

#include "lib/ulid.h"
#include "run/context.h"

#include <stdbool.h>

#define REMOVERS 8

struct removers;

struct removal {
	char id[ULID_SIZE];
	char was[16];	 /* the run's state before, for the log */
	bool redis_away; /* take away what Redis does not hold, only */
};

struct removers *removers_open(
    const struct config *config, const char *instance, struct err *e);

/* Waits for the jobs at hand. */
void removers_close(struct removers *r);

/* How many can take a job now. */
int removers_free(struct removers *r);

/* Give one job; only while there are free ones. */
int removers_give(struct removers *r, const struct removal *job, struct err *e);

/* Readable when a job is done; removers_free takes note. */
int removers_fd(const struct removers *r);

#endif
