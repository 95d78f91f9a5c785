/*
 * The warm volume of a run (CONTRACT 7, DESIGN 6): made before its container,
 * removed after it, published as a new generation on request.
 *
 * The kinds of one, run->warm_kind:
 *	overlay	lower: the generation; upper and work: SBX_CACHE_ROOT/runs/<ID>
 *	copy	SBX_CACHE_ROOT/runs/<ID>/tree, where overlay does not work
 *	cold	a plain volume, empty
 *	image	a plain volume that the engine fills from the snapshot's image
 * All are Docker `local` volumes teploy-sbx-<id>-warm, with the labels of a
 * volume of ours and teploy.sandbox.warm.repo. One of kind overlay also has
 * teploy.sandbox.warm.gen: the generation that it cannot do without, and that
 * is pinned for as long as it is there.
 */
#ifndef SBX_RUN_WARM_H
#define SBX_RUN_WARM_H

#include "docker/container.h"
#include "lib/arena.h"
#include "run/cache.h"
#include "run/context.h"
#include "run/place.h"
#include "store/run.h"

#define WARM_VOLUME "warm" /* of run_volume */
#define WARM_LABEL_REPO "teploy.sandbox.warm.repo"
#define WARM_LABEL_GEN "teploy.sandbox.warm.gen"

#define WARM_LABELS 7

bool warm_has(const struct run *run); /* it was asked for one */

/* ERR_INPUT unless it has one; ERR_RUN_NOT_RUNNING where its container has
 * ended, which is recorded. */
int warm_check(const struct run_ctx *ctx, struct run *run, struct err *e);

/* Before the container is created: pin, choose the kind, make the volume. Fills
 * run->warm_gen, warm_kind, warm_booted, warm_hash, warm_dir. snapshot: its
 * image is one. watch is asked while something is copied; it may be NULL. */
int warm_prepare(const struct run_ctx *ctx, struct run *run, bool snapshot,
    const struct tree_watch *watch, struct arena *a, struct err *e);

/* The mount that the container must have; false where it needs none. */
bool warm_mount(
    const struct run *run, char name[RUN_VOLUME_SIZE], struct mount *ret_mount);

/* How long the engine may take to fill it from the image, 0 where it does not.
 */
int warm_fill_ms(const struct run *run);

/* The labels of its container that rebuild a lost record, empty where it has no
 * warm volume; and back, as long as the labels live. */
size_t warm_labels(const struct run *run, struct label to[WARM_LABELS]);
void warm_from_labels(const struct container_info *info, struct run *run);

/* Once the container was created: of kind image, look whether the volume holds
 * anything, and its hash. Records what the volume is. */
int warm_settle(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e);

/* Of a run whose record was lost: what its labels could not tell, and its pin.
 */
void warm_restore(const struct run_ctx *ctx, struct run *run, struct arena *a);

/* The container is gone: volume, upper layer, pin. */
int warm_remove(const struct run_ctx *ctx, const char *id, struct err *e);

/* Under the repository's lock, of what is current on disk: Redis is told. */
int warm_teach(const struct run_ctx *ctx, const struct cache_manifest *disk,
    struct err *e);

/* The volume's tree on the host, opened; of an overlay only where it is mounted
 * and is the run's own. ERR_RUN_NOT_RUNNING, ERR_CONFLICT. */
int warm_open(
    const struct run_ctx *ctx, struct run *run, int *ret_tree, struct err *e);

/* What is in the volume now. ERR_INPUT and the errors of warm_open. */
int warm_look(const struct run_ctx *ctx, struct run *run,
    struct lock_hash *ret_hash, struct err *e);

/* Copy the volume to a new generation of repo ("" is the run's own), publish
 * it, and tell what it is. The run is held still while it is copied. ctx->gone
 * gives it up. ERR_FILE_SPACE, ERR_CONFLICT, and the errors of warm_check. */
int warm_commit(const struct run_ctx *ctx, struct run *run, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e);

/* The current one of a repository. ERR_ABSENT. */
int warm_template(const struct config *config, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e);

/* A repository has no template any more; who uses it keeps what it has.
 * ERR_ABSENT; ERR_CONFLICT while a commit to it is on its way. */
int warm_drop_template(
    const struct run_ctx *ctx, const char *repo, struct err *e);

#endif
