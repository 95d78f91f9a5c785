/*
 * The hold on a run while it is copied (run/hold.h): fields of its record.
 *
 *	hold		"<what> <token>": what for, and whose
 *	holdUntil	when it lapses unless it is kept, ms
 *	holdFrozen	1: its container is paused, or about to be
 */
#ifndef SBX_STORE_HELD_H
#define SBX_STORE_HELD_H

#include "lib/err.h"
#include "store/redis.h"

#include <stdbool.h>

#define HELD_MS 15000 /* it lapses so long after it was kept last */

/* ERR_RUN_ABSENT; ERR_RUN_NOT_RUNNING: it is being destroyed; ERR_CONFLICT:
 * somebody has it. */
int held_take(struct redis *r, const char *id, const char *hold, struct err *e);

/* *ret_kept is false where it was lost, or the run is going or gone. */
int held_keep(struct redis *r, const char *id, const char *hold, bool frozen,
    bool *ret_kept, struct err *e);

/* No effect where it was lost. */
int held_end(struct redis *r, const char *id, const char *hold, struct err *e);

#endif
