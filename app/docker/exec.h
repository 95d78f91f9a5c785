/*
 * Exec through the engine: a process in a container with its three streams on
 * one hijacked connection. Used by guest/ only.
 */
#ifndef SBX_DOCKER_EXEC_H
#define SBX_DOCKER_EXEC_H

#include "docker/engine.h"

#include <stdint.h>

struct exec_spec {
	const char *container; /* id or name */
	const char *user;
	const char *const *argv; /* NULL-terminated */
};

/*
 * Create and start. Returns the hijacked descriptor (stdin one way, the
 * multiplexed stdout and stderr the other: docker/demux.h). ERR_ABSENT: no such
 * container; ERR_CONFLICT: it is not running or is paused.
 */
int exec_open(struct engine *en, const struct exec_spec *spec, struct err *e);

#endif
