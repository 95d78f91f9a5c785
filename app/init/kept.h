/*
 * How many kept execs there are, how much they remember, and for how long.
 *
 * PID 1's. What has ended goes first, the oldest first; what runs is not
 * forgotten, but remembers less where many run.
 */
#ifndef SBX_INIT_KEPT_H
#define SBX_INIT_KEPT_H

#include "init/ops.h"

#include <stdbool.h>
#include <stdint.h>

#define KEPT_MAX 32
#define KEPT_MEMORY (16u << 20)	      /* bytes for all of them, at most */
#define KEPT_MEMORY_PART 16	      /* of the run's memory */
#define KEPT_MS (INT64_C(600) * 1000) /* after the end */

/* What they may have of a run with that limit; 0: unknown. */
uint64_t kept_memory(uint64_t run_mib);

/* Make room for one more, and give op, which was just taken, its ring. False:
 * KEPT_MAX run already, or there is no memory. */
bool kept_add(struct ops *o, struct op *op, uint64_t memory);

/* Forget those that are to be forgotten at that time (CLOCK_MONOTONIC). Returns
 * in how many milliseconds there is more to do, or -1. */
int64_t kept_expire(struct ops *o, int64_t now_ms);

#endif
