/*
 * The heartbeat of a worker process: one thread that keeps the marks of the
 * operations that the other threads have in flight (run/inflight.h), and moves
 * what they counted (metrics.h) on to Redis. It goes on through a drain, until
 * it is stopped.
 */
#ifndef SBX_HEART_H
#define SBX_HEART_H

#include "config.h"
#include "metrics.h"
#include "run/inflight.h"

struct heart;

struct heart_setup {
	const struct config *config;
	const char *pool;
	int64_t threads;
	struct inflight *inflight;
	struct metrics *metrics;
};

/* What *setup points to must live until heart_stop. */
struct heart *heart_start(const struct heart_setup *setup, struct err *e);
void heart_stop(struct heart *h); /* takes NULL */

#endif
