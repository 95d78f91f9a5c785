/*
 * The id of this stack (DESIGN 1, "Ours"): random, made once, kept in
 * SBX_STATE_DIR/instance, so that it survives a Redis flush and tells our
 * containers from those of another stack on the same engine.
 */
#ifndef SBX_RUN_INSTANCE_H
#define SBX_RUN_INSTANCE_H

#include "config.h"
#include "lib/err.h"
#include "lib/ulid.h"

/* Read it, or make it: processes that start together agree. */
int instance_id(const struct config *config, char to[ULID_SIZE], struct err *e);

#endif
