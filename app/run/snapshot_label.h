/*
 * The labels of snapshots, and of what is made on the way (run/snapshot.h).
 */
#ifndef SBX_RUN_SNAPSHOT_LABEL_H
#define SBX_RUN_SNAPSHOT_LABEL_H

#include "docker/commit.h"
#include "run/snapshot.h"

#define SNAPSHOT_HOLD "snapshot" /* what its hold is for */
#define SNAPSHOT_LABEL "teploy.sandbox.snapshot"
#define SNAPSHOT_LABEL_INSTANCE SNAPSHOT_LABEL ".instance"
#define SNAPSHOT_LABELS 7

#define STAGE_LABEL "teploy.sandbox.staging"
#define STAGE_LABEL_RUN STAGE_LABEL ".run"

void snapshot_labels(const struct snapshot *s, const char *token,
    const char *instance, struct arena *a, struct label to[SNAPSHOT_LABELS]);

/* Whether a reference names a snapshot of this box, however it is spelt: such
 * ones are never pulled. And whether an image, by its Config (JSON text), is a
 * snapshot or was made of one, whatever it is called. */
bool snapshot_named(const char *reference);
bool snapshot_is(const char *config);

/* Of an image: false where it has no name of a snapshot's, or its labels make
 * no sense. Strings in a. */
bool snapshot_read(const struct image_item *item, struct arena *a,
    struct snapshot *ret_snapshot);

/* Remove the images that were made under that token, unless one has a name.
 * What fails, or comes later, the reaper removes. */
void snapshot_undo(const struct run_ctx *ctx, const char *token);

#endif
