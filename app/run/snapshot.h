/*
 * Snapshots: a run's file system as an image teploy-sbx-snap:<ulid> (CONTRACT
 * 7, DESIGN 6).
 *
 * Labels of such an image, all below teploy.sandbox.snapshot: the ULID itself,
 * .instance, .run, .base (the run's image), .created (ms), .warm (path, or ""),
 * .layers, .excludes (JSON array). It is not under teploy.sandbox.instance,
 * which a container made of it by hand would inherit, and be taken for a run.
 *
 * What is made on the way is found by labels: images that have no name yet by
 * the same ones; a staging container, teploy-sbx-snap-<ulid>, by
 * teploy.sandbox.staging=<ULID> and .staging.run. The ULID is the token of the
 * hold under which all is made: without that hold, what is there is left over.
 */
#ifndef SBX_RUN_SNAPSHOT_H
#define SBX_RUN_SNAPSHOT_H

#include "docker/container.h"
#include "lib/arena.h"
#include "run/context.h"
#include "store/run.h"

#include <stdbool.h>

#define SNAPSHOT_REPOSITORY "teploy-sbx-snap"
#define SNAPSHOT_PREFIX SNAPSHOT_REPOSITORY ":"
#define SNAPSHOT_LAYERS_MAX 120 /* the engine's limit is 125 */

struct snapshot {
	const char *image; /* teploy-sbx-snap:<lower-case ulid> */
	const char *run, *base, *warm_path;
	const char *excludes; /* JSON array text, "[]" where none */
	int64_t created_ms, bytes, layers;
};

/*
 * Of a run in state running or exited. The run is held still until its bytes
 * are in the engine's store. Gives up where ctx->gone says so (ERR_GONE_AWAY)
 * or the run is destroyed (ERR_RUN_NOT_RUNNING). ERR_CONFLICT: one is being
 * taken, or the runtime keeps the run's files to itself; ERR_FILE_SPACE. On
 * failure nothing is left but what the engine is still at: snapshot_clean.
 */
int snapshot_take(const struct run_ctx *ctx, struct run *run, struct arena *a,
    struct snapshot *ret_snapshot, struct err *e);

struct snapshot_list {
	struct snapshot *item;
	size_t count;
};

/* This stack's own, oldest first. */
int snapshot_list(const struct run_ctx *ctx, struct arena *a,
    struct snapshot_list *ret_list, struct err *e);

/* ERR_INPUT: not such a reference; ERR_IMAGE_ABSENT; ERR_CONFLICT: a run uses
 * it. */
int snapshot_remove(
    const struct run_ctx *ctx, const char *image, struct err *e);

/* For the reaper: images without a name that no hold stands for, and that are
 * older than the grace. */
int snapshot_clean(
    const struct run_ctx *ctx, int64_t *ret_removed, struct err *e);

/* For the reaper: the container is a staging one. *ret_removed: it was left
 * over, and was removed. */
bool snapshot_staging(const struct container_info *info);
int snapshot_clean_staging(const struct run_ctx *ctx,
    const struct container_info *info, bool *ret_removed, struct err *e);

#endif
