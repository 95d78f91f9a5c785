/*
 * Where the parts of a run are: names and paths made from its id.
 */
#ifndef SBX_RUN_PLACE_H
#define SBX_RUN_PLACE_H

#include "config.h"
#include "lib/ulid.h"

#define RUN_PREFIX "teploy-sbx-"
#define RUN_NAME_SIZE (sizeof(RUN_PREFIX) + ULID_SIZE)
#define RUN_VOLUME_SIZE (RUN_NAME_SIZE + 16)
#define RUN_PATH_SIZE 256

/* teploy-sbx-<lower-case id> */
void run_name(const char *id, char to[RUN_NAME_SIZE]);

/* teploy-sbx-<lower-case id>-<what>: a volume of the run. */
void run_volume(const char *id, const char *what, char to[RUN_VOLUME_SIZE]);

/* SBX_RUN_DIR/runs/<ID>, and a file in it where file is not NULL. */
void run_path(const struct config *config, const char *id, const char *file,
    char to[RUN_PATH_SIZE]);

#endif
