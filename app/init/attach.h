/*
 * A reader of what a kept exec says: a process of its own, which holds up
 * neither the command nor other readers, and may be held up by its host as long
 * as that likes.
 *
 * Speaks lib/wire_object.h on standard output; standard input is the same
 * connection.
 */
#ifndef SBX_INIT_ATTACH_H
#define SBX_INIT_ATTACH_H

#include "init/ring.h"

#include <stdint.h>

/* Returns the exit status of the process. */
int attach_run(struct ring *ring, uint64_t offset);

#endif
