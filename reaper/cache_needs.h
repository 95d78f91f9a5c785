/*
 * Who needs what of the warm cache, by the records of runs and by Docker's
 * volumes: either alone tells enough.
 */
#ifndef SBX_REAPER_CACHE_NEEDS_H
#define SBX_REAPER_CACHE_NEEDS_H

#include "lib/arena.h"
#include "run/context.h"

#include <stdbool.h>

struct needs {
	struct need *item; /* generations; sorted */
	size_t count, room;
	const char **run; /* those that have a record, or a volume; sorted */
	size_t runs, run_room;
	/* What flagged runs hold of the cache's disk beyond what they are
	 * flagged for. */
	int64_t flagged_bytes;
};

/* All of it, or nothing: then none may be removed. The pins of what is needed
 * are made to last. Strings live in a. */
int needs_gather(
    struct needs *n, const struct run_ctx *ctx, struct arena *a, struct err *e);

bool needs_has(const struct needs *n, const char *repo, const char *gen);
bool needs_run(const struct needs *n, const char *id);

#endif
