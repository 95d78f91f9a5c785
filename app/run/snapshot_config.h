/*
 * What a snapshot's image says of itself: the configuration of the image that
 * the run was made of, to the letter, and labels of ours. Pure.
 */
#ifndef SBX_RUN_SNAPSHOT_CONFIG_H
#define SBX_RUN_SNAPSHOT_CONFIG_H

#include "docker/container.h"
#include "lib/arena.h"
#include "lib/err.h"

#include <stdbool.h>

struct snapshot_config {
	const char *base; /* the image's Config, JSON text */
	/* of the snapshot, over those of the base */
	const struct label *labels;
	size_t label_count;
	/* those of the container, which the engine would add: ours among them
	 * are made blank, as none can be left out */
	const struct label *inherited;
	size_t inherited_count;
};

/* A body for docker/commit.h. */
int snapshot_config(const struct snapshot_config *c, struct arena *a,
    const char **ret_json, struct err *e);

/* What the caller of a commit must know of a base. */
struct snapshot_base {
	bool has_user, has_working_dir;
	const char **volume; /* the image's, but warm_path; sorted */
	size_t volume_count;
	/* warm_path is at, below or above one of them. */
	bool warm_in_volume;
};

/* warm_path "" is none. */
int snapshot_base(const char *base, const char *warm_path, struct arena *a,
    struct snapshot_base *ret_base, struct err *e);

/* What of such an image's runs is in no snapshot: the volumes, and one more
 * path unless that is NULL. A JSON array. */
const char *snapshot_excludes(
    const struct snapshot_base *base, const char *more, struct arena *a);

#endif
