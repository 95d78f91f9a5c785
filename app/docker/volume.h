/*
 * Volumes of the driver `local`: create, look, list, remove. The engine mounts
 * one when the first container that has it starts, and unmounts it when the
 * last one ends.
 */
#ifndef SBX_DOCKER_VOLUME_H
#define SBX_DOCKER_VOLUME_H

#include "docker/container.h"
#include "docker/engine.h"

struct volume_spec {
	const char *name;
	/* As of mount(8); NULL for a plain directory. */
	const char *type, *device, *options;
	const struct label *labels;
	size_t label_count;
};

struct volume_info {
	char *name;
	char *mountpoint; /* a directory of the host */
	struct label *labels;
	size_t label_count;
};

void volume_info_release(struct volume_info *info);

/* One of that name that exists is success. */
int volume_create(struct engine *en, const struct volume_spec *spec,
    struct volume_info *ret_info, struct err *e);

/* ERR_ABSENT where there is none. */
int volume_inspect(struct engine *en, const char *name,
    struct volume_info *ret_info, struct err *e);

/* Absent is success; ERR_CONFLICT where a container has it, or the engine
 * thinks so: one before 24 does until its next start, once it restarted under
 * running containers (live-restore). */
int volume_remove(struct engine *en, const char *name, struct err *e);

struct volume_list {
	struct volume_info *item;
	size_t count;
};

void volume_list_release(struct volume_list *list);

/* All that carry label key=value. */
int volume_list(struct engine *en, const char *key, const char *value,
    struct volume_list *ret_list, struct err *e);

#endif
