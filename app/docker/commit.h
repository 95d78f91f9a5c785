/*
 * Images made of containers: commit, tag, list, remove; and the whole file
 * system of a container as one layer (export, import). An image's configuration
 * and labels are the engine's business but where a caller says otherwise.
 *
 * These may take as long as the bytes take: *gone (may be NULL) is asked about
 * every 200 ms, and true gives up with ERR_GONE_AWAY. The engine goes on with
 * what it was told all the same, and may have an image a while later: who gives
 * up looks for it by its labels. ERR_FILE_SPACE where its disk is full.
 */
#ifndef SBX_DOCKER_COMMIT_H
#define SBX_DOCKER_COMMIT_H

#include "docker/container.h"
#include "docker/engine.h"

#include <stdint.h>

#define IMAGE_ID_SIZE 80

/* Fill *e with that. Returns -1. */
int commit_full(struct err *e);

struct commit_watch {
	bool (*gone)(void *arg);
	void *arg;
};

/*
 * A container's changes as a layer over its image. config is a JSON object, the
 * engine's Config. Into it the engine merges the container's own where it has
 * no User, WorkingDir, StopSignal, Healthcheck or Entrypoint, neither
 * Entrypoint nor Cmd, and any label, variable, port and volume that it does not
 * name. The container is not paused for it. ERR_ABSENT.
 */
int commit_container(struct engine *en, const char *container,
    const char *config, const struct commit_watch *watch,
    char ret_image[IMAGE_ID_SIZE], struct err *e);

/* A container's file system, without volumes, as an image of one layer with
 * those labels and no configuration else; nothing in between is kept. */
int commit_flat(struct engine *en, const char *container,
    const struct label *labels, size_t label_count,
    const struct commit_watch *watch, char ret_image[IMAGE_ID_SIZE],
    struct err *e);

/* Name an image. ERR_ABSENT. */
int image_tag(struct engine *en, const char *image, const char *repository,
    const char *tag, struct err *e);

/*
 * Take a name away, and the image with it where it had no other; or, by id, the
 * image, if it has no name. What is only there for it goes along. ERR_ABSENT;
 * ERR_CONFLICT where a container, or another image, is made of it.
 */
int image_remove(struct engine *en, const char *image, struct err *e);

struct image_item {
	char id[IMAGE_ID_SIZE];
	char **tags; /* "name:tag"; NULL at the end */
	struct label *labels;
	size_t label_count;
	int64_t created_ms, bytes; /* bytes: of all its layers */
};

struct image_list {
	struct image_item *item;
	size_t count;
};

void image_list_release(struct image_list *list);
const char *image_label(const struct image_item *item, const char *key);

/* All that carry label key=value and are no mere parts of others. */
int image_list(struct engine *en, const char *key, const char *value,
    struct image_list *ret_list, struct err *e);

#endif
