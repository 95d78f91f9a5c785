/*
 * A raw two-way stream through the engine: a POST that is answered by an
 * upgrade. On a connection of its own, not on the engine's kept one.
 */
#ifndef SBX_DOCKER_HIJACK_H
#define SBX_DOCKER_HIJACK_H

#include "docker/engine.h"

/*
 * POST with "Upgrade: tcp", answered by 101 (200 by old engines). Returns a
 * connected descriptor, blocking and close-on-exec, whose next byte is the
 * stream's first and which the caller owns. Another status is -1 with the kind
 * and text of engine_refused; the rest fails as engine_do does.
 */
int hijack_open(struct engine *en, const char *path, const char *json,
    int timeout_ms, struct err *e);

#endif
