/*
 * The warm volume of a run (CONTRACT 7, DESIGN 6): made before its container,
 * removed after it, published as a new generation on request.
 *
 * The kinds of one, run->warm_kind:
 *	overlay	lower: the generation; upper and work: SBX_CACHE_ROOT/runs/<ID>
 *	copy	SBX_CACHE_ROOT/runs/<ID>/tree, where overlay does not work
 *	cold	a plain volume, empty
 *	image	a plain volume that the engine fills from the snapshot's image
 * All are Docker `local` volumes teploy-sbx-<id>-warm.
 */
#ifndef SBX_RUN_WARM_H
#define SBX_RUN_WARM_H

#include "docker/container.h"
#include "lib/arena.h"
#include "run/cache.h"
#include "run/context.h"
#include "run/place.h"
#include "store/run.h"

bool warm_has(const struct run *run); /* it was asked for one */

/* Before the container is created: pin, choose the kind, make the volume. Fills
 * run->warm_gen, warm_kind, warm_booted, warm_hash, warm_dir. */
int warm_prepare(const struct run_ctx *ctx, struct run *run, bool snapshot,
    struct arena *a, struct err *e);

/* The mount that the container must have; false where it needs none. */
bool warm_mount(
    const struct run *run, char name[RUN_VOLUME_SIZE], struct mount *ret_mount);

/* Once the container was created: of kind image, look whether the volume holds
 * anything, and its hash. */
int warm_settle(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e);

/* The container is gone: volume, upper layer, pin. */
int warm_remove(const struct run_ctx *ctx, const char *id, struct err *e);

/* The volume's tree on the host, opened; of an overlay only where it is mounted
 * and is the run's own (magic, lowerdir). ERR_RUN_NOT_RUNNING, ERR_CONFLICT. */
int warm_open(
    const struct run_ctx *ctx, struct run *run, int *ret_tree, struct err *e);

/* Copy the volume to a new generation of repo ("" is the run's own), publish
 * it, and tell what it is. The run is held still meanwhile. */
int warm_commit(const struct run_ctx *ctx, struct run *run, const char *repo,
    const struct tree_watch *watch, struct cache_manifest *ret_manifest,
    struct err *e);

#endif
