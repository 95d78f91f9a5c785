/*
 * A process for an operation: forked by PID 1, with the connection as standard
 * input and output, and nothing else of PID 1's but what it shares.
 */
#ifndef SBX_INIT_START_H
#define SBX_INIT_START_H

#include "init/ops.h"
#include "lib/wire_object.h"

/*
 * 0: it has the connection, which the caller closes. -1: *ret_why, and a
 * sentence in *ret_text. These do not return in the new process.
 */

/* keep: its output, where there may be so much memory for all of that kind. */
int start_exec(struct ops *o, int fd, bool keep, uint64_t memory,
    enum wire_fail *ret_why, const char **ret_text);
/* lock: of no bytes, for locks between such processes; -1: none. */
int start_file(struct ops *o, int fd, int lock, enum wire_fail *ret_why,
    const char **ret_text);
int start_attach(struct ops *o, int fd, const struct wire_attach *x,
    enum wire_fail *ret_why, const char **ret_text);
/* target is the exec that is fed. */
int start_feed(struct ops *o, int fd, const struct wire_act *x,
    struct op *target, enum wire_fail *ret_why, const char **ret_text);

#endif
