/*
 * A container as the engine's JSON: the body of a create, the answers of
 * inspect and list. Pure; used by container.c alone.
 */
#ifndef SBX_DOCKER_CONTAINER_JSON_H
#define SBX_DOCKER_CONTAINER_JSON_H

#include "docker/container.h"

void container_json_write(struct buf *body, const struct container_spec *spec);

/* ERR_ENGINE where bytes are not what the API promises. */
int container_json_inspect(const char *bytes, size_t size,
    struct container_info *ret_info, struct err *e);
int container_json_list(const char *bytes, size_t size,
    struct container_list *ret_list, struct err *e);

#endif
