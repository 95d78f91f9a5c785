/*
 * One round over the warm cache, in the hands of its parts.
 */
#ifndef SBX_REAPER_CACHE_PASS_H
#define SBX_REAPER_CACHE_PASS_H

#include "cache_needs.h"
#include "run/cache_scan.h"
#include "store/warm.h"
#include "sweep.h"
#include "trash.h"

#define CACHE_LOCK_MS 100 /* who has it longer is publishing: next round */

struct cache_pass {
	struct sweeper *s;
	int64_t deadline;
	struct trash *trash;
	struct needs needs;
	struct cache_scan scan; /* before the round did anything */
	struct warm_list known; /* in Redis, likewise */
	int64_t learnt, superseded, copies, parts, evicted;
	int64_t evicted_bytes;
	struct err first; /* of the failures; s->failed is how many */
};

/* One thing failed; the round goes on. A lock that somebody has is no failure.
 */
void cache_pass_note(struct cache_pass *p, int rc, const struct err *e);

/* What nobody needs any more goes to the trash: generations that are not
 * current, copies that nobody will finish, parts of runs that are gone. */
void cache_tidy_up(struct cache_pass *p);

/* Where there is too much: the templates that were used longest ago, unless
 * somebody needs them. */
void cache_evict(struct cache_pass *p);

#endif
