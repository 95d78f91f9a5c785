/*
 * The way to a run's init: chosen once, when the run is made, and kept in its
 * record (DESIGN 4).
 *
 * The socket lies on a small volume of the run that the host sees at the
 * volume's mountpoint. Where that does not work, or is not wanted (SBX_GUEST),
 * Docker's exec starts a relay to the init for each operation (init/relay.h).
 */
#ifndef SBX_RUN_REACH_H
#define SBX_RUN_REACH_H

#include "docker/container.h"
#include "guest/guest.h"
#include "lib/arena.h"
#include "run/context.h"
#include "run/place.h"
#include "store/run.h"

#define REACH_ROOT "/.sbx"	/* all that is ours in a run */
#define REACH_MOUNT "/.sbx/run" /* of the volume, in the run */
#define REACH_INIT_MOUNTS 2

/* The mounts of every container that has our init: a small tmpfs at REACH_ROOT,
 * so that an image made of it has an empty directory there and no more, and the
 * init in that. Returns REACH_INIT_MOUNTS. */
size_t reach_init_mounts(
    const struct config *config, struct mount to[REACH_INIT_MOUNTS]);

/* Before the container is created: choose, and make what that takes. Fills
 * run->transport, guest_dir, guest_pid and guest_wire. */
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

#define REACH_OBJECTS 3	   /* wire version: exec objects, files */
#define REACH_CONDITIONS 4 /* of a PUT; execs that are told to be left */
#define REACH_DOCKER 4	   /* by Docker's exec, also where there is a socket */

/* ERR_UNSUPPORTED where the run's init is older than that wire version. */
int reach_modern(const struct run *run, int version, struct err *e);

/*
 * Begin an operation in a run that is recorded as running: *op, at where its
 * init is. Where the way is lost and there is another, that is recorded, and
 * taken. A failure is explained by reach_explain.
 */
int reach_do(const struct run_ctx *ctx, struct run *run,
    int (*op)(void *arg, struct engine *en, const struct guest_place *at,
	struct err *e),
    void *arg, struct err *e);

/* *e is why an operation failed: that the run has ended is said, and recorded,
 * as ERR_RUN_NOT_RUNNING. Returns -1. */
int reach_explain(const struct run_ctx *ctx, struct run *run, struct err *e);

/*
 * guest_exec, by reach_do. The exec's id is left out where the run's init is
 * older than exec objects; ERR_UNSUPPORTED then for one that is kept, has a
 * terminal or is feedable.
 */
struct guest *reach_exec(const struct run_ctx *ctx, struct run *run,
    const struct guest_order *order, struct err *e);

/*
 * Tell the run's init that this generation was granted (guest_fence).
 * *ret_known is 0 where that was done, or there is nothing to fence: the run
 * has ended, or is reached by an older one-shot init. Else it is the generation
 * that the init knows already, which is not below this one.
 */
int reach_fence(const struct run_ctx *ctx, struct run *run, int64_t generation,
    int64_t *ret_known, struct err *e);

#endif
