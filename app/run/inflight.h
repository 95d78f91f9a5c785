/*
 * The operations that this process has in flight, and the heartbeat that keeps
 * their marks in Redis (store/lease.h).
 *
 * Each worker thread has one slot and is its only user, but for one heartbeat
 * thread that refreshes all slots together: a worker thread that blocks in a
 * write to a slow client keeps its mark all the same. When the process dies or
 * is stopped the marks lapse. No lock: a slot is handed to and fro by a
 * compare-and-swap.
 */
#ifndef SBX_RUN_INFLIGHT_H
#define SBX_RUN_INFLIGHT_H

#include "store/lease.h"

#include <stdbool.h>
#include <stddef.h>

struct inflight;
struct inflight_slot;

/* window_ms: of struct op, for every operation. */
struct inflight *inflight_new(size_t slots, int64_t window_ms);
void inflight_free(struct inflight *f); /* takes NULL */
struct inflight_slot *inflight_slot(struct inflight *f, size_t i);

/*
 * store/lease.h's op_begin, with a new id for the operation, and the slot
 * holding it until inflight_end. One at a time per slot. Where the run is not
 * running nothing is held; inflight_end does nothing then.
 */
int inflight_begin(struct inflight_slot *s, struct redis *r, const char *run,
    const struct credential *who, struct arena *a, struct run *ret_run,
    struct err *e);

/* The same of a read, which has no mark: the slot holds it, so that a run with
 * autoExtend lives on while it lasts. */
int inflight_read(struct inflight_slot *s, struct redis *r, const char *run,
    struct arena *a, struct run *ret_run, struct err *e);

/* Take the mark away. Where Redis is away that is left to inflight_settle. */
void inflight_end(struct inflight_slot *s, struct redis *r);

/* Take a mark away that was, or may have been, left behind; where Redis stays
 * away it lapses. May take seconds: for when the request has its answer. */
void inflight_settle(struct inflight_slot *s, struct redis *r);

const struct op *inflight_op(const struct inflight_slot *s);

/* The run was given to somebody else under the operation (this process was
 * stopped, or Redis away, for longer than the mark): end it. */
bool inflight_lost(struct inflight_slot *s);

/* Refresh all marks once; every OP_REFRESH_MS by one thread. */
int inflight_beat(struct inflight *f, struct redis *r, struct err *e);

#endif
