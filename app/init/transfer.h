/*
 * Moving what rename(2) cannot move: to another file system, or a directory
 * that an overlay has from a lower layer, as all of an image's are (EXDEV).
 *
 * Entry by entry, each renamed where that goes and copied otherwise. What
 * fails in the middle leaves every entry in one of the two places.
 */
#ifndef SBX_INIT_TRANSFER_H
#define SBX_INIT_TRANSFER_H

#include "init/file.h"

/* 0, or -1 with errno: ECANCELED where the run was given to another. */
int transfer(
    struct file_op *f, const struct beneath *from, const struct beneath *to);

#endif
