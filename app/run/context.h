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
	/* Where set: whoever all is for has left, what only waits for its turn
	 * gives up. */
	bool (*gone)(void *arg);
	void *gone_arg;
};

#endif
