/*
 * The stack seen from outside the API, as an operator would: the Docker engine
 * and Redis.
 */
#ifndef SBX_E2E_OUTSIDE_H
#define SBX_E2E_OUTSIDE_H

#include "client.h"

#include <hiredis/hiredis.h>

/* A call to the engine: "/containers/json". The path needs no version. */
struct reply docker_do(const char *method, const char *path, const char *body);

/* The container of a run, inspected; NULL where there is none. json_decref. */
json_t *docker_container(const char *id);

/* How many containers, running or not, the instance has. */
size_t docker_count(void);

/* A member by path, "State.Pid"; fails the test where it is missing. */
const json_t *json_at(const json_t *json, const char *path);

/* Run tests/images/busybox.sh (of the last ones debian.sh, deep.sh) for this
 * name and variant (below), once; the plain one is $SBX_TEST_IMAGE where that
 * is set. */
#define IMAGE_PLAIN "sbx-test:plain"
#define IMAGE_USER "sbx-test:user"	 /* USER 1000 */
#define IMAGE_ENTRY "sbx-test:entry"	 /* ENTRYPOINT, CMD, HEALTHCHECK, ENV */
#define IMAGE_WORKDIR "sbx-test:workdir" /* WORKDIR /srv/app */
#define IMAGE_SCRATCH "sbx-test:scratch" /* /bin/true and nothing else */
#define IMAGE_VOLUME "sbx-test:volume"	 /* VOLUME /data */
#define IMAGE_DEBIAN "sbx-test:debian"	 /* python3, git, curl, apt, node ... */
#define IMAGE_DEEP "sbx-test:deep" /* the plain one, and then many layers */
#define IMAGE_DEEP_LAYERS 119
void image_need(const char *name);

/* A command on a connection of its own; the reply is never NULL while Redis
 * answers. freeReplyObject. */
redisReply *redis_do(const char *format, ...);

bool redis_answers(void);

/* Redis has the text in a key, or in a value of a key, of any type. */
bool redis_has(const char *text);

#endif
