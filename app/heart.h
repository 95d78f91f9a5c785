/*
 * The heartbeat of a worker process: one thread that keeps the marks of the
 * operations that the other threads have in flight (run/inflight.h). It goes on
 * through a drain, until it is stopped.
 */
#ifndef SBX_HEART_H
#define SBX_HEART_H

#include "config.h"
#include "run/inflight.h"

struct heart;

struct heart *heart_start(
    const struct config *config, struct inflight *inflight, struct err *e);
void heart_stop(struct heart *h); /* takes NULL */

#endif
