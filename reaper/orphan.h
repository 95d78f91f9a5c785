/*
 * A container of ours that has no record: what its labels say, and what is to
 * become of it (DESIGN 1).
 */
#ifndef SBX_REAPER_ORPHAN_H
#define SBX_REAPER_ORPHAN_H

#include "docker/container.h"
#include "store/run.h"

#include <stdbool.h>

/* Fill *ret_run, apart from its state, from the labels; strings are the
 * container's. False where they are incomplete: the rest is filled all the
 * same, but an id that is none is "". */
bool orphan_read(const struct container_info *info, struct run *ret_run);

/* The container's process lives, be it frozen. */
bool orphan_lives(const struct container_info *info);

/* Its process has ended; one that never started has not. */
bool orphan_ended(const struct container_info *info);

#endif
