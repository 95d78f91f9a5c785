/*
 * What the engine remembers of its own past: the last 256 events since it was
 * started (moby, daemon/events).
 */
#ifndef SBX_DOCKER_EVENTS_H
#define SBX_DOCKER_EVENTS_H

#include "docker/engine.h"

/*
 * This container (its id), which has ended, was ended by a restart of the
 * engine: as that stopped, or as it started. False also where it cannot be
 * told, since the engine has seen too much else by now.
 */
int events_restart_ended(
    struct engine *en, const char *container, bool *ret_restart, struct err *e);

#endif
