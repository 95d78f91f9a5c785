/*
 * What every verb on runs works with: the configuration, this stack's id, and
 * the calling thread's connections.
 */
#ifndef SBX_RUN_CONTEXT_H
#define SBX_RUN_CONTEXT_H

#include "config.h"
#include "docker/engine.h"
#include "store/redis.h"

#include <stdbool.h>

struct run_ctx {
	const struct config *config;
	const char *instance; /* run/instance.h */
	struct redis *redis;
	struct engine *engine;
	/* Where set, of whoever all is for: he has left, what waits gives up;
	 * he may wait for seconds (else ERR_BUSY), and has done so. */
	bool (*gone)(void *arg);
	int (*wait_begin)(void *arg, struct err *e);
	void (*wait_end)(void *arg);
	void *arg;
};

#endif
