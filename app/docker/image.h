/*
 * Images: is it here, pull it, what does its configuration say.
 */
#ifndef SBX_DOCKER_IMAGE_H
#define SBX_DOCKER_IMAGE_H

#include "docker/engine.h"

#include <stdint.h>

struct image_info {
	char *id;	  /* sha256:... */
	char *user;	  /* "" is root */
	bool healthcheck; /* it has one that could run */
	bool working_dir; /* it names one */
	int64_t layers, bytes;
	char *config; /* its Config, JSON text */
};

void image_info_release(struct image_info *info);

/* ERR_IMAGE_ABSENT where it is not here; ERR_INPUT where the reference is not
 * one (the engine's 400). */
int image_inspect(struct engine *en, const char *reference,
    struct image_info *ret_info, struct err *e);

/* What the puller tells while it works. current and total are bytes summed
 * over the layers known so far, total 0 while unknown. Return -1 to stop. */
struct image_pull {
	const char *docker_config; /* path of a config.json, or "" */
	int (*progress)(void *arg, int64_t current, int64_t total);
	bool (*gone)(void *arg); /* may be NULL */
	void *arg;
};

/*
 * Pull. ERR_IMAGE_ABSENT: the registry has no such image, or hides it without
 * credentials; ERR_REGISTRY: it cannot be reached, or failed; ERR_INPUT: not a
 * reference; ERR_GONE_AWAY: stopped by progress or gone. The reference is used
 * as Docker would: no tag means `latest`. Gives up after 2 minutes without any
 * word from the engine.
 */
int image_pull(struct engine *en, const char *reference,
    const struct image_pull *how, struct err *e);

#endif
