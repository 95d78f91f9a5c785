/*
 * The command that a creation runs once in the new run, before anybody else
 * can (CONTRACT 2, `init`).
 */
#ifndef SBX_RUN_INIT_COMMAND_H
#define SBX_RUN_INIT_COMMAND_H

#include "run/context.h"
#include "store/run.h"

struct init_command {
	const char *cmd; /* NULL: none */
	int64_t timeout_sec;
};

/*
 * Run it to its end, as the image's user in /work with the run's environment.
 * ERR_INIT_FAILED unless it exits with 0, with the tail of its output;
 * ERR_GONE_AWAY where *gone says true.
 */
int init_command_run(const struct run_ctx *ctx, struct run *run,
    const struct init_command *init, bool (*gone)(void *arg), void *arg,
    struct arena *a, struct err *e);

#endif
