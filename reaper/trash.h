/*
 * The cache's trash, emptied a round at a time. What resists is tried again
 * after ever longer, and counts as used meanwhile.
 */
#ifndef SBX_REAPER_TRASH_H
#define SBX_REAPER_TRASH_H

#include "sweep.h"

struct trash *trash_new(void);
void trash_free(struct trash *t);

/* Delete what is there, up to the deadline. Fails where something resists, and
 * has gone on with the rest. */
int trash_purge(
    struct trash *t, const struct sweeper *s, int64_t deadline, struct err *e);

/* All is deleted but what resists. */
bool trash_settled(const struct trash *t);

int64_t trash_bytes(const struct trash *t);   /* of what resists */
int64_t trash_deleted(const struct trash *t); /* things, ever */

#endif
