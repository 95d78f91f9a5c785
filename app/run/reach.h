/*
 * The way to a run's init: chosen once, when the run is made, and kept in its
 * record (DESIGN 4).
 *
 * The socket lies on a small volume of the run that the host sees at the
 * volume's mountpoint. Where that does not work, or is not wanted (SBX_GUEST),
 * a one-shot init is started by Docker's exec for each operation.
 */
#ifndef SBX_RUN_REACH_H
#define SBX_RUN_REACH_H

#include "docker/container.h"
#include "guest/guest.h"
#include "lib/arena.h"
#include "run/context.h"
#include "run/place.h"
#include "store/run.h"

#define REACH_MOUNT "/.sbx/run" /* of the volume, in the run */

/* Before the container is created: choose, and make what that takes. Fills
 * run->transport, guest_dir and guest_pid. */
int reach_prepare(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e);

/* The mount that the container must have; false where it needs none. name is
 * where the volume's name goes. */
bool reach_mount(
    const struct run *run, char name[RUN_VOLUME_SIZE], struct mount *ret_mount);

/* Once the container runs: wait until its init serves, fall back where it does
 * not (SBX_GUEST=auto), and record the outcome. */
int reach_settle(const struct run_ctx *ctx, struct run *run, struct err *e);

/* The same of a run whose record was lost; its transport is known. */
int reach_again(
    const struct run_ctx *ctx, struct run *run, struct arena *a, struct err *e);

/* Remove what reach_prepare made; the container is gone. */
int reach_remove(const struct run_ctx *ctx, const char *id, struct err *e);

/* guest_exec in a run that is recorded as running. Where the way is lost and
 * there is another, that is recorded and taken. A run that has ended is
 * ERR_RUN_NOT_RUNNING with why, and recorded. */
struct guest *reach_exec(const struct run_ctx *ctx, struct run *run,
    const struct guest_order *order, struct err *e);

/*
 * Tell the run's init that this generation was granted (guest_fence).
 * *ret_known is 0 where that was done, or there is nothing to fence: the run
 * has ended, or its transport knows no fence. Else it is the generation that
 * the init knows already, which is not below this one.
 */
int reach_fence(const struct run_ctx *ctx, struct run *run, int64_t generation,
    int64_t *ret_known, struct err *e);

#endif
