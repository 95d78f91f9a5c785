/*
 * The execs of a run, as verbs: guest/object.h over whichever way leads to the
 * run's init (run/reach.h).
 *
 * The run is one that is recorded as running. Failures beside those of
 * guest/object.h: ERR_RUN_NOT_RUNNING with why, and recorded; ERR_UNSUPPORTED
 * where the run was started by a version that had no exec objects.
 */
#ifndef SBX_RUN_EXECS_H
#define SBX_RUN_EXECS_H

#include "guest/object.h"
#include "lib/arena.h"
#include "run/context.h"
#include "store/run.h"

/* All of them, in the order of their ids; in the arena. */
int execs_list(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const struct wire_info **ret_list, size_t *ret_count, struct err *e);

/* The one of that id; ERR_EXEC_ABSENT. */
int execs_find(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const char *id, struct wire_info *ret_info, struct err *e);

int execs_act(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e);

/* guest_follow and guest_input; ended with guest_free. */
struct guest *execs_follow(const struct run_ctx *ctx, struct run *run,
    const struct wire_attach *attach, struct err *e);
struct guest *execs_input(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e);

#endif
