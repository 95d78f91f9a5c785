/*
 * The warm cache in Redis: which generation of a repository is current, and
 * who needs which one (DESIGN 6). The disk decides which generations there are
 * (run/cache.h); who finds that Redis says something else tells it, under the
 * repository's lock, with warm_learn and warm_forget.
 *
 *	sbx:warm:<repo>		hash: gen lockHash repoDir createdAt bytes
 *				entries lastUse (ms)
 *	sbx:warm-pins:<repo>	zset "<gen> <who>" -> until when it is pinned;
 *				who is a run's id, or "commit"
 *	sbx:warms		zset repo -> lastUse
 *
 * Who removes a generation first has Redis forget it as the current one
 * (warm_forget, warm_evict, warm_drop), then looks at who pins it: from then on
 * nobody can begin to.
 */
#ifndef SBX_STORE_WARM_H
#define SBX_STORE_WARM_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/ulid.h"
#include "store/redis.h"

#include <stdbool.h>
#include <stdint.h>

/* How long a pin lasts that is not refreshed: a run's by the worker that boots
 * it, later by the reaper from what exists; a commit's by its worker. */
#define WARM_PIN_MS 120000
#define WARM_COMMIT_MS 30000

struct warm {
	const char *repo, *gen, *lock_hash, *repo_dir;
	int64_t created_ms, bytes, entries, used_ms;
};

/* The current generation, pinned for that run, and used now. ERR_ABSENT where
 * Redis knows none. */
int warm_boot(struct redis *r, const char *repo, const char *run,
    char ret_gen[ULID_SIZE], struct err *e);

/* What the disk says, or a commit has published there just now, under the
 * repository's lock: it is current from here on. used_ms 0 is now. */
int warm_learn(struct redis *r, const struct warm *warm, struct err *e);

/* The disk has no such generation: forget that it is current. No effect where
 * another is. */
int warm_forget(
    struct redis *r, const char *repo, const char *gen, struct err *e);

/* A copy of that generation is on its way, or still is: "commit" pins it. Ends
 * with warm_unpin. */
int warm_committing(
    struct redis *r, const char *repo, const char *gen, struct err *e);

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
	struct warm_pinned {
		const char *gen, *who;
	} * item;
	size_t count;
};
int warm_pins(struct redis *r, const char *repo, struct arena *a,
    struct warm_pins *ret_pins, struct err *e);

struct warm_list {
	struct warm_known {
		const char *repo, *gen;
		int64_t used_ms;
	} * item; /* sorted by repo */
	size_t count;
};

/* What is current of every repository. */
int warm_all(struct redis *r, struct arena *a, struct warm_list *ret_list,
    struct err *e);

#endif
