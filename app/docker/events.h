/*
 * What the engine remembers of its own past: the last 256 events since it was
 * started (moby, daemon/events).
 */
#ifndef SBX_DOCKER_EVENTS_H
#define SBX_DOCKER_EVENTS_H

#include "docker/engine.h"

/*
 * The engine that runs now did not see this container (its id) end: it was
 * started after that. False also where it cannot be told, since the engine has
 * seen too much else by now.
 */
int events_missed_end(
    struct engine *en, const char *container, bool *ret_missed, struct err *e);

#endif
