/*
 * The warm cache in Redis: which generation of a repository is current, and
 * who needs which one (DESIGN 6). The disk knows the same of the current ones
 * (run/cache.h); who loses Redis tells it again with warm_learn.
 *
 *	sbx:warm:<repo>		hash: gen lockHash repoDir createdAt bytes
 *				entries lastUse (ms)
 *	sbx:warm-pins:<repo>	zset "<gen> <who>" -> until when it is pinned;
 *				who is a run's id, or "commit"
 *	sbx:warms		zset repo -> lastUse
 */
#ifndef SBX_STORE_WARM_H
#define SBX_STORE_WARM_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/ulid.h"
#include "store/redis.h"

#include <stdbool.h>
#include <stdint.h>

/* How long a pin lasts that is not refreshed: by the worker that boots or
 * commits, later by the reaper from what exists. */
#define WARM_PIN_MS 120000

struct warm {
	const char *repo, *gen, *lock_hash, *repo_dir;
	int64_t created_ms, bytes, entries, used_ms;
};

/* The current generation, pinned for that run, and used now. ERR_ABSENT where
 * Redis knows none: then look at the disk, warm_learn, and try again. */
int warm_boot(struct redis *r, const char *repo, const char *run,
    struct arena *a, struct warm *ret_warm, struct err *e);

/* Without pinning. ERR_ABSENT. */
int warm_get(struct redis *r, const char *repo, struct arena *a,
    struct warm *ret_warm, struct err *e);

/* What the disk says: taken where Redis knows none, or an older one. */
int warm_learn(struct redis *r, const struct warm *warm, struct err *e);

/* A copy of that generation is on its way, or still is: "commit" pins it. */
int warm_committing(
    struct redis *r, const char *repo, const char *gen, struct err *e);
/* It is current now, or (published false) will not be. */
int warm_committed(
    struct redis *r, const struct warm *warm, bool published, struct err *e);

/* No current generation any more. ERR_ABSENT; ERR_CONFLICT while a commit to it
 * is on its way. */
int warm_drop(struct redis *r, const char *repo, struct err *e);

/* For the reaper: forget the current generation if it still is that one and
 * nothing pins it (*ret_evicted); keep pins alive; who pins what. */
int warm_evict(struct redis *r, const char *repo, const char *gen,
    bool *ret_evicted, struct err *e);
int warm_pin(struct redis *r, const char *repo, const char *gen,
    const char *who, struct err *e);
int warm_unpin(struct redis *r, const char *repo, const char *gen,
    const char *who, struct err *e);

struct warm_pins {
	struct {
		const char *gen, *who;
	} * item;
	size_t count;
};
int warm_pins(struct redis *r, const char *repo, struct arena *a,
    struct warm_pins *ret_pins, struct err *e);

#endif
