/*
 * The warm cache of a stack that runs: what should not be there once all runs
 * are gone.
 */
#ifndef SBX_E2E_LEFT_CACHE_H
#define SBX_E2E_LEFT_CACHE_H

#include "lib/buf.h"

/* Two minutes pass for what the reaper leaves alone for a while: generations
 * that were replaced, copies and runs' parts whose worker died, pins. */
void cache_age(void);

/* Templates may stay, each whole, current and known to Redis; nothing else,
 * once the reaper was there. One line a finding. */
void left_cache(struct buf *faults);

#endif
