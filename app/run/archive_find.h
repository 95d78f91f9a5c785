/*
 * Where a path below FILES_ROOT leads in a container that has ended: one name
 * after the other, links followed here and never out of FILES_ROOT (as
 * init/beneath.h does in a run). Of run/archive*.c alone.
 */
#ifndef SBX_RUN_ARCHIVE_FIND_H
#define SBX_RUN_ARCHIVE_FIND_H

#include "docker/container_archive.h"
#include "lib/wire_file.h"
#include "run/context.h"
#include "run/place.h"

#include <stdbool.h>

/* Whose files, and who asks. */
struct archive_of {
	const struct run_ctx *ctx;
	char run[ULID_SIZE], container[RUN_NAME_SIZE];
	struct wire_file request; /* path, what and root, for sentences */
	int other_fd;		  /* struct guest_patience */
	/* Whoever destroys the run waits for what is read: it is looked for
	 * every now and then, and given way to. */
	int64_t look_at;
	bool destroyed;
};

/* Something in the container. */
struct archive_file {
	struct buf path; /* absolute, no link on the way */
	struct container_stat stat;
	struct buf target; /* of a link */
};

#define ARCHIVE_FILE_INIT                                                \
	{                                                                \
		BUF_INIT(WIRE_PATH_MAX), {CONTAINER_DIRECTORY, 0, 0, 0}, \
		    BUF_INIT(WIRE_PATH_MAX)                              \
	}

void archive_file_release(struct archive_file *f);

/* Why not, in the words that a run's init would cause. Returns -1. */
int archive_refused(
    const struct archive_of *of, enum wire_fail why, struct err *e);

/* For a call: it is given up with ERR_GONE_AWAY where the caller left, or the
 * run is being destroyed. */
struct container_wait archive_wait(
    struct archive_of *of, int timeout_ms, int idle_ms);

/* What is at f->path itself: fills the rest. ERR_RUN_ABSENT where the container
 * is gone, ERR_FILE_ABSENT where the path is not there. */
int archive_look(struct archive_of *of, struct archive_file *f, struct err *e);

/* What the request's path leads to, where follow says so also through a link in
 * the last place. f is as ARCHIVE_FILE_INIT. */
int archive_find(
    struct archive_of *of, bool follow, struct archive_file *f, struct err *e);

#endif
