/*
 * The supervisor of one command.
 *
 * Speaks lib/wire on standard input and output: reads one WIRE_EXEC, runs it
 * as a user of the image, sends its output, and ends it and everything below
 * it at its deadline, on WIRE_KILL, or when the host goes away without a
 * WIRE_DETACH. It stays while the command's background children live, and
 * leaves those alone.
 */
#ifndef SBX_INIT_EXEC_H
#define SBX_INIT_EXEC_H

#include "init/ops.h"

/* op is this operation among PID 1's; more input comes on FEED_FD (init/feed).
 * Returns the exit status of the supervisor, which says nothing of the
 * command's. */
int exec_run(const struct ops *ops, struct op *op);

#endif
