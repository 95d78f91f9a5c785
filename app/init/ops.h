/*
 * The operations that PID 1 serves, and the fence between their generations
 * (DESIGN 2).
 *
 * In memory that PID 1 shares with the supervisors that it forks, and with
 * nothing else: execve(2) leaves it behind. An operation of a lower generation
 * than the fence does not begin, and one that runs is ended.
 *
 * Neither side can miss the other: a supervisor tells its generation, then
 * looks at the fence; PID 1 raises the fence, then looks at generations.
 */
#ifndef SBX_INIT_OPS_H
#define SBX_INIT_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OPS_MAX 512 /* at once, kept execs that have ended included */

struct ops;
struct op;
struct object;

/* NULL where there is no memory. */
struct ops *ops_new(void);

/* -- PID 1's -- */

/* One for a process that is about to be forked, or NULL: all are taken. */
struct op *ops_take(struct ops *o);
void op_forked(struct op *op, pid_t pid); /* pid <= 0: it was not */
/* False where that was none of them. */
bool ops_reaped(struct ops *o, pid_t pid);
bool ops_has(const struct ops *o, pid_t pid);
/* Let those that were stopped go on, each once however often it was. */
void ops_resume(const struct ops *o);

/* Those that are taken, one after another from NULL on; NULL: that was all. */
struct op *ops_next(struct ops *o, const struct op *after);

/* The exec of that id that is listed, or NULL. */
struct op *ops_find(struct ops *o, const char *id);

/* Its exec, an empty one for another operation. */
struct object *op_object(struct op *op);
pid_t op_pid(const struct op *op); /* 0: its process has ended */

/* A kept exec that has ended is not to be kept any longer. */
void op_forget(struct op *op);

/* Raise the fence; false where it is there already. */
bool ops_raise(struct ops *o, uint64_t generation);
uint64_t ops_fence(const struct ops *o);

/* Send sig (0: none) to each supervisor of an operation that must end. Returns
 * how many there are. */
size_t ops_end_older(const struct ops *o, int sig);

/* -- a supervisor's -- */

/* Tell the generation; false where it is too old to begin. */
bool op_admit(const struct ops *o, struct op *op, uint64_t generation);
/* op NULL: false. */
bool op_is_older(const struct ops *o, const struct op *op);
/* The command has ended, or its host has left it to itself: what lives on is
 * in the background, and no fence's. */
void op_over(struct op *op);

#endif
