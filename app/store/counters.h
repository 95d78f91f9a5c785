/*
 * Figures of the whole box in Redis, so that any worker can answer for all.
 *
 *	sbx:counters	 hash: counters that only grow; a lost one counts anew
 *	sbx:workers	 zset: worker processes, until when each counts
 *	sbx:worker:NAME	 hash: pool, threads, busy
 */
#ifndef SBX_STORE_COUNTERS_H
#define SBX_STORE_COUNTERS_H

#include "lib/arena.h"
#include "store/redis.h"

#define COUNTERS_MARK_MS 15000

struct figure {
	const char *name;
	int64_t value;
};

struct figures {
	struct figure *item;
	size_t count;
};

/* The value of that name; 0 where there is none. */
int64_t figure_of(const struct figures *f, const char *name);

/* Add amounts to counters. */
int counters_add(
    struct redis *r, const struct figure *amounts, size_t count, struct err *e);

/* All counters. */
int counters_read(
    struct redis *r, struct arena *a, struct figures *ret, struct err *e);

/* This process is there; counts for COUNTERS_MARK_MS. */
int worker_beat(struct redis *r, const char *name, const char *pool,
    int64_t threads, int64_t busy, struct err *e);

/* What the box has taken on, by the names of lua/usage.lua. */
int usage_read(
    struct redis *r, struct arena *a, struct figures *ret, struct err *e);

#endif
