/*
 * The reaper's office: one of any number holds it, the others stand by.
 *
 * Key sbx:reaper, "<fence> <holder>", lapses by itself. The fence is the time
 * in ms at which the office was taken: a later holder's is larger. What a
 * deposed holder still does is harmless, because each decision on a run is one
 * script of its own; the lock only spares work.
 */
#ifndef SBX_STORE_REAPER_LOCK_H
#define SBX_STORE_REAPER_LOCK_H

#include "store/redis.h"

/* Take or keep it for hold_ms. *ret_fence is 0 where another has it. */
int reaper_lock_take(struct redis *r, const char *holder, int64_t hold_ms,
    int64_t *ret_fence, struct err *e);

/* Leave it, so that a stand-by need not wait. Not holding it is success. */
int reaper_lock_release(struct redis *r, const char *holder, struct err *e);

#endif
