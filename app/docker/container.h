/*
 * Containers: create, start, look, list, remove. Knows the engine's JSON, and
 * nothing of runs but what a spec says.
 */
#ifndef SBX_DOCKER_CONTAINER_H
#define SBX_DOCKER_CONTAINER_H

#include "docker/engine.h"

#include <stdint.h>

#define CONTAINER_ID_SIZE 65

struct label {
	const char *key, *value;
};

struct mount {
	const char *type;   /* "bind", "volume" or "tmpfs" */
	const char *source; /* host path, or volume name; NULL of a tmpfs */
	const char *target;
	bool readonly;
	bool no_copy;  /* of a volume: not filled from the image at first */
	int64_t bytes; /* of a tmpfs: its size */
	/* of a volume: where the engine has to make it anew */
	const struct label *labels;
	size_t label_count;
};

struct container_spec {
	const char *name, *image;
	const char *user;	       /* "" is the image's */
	const char *const *entrypoint; /* NULL-terminated */
	const char *working_dir;       /* NULL: the image's */
	bool no_healthcheck; /* the image has one, which is not to be run */
	const struct label *labels;
	size_t label_count;
	/* For the runtime; ignored where the API is older than 1.43. */
	const struct label *annotations;
	size_t annotation_count;
	const struct mount *mounts;
	size_t mount_count;
	const char *network; /* NetworkMode: "none", "bridge", one's name */
	const char *dns; /* of a named one: where names are asked for, within a
			  * second; NULL: the host's servers */
	const char *runtime;  /* or "" */
	int64_t memory_bytes; /* swap is set to the same: none extra */
	int64_t nano_cpus, pids, shm_bytes;
	const char *const *cap_drop; /* NULL-terminated */
	/* While the engine fills a volume from the image it may take longer
	 * than the usual minute (0); asked meanwhile, as in engine_call. */
	int timeout_ms;
	bool (*gone)(void *arg);
	void *gone_arg;
};

/* Create. ERR_ABSENT: no such image; ERR_CONFLICT: the name is taken, perhaps
 * by a create of ours that timed out; ERR_INPUT: the engine does not take the
 * image's name, the memory or the CPUs (400), with its words. */
int container_create(struct engine *en, const struct container_spec *spec,
    char ret_id[CONTAINER_ID_SIZE], struct err *e);

/* Start; already started is success. gone as in struct engine_call, or NULL. */
int container_start(struct engine *en, const char *id, bool (*gone)(void *arg),
    void *arg, struct err *e);

/* Freeze all that runs in it, and let it go on. ERR_ABSENT; ERR_CONFLICT where
 * it does not run; ERR_BUSY where something in there is deep in the kernel (a
 * sync, say), so that it did not freeze; being so already is success. */
int container_pause(struct engine *en, const char *id, struct err *e);
int container_unpause(struct engine *en, const char *id, struct err *e);

/* Wait until it has ended, for as long as that takes; gone as in struct
 * engine_call. ERR_ABSENT; ERR_GONE_AWAY. */
int container_wait(struct engine *en, const char *id, bool (*gone)(void *arg),
    void *arg, int64_t *ret_code, struct err *e);

/* Send a signal to PID 1. ERR_ABSENT; ERR_CONFLICT where it does not run. */
int container_signal(
    struct engine *en, const char *id, int signal_number, struct err *e);

struct container_info {
	char id[CONTAINER_ID_SIZE];
	char *name;	/* without the leading '/' */
	char *image;	/* as it was named on create */
	char *image_id; /* that it was made of; inspect only */
	char *runtime;	/* inspect only */
	char *
	    status; /* created running paused restarting removing exited dead */
	char *netns; /* path of its network namespace; inspect only, "" where
		      * there is none */
	struct label *labels;
	size_t label_count;
	bool running, oom_killed; /* inspect only */
	int64_t exit_code;	  /* inspect only */
	int64_t created_ms;
	int64_t finished_ms; /* inspect only, 0 where it did not */
	int64_t pid;	     /* inspect only, 0 where it does not run */
};

void container_info_release(struct container_info *info);
const char *container_label(const struct container_info *info, const char *key);

/* By id or name. ERR_ABSENT where there is none. */
int container_inspect(struct engine *en, const char *id,
    struct container_info *ret_info, struct err *e);

struct container_list {
	struct container_info *item;
	size_t count;
};

void container_list_release(struct container_list *list);

/* All containers, running or not, that carry label key=value. */
int container_list(struct engine *en, const char *key, const char *value,
    struct container_list *ret_list, struct err *e);

/*
 * Remove by force, anonymous volumes along; waits until it is gone. Absent is
 * success, "removal already in progress" waits for it (CONTRACT: 404 and "in
 * progress" are success in waiting).
 */
int container_remove(struct engine *en, const char *id, struct err *e);

#endif
