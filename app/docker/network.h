/*
 * Networks of the driver `bridge` that lead nowhere: create, list, remove. The
 * engine makes a bridge in the host's network namespace, and puts the host's
 * end of a container's link on it while the container runs.
 */
#ifndef SBX_DOCKER_NETWORK_H
#define SBX_DOCKER_NETWORK_H

#include "docker/container.h"
#include "docker/engine.h"

struct network_spec {
	const char *name;
	const char *subnet;  /* "10.219.0.0/29" */
	const char *gateway; /* "10.219.0.1" */
	const struct label *labels;
	size_t label_count;
};

/*
 * An internal one: nothing is forwarded, and the bridge has no address, so that
 * nobody is at the gateway (engines that do not know how to leave it out give
 * it to the bridge). ERR_CONFLICT where the name is taken, or the subnet is,
 * wholly or in part, by another network of the engine.
 */
int network_create(
    struct engine *en, const struct network_spec *spec, struct err *e);

/* Absent is success; ERR_CONFLICT where a container that runs is in it. */
int network_remove(struct engine *en, const char *name, struct err *e);

struct network_info {
	char *name;
	struct label *labels;
	size_t label_count;
};

struct network_list {
	struct network_info *item;
	size_t count;
};

void network_list_release(struct network_list *list);

/* All that carry label key=value. */
int network_list(struct engine *en, const char *key, const char *value,
    struct network_list *ret_list, struct err *e);

#endif
