/*
 * Before a run is frozen: the engine must find in the run's layer what the run
 * has written. Under runc it does. A gVisor has a page cache of its own, and
 * may keep a whole layer to itself (DESIGN 6).
 */
#ifndef SBX_RUN_SNAPSHOT_SYNC_H
#define SBX_RUN_SNAPSHOT_SYNC_H

#include "docker/container.h"
#include "run/context.h"
#include "store/run.h"

/*
 * token names what is written to try it. ERR_CONFLICT, with the remedy, where
 * the engine does not get to see what the run writes. *ret_tmp is true where it
 * does not get to see /tmp alone: a gVisor has a file system of its own there,
 * unless the image has files in it.
 */
int snapshot_sync(const struct run_ctx *ctx, struct run *run,
    const struct container_info *source, const char *token, bool *ret_tmp,
    struct err *e);

#endif
