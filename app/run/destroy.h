/*
 * Taking a run down: shared by DELETE, a failed creation and the reaper.
 */
#ifndef SBX_RUN_DESTROY_H
#define SBX_RUN_DESTROY_H

#include "run/context.h"

/*
 * Move the record to destroying, remove the container with its anonymous
 * volumes, the run's own volume, proxy and directory, then the record. Any
 * number may do so at once: each step succeeds where it was done already.
 * ERR_RUN_ABSENT where there is no record. On failure the run stays listed as
 * destroying and the next call goes on.
 */
int run_teardown(const struct run_ctx *ctx, const char *id, struct err *e);

/* What is left of a run outside Redis: container, volume, proxy and
 * directory. */
int run_remove(const struct run_ctx *ctx, const char *id, struct err *e);

#endif
