/*
 * One thread of a pool: accept, dispatch, answer, log, again.
 *
 * Threads share the constants below and the gate's counter; each has its own
 * Redis connection, Docker engine, tokens and arena. A thread ends once
 * drain_fd is readable and its request is answered.
 */
#ifndef SBX_WORKER_H
#define SBX_WORKER_H

#include "api/call.h"
#include "metrics.h"

struct worker_shared {
	const struct config *config;
	const char *instance;
	const struct route *routes;
	size_t route_count;
	int listener; /* non-blocking, shared with other processes */
	int drain_fd; /* readable: take nothing new */
	int cut_fd;   /* readable: every client counts as gone */
	struct call_gate gate;
	struct inflight *inflight; /* a slot for each thread */
	struct metrics *metrics;
};

struct worker;

/* Made and freed outside the thread that runs it; shared must outlive it.
 * number: of the thread, from 0, for its slot. */
struct worker *worker_new(
    struct worker_shared *shared, size_t number, struct err *e);
void worker_free(struct worker *w); /* takes NULL */

/* The thread's function: arg is its struct worker. */
void *worker_run(void *arg);

#endif
