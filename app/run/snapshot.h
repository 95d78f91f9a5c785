/*
 * Snapshots: a run's file system as an image teploy-sbx-snap:<ulid> (CONTRACT
 * 7, DESIGN 6).
 *
 * Labels of such an image, ours alone: teploy.sandbox.instance,
 * teploy.sandbox.snapshot=<ULID>, .snapshot.run, .snapshot.base (the run's
 * image), .snapshot.created (ms), .snapshot.warm (path, or ""),
 * .snapshot.layers, .snapshot.excludes (JSON array). What is made on the way
 * (staging container teploy-sbx-snap-<ulid>, untagged images) carries
 * teploy.sandbox.staging=<ULID> and is removed by the reaper where it is left.
 */
#ifndef SBX_RUN_SNAPSHOT_H
#define SBX_RUN_SNAPSHOT_H

#include "lib/arena.h"
#include "run/context.h"
#include "store/run.h"

#include <stdbool.h>

#define SNAPSHOT_PREFIX "teploy-sbx-snap:"

struct snapshot {
	const char *image; /* teploy-sbx-snap:<lower-case ulid> */
	const char *run, *base, *warm_path;
	const char *excludes; /* JSON array text, "[]" where none */
	int64_t created_ms, bytes, layers;
};

int snapshot_take(const struct run_ctx *ctx, struct run *run,
    bool (*gone)(void *arg), void *arg, struct arena *a,
    struct snapshot *ret_snapshot, struct err *e);

struct snapshot_list {
	struct snapshot *item;
	size_t count;
};

/* This stack's own, oldest first. */
int snapshot_list(const struct run_ctx *ctx, struct arena *a,
    struct snapshot_list *ret_list, struct err *e);

/* ERR_INPUT: not such a reference; ERR_ABSENT; ERR_CONFLICT: a run uses it. */
int snapshot_remove(
    const struct run_ctx *ctx, const char *image, struct err *e);

/* For the reaper: staging containers and images older than the grace. */
int snapshot_clean(
    const struct run_ctx *ctx, int64_t *ret_removed, struct err *e);

#endif
