/*
 * A container as the engine's JSON: the body of a create, the answers of
 * inspect and list; what volumes have in common with it. Pure; used by
 * container.c and volume.c alone.
 */
#ifndef SBX_DOCKER_CONTAINER_JSON_H
#define SBX_DOCKER_CONTAINER_JSON_H

#include "docker/container.h"

#include <jansson.h>

void container_json_write(struct buf *body, const struct container_spec *spec);

/* ERR_ENGINE where bytes are not what the API promises. */
int container_json_inspect(const char *bytes, size_t size,
    struct container_info *ret_info, struct err *e);
int container_json_list(const char *bytes, size_t size,
    struct container_list *ret_list, struct err *e);

/* A time that is told in seconds, in ms: 0 where it is none. */
int64_t container_json_seconds(const json_t *object, const char *key);

/* The array and its strings are one allocation, for free(3). */
void container_json_labels(
    json_t *labels, struct label **ret_labels, size_t *ret_count);

/* Append the value of `filters` that asks for label key=value, escaped. */
void container_json_filter(
    struct buf *path, const char *key, const char *value);

#endif
