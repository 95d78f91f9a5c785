/*
 * The smallest registry: it answers /v2/ and has no image at all. In a child
 * process, on a loopback port, which Docker speaks plain HTTP with.
 */
#ifndef SBX_E2E_REGISTRY_H
#define SBX_E2E_REGISTRY_H

#include <sys/types.h>

struct registry {
	pid_t pid;
	int port;
};

struct registry registry_start(void);
void registry_stop(struct registry *r);

#endif
