/*
 * What there is in the warm cache on disk (run/cache.h), for who keeps it tidy.
 *
 * A look takes no lock: what it found may have changed, and is looked at again
 * under the repository's lock before anything is done about it. Sizes are what
 * manifests say; no tree is walked.
 */
#ifndef SBX_RUN_CACHE_SCAN_H
#define SBX_RUN_CACHE_SCAN_H

#include "lib/arena.h"
#include "run/cache.h"

struct cache_part {
	char gen[ULID_SIZE];
	int64_t made_ms; /* its directory was last changed */
	int64_t bytes;	 /* of a generation; of a copy not known */
};

struct cache_scan {
	struct cache_repo {
		const char *repo;
		struct cache_manifest *current; /* NULL where there is none */
		/* Generations that are not current; copies on their way. */
		struct cache_part *old, *copy;
		size_t old_count, copy_count;
	} * item; /* sorted by repo */
	size_t count;
	int64_t bytes; /* of all generations */
};

/* A root that is not there yet is empty. */
int cache_scan(const struct config *config, struct arena *a,
    struct cache_scan *ret_scan, struct err *e);

struct cache_names {
	struct cache_name {
		const char *name;
		int64_t made_ms;
	} * item;
	size_t count;
};

/* The runs that have parts in the cache; what is in its trash. */
int cache_runs(const struct config *config, struct arena *a,
    struct cache_names *ret_runs, struct err *e);
int cache_trash(const struct config *config, struct arena *a,
    struct cache_names *ret_trash, struct err *e);

/* Delete a thing in the trash, until watch says so; what is left of it. */
int cache_trash_remove(const struct config *config, const char *name,
    const struct tree_watch *watch, struct err *e);
int64_t cache_trash_bytes(const struct config *config, const char *name,
    const struct tree_watch *watch);

#endif
