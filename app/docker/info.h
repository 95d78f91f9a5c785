/*
 * What the engine says of itself and of its host (GET /info).
 */
#ifndef SBX_DOCKER_INFO_H
#define SBX_DOCKER_INFO_H

#include "docker/engine.h"

struct engine_info {
	char version[64], driver[64]; /* of the engine, of its storage */
	char cgroup[16];   /* version of cgroups, "" where not told */
	char runtime[128]; /* its default one */
	char root[4096];   /* where its data are */
	bool rootless, userns_remap, live_restore;
	bool limits_memory, limits_swap, limits_pids, limits_cpu;
	bool has_runtime; /* the one that was asked for */
};

/* runtime: the name of an OCI runtime, or "" for the default. */
int engine_info(struct engine *en, const char *runtime,
    struct engine_info *ret_info, struct err *e);

#endif
