/*
 * Files of a container, running or not, as the engine's archive of its file
 * system gives them: what is there, and a path as a tar stream.
 *
 * The engine follows links on the way to a path, but not one in its last place:
 * who must not leave a directory asks for one name after the other. For as long
 * as a stream is open it holds the container: looking at it, asking for a stat
 * and removing it wait (moby, daemon/archive.go).
 */
#ifndef SBX_DOCKER_CONTAINER_ARCHIVE_H
#define SBX_DOCKER_CONTAINER_ARCHIVE_H

#include "docker/engine.h"

#include <stdint.h>

enum container_file {
	CONTAINER_FILE = 1,
	CONTAINER_DIRECTORY,
	CONTAINER_SYMLINK,
	CONTAINER_FIFO,
	CONTAINER_SOCKET,
	CONTAINER_DEVICE,
};

/* Of the path itself. Neither its name nor a link's target: the engine tells
 * these as JSON, which not every name survives, and the target resolved. */
struct container_stat {
	enum container_file type;
	uint32_t mode; /* 07777 */
	uint64_t size;
	int64_t mtime_ns;
};

/* Who waits, and how long: as in struct engine_call. */
struct container_wait {
	int timeout_ms, idle_ms;
	bool (*gone)(void *arg);
	void *arg;
};

/* ERR_ABSENT: there is no such path, or no such container. */
int container_archive_stat(struct engine *en, const char *id, const char *path,
    const struct container_wait *wait, struct container_stat *ret_stat,
    struct err *e);

/* The value of X-Docker-Container-Path-Stat. Pure. ERR_ENGINE where it is none.
 */
int container_archive_parse(
    const char *value, struct container_stat *ret_stat, struct err *e);

/* The tar archive of that path: its entries' names begin with its last name.
 * Taken with engine_stream_next. */
struct engine_stream *container_archive_open(struct engine *en, const char *id,
    const char *path, const struct container_wait *wait, struct err *e);

#endif
