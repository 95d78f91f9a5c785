/*
 * Where the bytes are that a container holds of the disk.
 */
#ifndef SBX_DOCKER_CONTAINER_DISK_H
#define SBX_DOCKER_CONTAINER_DISK_H

#include "docker/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container_disk {
	char *upper; /* its writable layer, a directory of the host; "" where
		      * the engine shows none that holds it alone */
	bool paused;
	struct container_volume {
		char *name;   /* of Docker's */
		char *source; /* a directory of the host */
	} * volume;
	size_t count;
	int64_t size; /* of its writable layer as the engine counts it; -1
		       * where not asked for, or not told */
};

void container_disk_release(struct container_disk *disk);

/* By id or name. counted: the engine walks the layer, which takes long, and
 * tells its size. ERR_ABSENT. */
int container_disk(struct engine *en, const char *id, bool counted,
    struct container_disk *ret_disk, struct err *e);

#endif
