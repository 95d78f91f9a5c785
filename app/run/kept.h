/*
 * Small files of SBX_STATE_DIR that are made once and kept: processes that
 * start together agree on what is in them.
 */
#ifndef SBX_RUN_KEPT_H
#define SBX_RUN_KEPT_H

#include "config.h"
#include "lib/err.h"

#include <stddef.h>

#define KEPT_PATH_SIZE 280

/* SBX_STATE_DIR/name; ERR_INPUT where the directory's name is too long. */
int kept_path(const struct config *config, const char *name,
    char to[KEPT_PATH_SIZE], struct err *e);

/* Make the file (and the directory) with these bytes, 0600, unless it is there.
 * Returns 0 either way. */
int kept_make(const char *path, const void *bytes, size_t size, struct err *e);

#endif
