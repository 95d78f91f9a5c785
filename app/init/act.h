/*
 * What PID 1 does to an exec on somebody's behalf, without a process of its
 * own, so that it works where the run has no pids left: a letter to its
 * supervisor, and then the wait until that has dealt with it.
 */
#ifndef SBX_INIT_ACT_H
#define SBX_INIT_ACT_H

#include "init/object.h"
#include "init/ops.h"

struct act {
	struct op *op;
	uint64_t serial; /* of the exec that was in op */
	struct mail mail;
	bool posted;
	uint32_t count; /* of the letter */
	uint64_t generation;
};

/* 0; or -1 with why it is refused. *ret_a is filled unless it is an input:
 * that is fed by a process of its own (init/feed.h), to *ret_op. */
int act_begin(struct ops *o, const struct wire_act *x, struct act *ret_a,
    struct op **ret_op, enum wire_fail *ret_why);

enum act_state { ACT_WAITS, ACT_DONE, ACT_FENCED };

/* Do what can be done now. */
enum act_state act_step(const struct ops *o, struct act *a);

/* It may have an effect yet that has not begun. */
bool act_is_open(const struct act *a);

#endif
