/*
 * A worker process: the threads of one pool on one listener, until SIGTERM.
 */
#ifndef SBX_POOL_H
#define SBX_POOL_H

#include "config.h"
#include "http/router.h"

#include <stddef.h>

/* Any worker of either pool serves every route; the pools only keep short
 * calls from waiting behind long ones (DESIGN 1). */
enum pool { POOL_CONTROL, POOL_STREAM, POOLS };

extern const char *const pool_name[POOLS];

struct pool_setup {
	const struct config *config;
	const char *instance;
	const struct route *routes;
	size_t route_count;
	enum pool pool;
	int listener; /* non-blocking; closed when draining begins */
	int ready_fd; /* gets a newline once requests are taken and is closed,
		       * or -1 */
};

/*
 * Serve until SIGTERM or SIGINT, then drain: take nothing new, give requests
 * in flight config->drain_sec, then tell them that their clients are gone and
 * give them a moment to undo what they do. Returns 0 after that, or -1 where
 * it could not start; ends the process, successfully, where a thread is stuck
 * in spite of it all. Called in the only thread of a process.
 */
int pool_serve(const struct pool_setup *setup, struct err *e);

#endif
