/*
 * The staging container of a snapshot: made of the image that has the run's
 * files, to put those of its volume over them, and to be committed. Nothing of
 * the run is executed in it.
 */
#ifndef SBX_RUN_SNAPSHOT_STAGE_H
#define SBX_RUN_SNAPSHOT_STAGE_H

#include "docker/commit.h"
#include "run/context.h"
#include "run/snapshot_config.h"
#include "store/run.h"

#define STAGE_LABELS 4

struct stage_spec {
	const struct run *run;
	const char *token;
	const char *image;
	const struct snapshot_base *base;
	bool no_healthcheck;
};

/* labels: those that a commit of it inherits. */
int stage_create(const struct run_ctx *ctx, const struct stage_spec *spec,
    struct label labels[STAGE_LABELS], char ret_id[CONTAINER_ID_SIZE],
    struct err *e);

/* The volume's tree takes the place of what is at the warm path. */
int stage_copy(const struct run_ctx *ctx, const char *id,
    const struct commit_watch *watch, struct err *e);

/* The run is being removed: end those that have its volume. */
int stage_end(const struct run_ctx *ctx, const char *run, struct err *e);

/* If it is there. What fails the reaper does later. */
void stage_remove(const struct run_ctx *ctx, const char *token);

#endif
