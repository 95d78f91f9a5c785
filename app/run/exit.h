/*
 * A run whose container has ended: noticing it, recording why, saying so.
 */
#ifndef SBX_RUN_EXIT_H
#define SBX_RUN_EXIT_H

#include "run/context.h"
#include "store/run.h"

/*
 * Look at the container of a run that is recorded as running. Where it has
 * ended the record becomes exited with its exit code, OOM mark and time, and
 * *run is updated; *ret_present tells whether there is a container at all.
 */
int run_exit_observe(const struct run_ctx *ctx, struct run *run,
    bool *ret_present, struct err *e);

/* The same, where its end is likely: an init that has ended is known to the
 * engine a moment later, which is waited for. */
int run_exit_await(const struct run_ctx *ctx, struct run *run,
    bool *ret_present, struct err *e);

/*
 * Of a run that has exited: an engine that stops ends its runs while it still
 * answers, and one that looks then takes it for somebody's stop. Once the
 * engine is back it is known better; asked in the minute after the end.
 * *ret_changed tells whether the record was.
 */
int run_exit_review(const struct run_ctx *ctx, struct run *run,
    bool *ret_changed, struct err *e);

/* Fill *e with ERR_RUN_NOT_RUNNING and why, from the record. Returns -1. */
int run_not_running(const struct run *run, struct err *e);

/* *e is why a command could not start. Where the run was destroyed, or its
 * container has ended, say that instead, and record an end. Returns -1. */
int run_exit_explain(const struct run_ctx *ctx, struct run *run, struct err *e);

/* The engine says that the run's container has ended, or is not there. */
bool run_has_ended(const struct run_ctx *ctx, const char *id);

/*
 * *e is why an operation failed that was in flight, and is no more. What ended
 * in the run without a word was perhaps ended by who takes the run over with
 * force, and has been waiting for its mark to go: the grant comes right behind
 * that. Where it does, *e becomes ERR_LEASE_SUPERSEDED. run is the record that
 * it was admitted with. Returns -1.
 */
int run_taken(const struct run_ctx *ctx, const struct run *run, struct err *e);

/* Why what ran in a run vanished from under its caller, as a sentence that
 * lives as long as the program; as with run_taken, it is not in flight. */
const char *run_lost(const struct run_ctx *ctx, const struct run *was);

#endif
