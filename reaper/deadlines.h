/*
 * The deadlines of all runs as of the last round, in memory and in a file.
 *
 * For the day on which Redis has lost its records: a container's labels tell
 * when its run was to end at first, this tells of extensions, and the file does
 * so to the next reaper. It is one line a run: id, then milliseconds.
 */
#ifndef SBX_REAPER_DEADLINES_H
#define SBX_REAPER_DEADLINES_H

#include "config.h"
#include "store/run.h"

struct deadlines {
	struct deadline *item; /* sorted by id */
	size_t count;
};

void deadlines_release(struct deadlines *d);

/* Read SBX_RUN_DIR/deadlines. No file is success, a line that makes no sense
 * is passed over. */
int deadlines_load(
    struct deadlines *d, const struct config *config, struct err *e);

/* Replace them by those of these runs, which are sorted by id, and write the
 * file where that changes anything. */
int deadlines_keep(struct deadlines *d, const struct run *run, size_t count,
    const struct config *config, struct err *e);

/* In ms on Redis' clock, or 0 where it is not known. */
int64_t deadlines_find(const struct deadlines *d, const char *id);

#endif
