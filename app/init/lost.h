/*
 * What a supervisor leaves that was killed: root of a run can do that, and its
 * command's other processes are PID 1's children then.
 *
 * No other child of PID 1 is there but operations: a supervisor stays as long
 * as anything of its command lives. (Orphans of what an operator put into the
 * run by Docker's exec are taken along.) A kernel without subreapers gives PID
 * 1 every orphan: there nothing is done.
 */
#ifndef SBX_INIT_LOST_H
#define SBX_INIT_LOST_H

#include "init/ops.h"

struct lost {
	bool tells; /* who is an orphan of nobody */
	int looks;  /* that are left; 0: nothing is to be done */
	int in_vain;
	int wait_ms; /* until the one after the next */
	int64_t at;  /* the next one; CLOCK_MONOTONIC, in ms */
};

/* PID 1's, before anything is forked. */
void lost_init(struct lost *l);

/* A supervisor was killed. */
void lost_begin(struct lost *l);

/* There may be something left. */
bool lost_is_busy(const struct lost *l);

/* When lost_step is to be called, in milliseconds; -1: not at all. */
int lost_idle_ms(const struct lost *l);

/* Kill what there is, if it is time. Without a fork, so that it works where the
 * pids are used up. After a few seconds what is still there is given up: not
 * even SIGKILL ends it. */
void lost_step(struct lost *l, const struct ops *o);

#endif
