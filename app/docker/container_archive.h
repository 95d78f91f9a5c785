/*
 * Files of a container, running or not, as the engine's archive of its file
 * system gives them: what is at a path, and what is in it.
 *
 * The engine follows links on the way to a path, but not one in its last place:
 * who must not leave a directory asks for one name after the other. For as long
 * as an archive is open it holds the container: whoever wants to look at it, at
 * another file of it, or to remove it, waits (moby, daemon/archive.go).
 */
#ifndef SBX_DOCKER_CONTAINER_ARCHIVE_H
#define SBX_DOCKER_CONTAINER_ARCHIVE_H

#include "docker/engine.h"
#include "lib/tar.h"

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

/*
 * What is at that path and below it, in the order of names and as lib/tar.h
 * tells it; names are below the path, "" is the path itself. Hard links to
 * something else of it are told as such; links are as they are in the
 * container; sockets are left out by the engine.
 */
struct container_archive;
struct container_archive *container_archive_open(struct engine *en,
    const char *id, const char *path, const struct container_wait *wait,
    struct err *e);
void container_archive_free(struct container_archive *a); /* takes NULL */

/* TAR_HEADER with an entry, TAR_CONTENT with some bytes of it, or TAR_END, all
 * valid until the next call; -1: also where the engine broke off. */
int container_archive_next(struct container_archive *a,
    struct tar_entry *ret_entry, const char **ret_bytes, size_t *ret_size,
    struct err *e);

#endif
