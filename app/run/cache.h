/*
 * The warm cache on disk (DESIGN 6). Everything below SBX_CACHE_ROOT, 0700
 * root's:
 *
 *	repos/<repo with + for />/
 *		lock		flock(2): held while the current generation
 *				changes, or one is removed
 *		manifest.json	which generation is current; swapped by rename
 *		g-<ULID>/tree	an immutable generation
 *		g-<ULID>/manifest.json	what it is
 *		new-<ULID>/	a copy on its way
 *	runs/<ID>/{upper,work}	of a run's overlay volume
 *	runs/<ID>/tree		a run's copy, where overlay does not work here
 *	trash/<ULID>		what is being deleted
 *	instance		whose all this is
 *	overlay			whether overlays work here: a note
 *
 * The disk is the truth about which generations there are, Redis (store/warm.h)
 * about who uses them. A generation is whole or not there: it is copied to
 * new-, flushed, renamed, then named by manifest.json.
 */
#ifndef SBX_RUN_CACHE_H
#define SBX_RUN_CACHE_H

#include "lib/arena.h"
#include "lib/tree.h"
#include "lib/ulid.h"
#include "run/context.h"
#include "run/lock_hash.h"
#include "run/warm_name.h"

#define CACHE_PATH_SIZE 4400

struct cache_manifest {
	char repo[WARM_REPO_SIZE];
	char gen[ULID_SIZE]; /* "g-<gen>" is how it is shown, and its directory
			      */
	struct lock_hash lock;
	int64_t created_ms, bytes, entries;
	int64_t used_ms; /* last use: the mtime of manifest.json */
};

/* The cache is on: SBX_CACHE_ROOT is not empty. */
bool cache_on(const struct config *config);

/* Before anything of it is used, by each program: two stacks must not share
 * one, since each removes what it does not know. ERR_CONFLICT where it is
 * another's (run/instance.h); else it is ours from here on, unless it is off or
 * cannot be used, which whoever uses it is told. */
int cache_claim(
    const struct config *config, const char *instance, struct err *e);

/* Make the root's directories. Once at start and before use; cheap. */
int cache_setup(const struct config *config, struct err *e);

/*
 * Whether an overlay whose layers are on the cache's file system works here;
 * where not, volumes are copies. Tried by the kernel where this process may
 * mount, with a mount that nobody sees (fsmount(2)), once for all processes;
 * else judged by the file system's type: those that are known to work.
 */
bool cache_overlay(const struct config *config);

/* Absolute paths. */
void cache_tree_path(const struct config *config, const char *repo,
    const char *gen, char to[CACHE_PATH_SIZE]);
void cache_run_path(const struct config *config, const char *id,
    const char *part, char to[CACHE_PATH_SIZE]);

/* The current generation. ERR_ABSENT where there is none. */
int cache_current(const struct config *config, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e);

/* Every repository's, sorted by name; strings in a. Broken ones are skipped.
 */
struct cache_list {
	struct cache_manifest *item;
	size_t count;
};
int cache_list(const struct config *config, struct arena *a,
    struct cache_list *ret_list, struct err *e);

/* It was used now. */
void cache_touch(const struct config *config, const char *repo);

/*
 * The lock on a repository, taken within timeout_ms or ERR_BUSY; dies with the
 * process. cache_unlock takes -1.
 */
int cache_lock(const struct config *config, const char *repo, int timeout_ms,
    int *ret_lock, struct err *e);
void cache_unlock(int lock);

/*
 * A new generation: begin makes new-<gen>/tree and opens it; publish, under the
 * lock, flushes it, makes it g-<gen> and current. The order of generations is
 * that of their ULIDs: where the current one is the younger by now,
 * manifest->gen becomes a new one (left alone on failure, when new- may still
 * be there). drop, under the lock, makes the repository have no current one
 * (ERR_ABSENT where it had none). Either leaves older generations where they
 * are: the reaper removes what nothing pins. abandon removes a copy on its way,
 * at once.
 */
int cache_begin(const struct config *config, const char *repo, const char *gen,
    int *ret_tree, struct err *e);
int cache_publish(const struct config *config, struct cache_manifest *manifest,
    struct err *e);
void cache_abandon(
    const struct config *config, const char *repo, const char *gen);
int cache_drop(const struct config *config, const char *repo, struct err *e);

/* Move a generation (current or not, or on its way), under the lock, or a
 * run's parts to the trash. Nothing in use may be given. Absent is success. */
int cache_discard(const struct config *config, const char *repo,
    const char *gen, struct err *e);
int cache_discard_run(
    const struct config *config, const char *id, struct err *e);

/* Remove a repository's directory where nothing but the lock is left in it: the
 * last thing that is done under the lock, which is gone then. */
void cache_tidy(const struct config *config, const char *repo);

#endif
