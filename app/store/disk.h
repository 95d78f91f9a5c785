/*
 * What is held of the disk, as the reaper found it: by each run, in its record
 * (store/run.h), and by everything else.
 *
 *	sbx:disk	hash: figures by name (usage_read has them too), lapses
 *			ten minutes after the last
 */
#ifndef SBX_STORE_DISK_H
#define SBX_STORE_DISK_H

#include "lib/err.h"
#include "store/counters.h"
#include "store/redis.h"

#include <stdbool.h>
#include <stdint.h>

/* Why the reaper ends a run that holds too much; its exit.reason. */
#define DISK_LIMIT "disk-limit"

struct disk_use {
	int64_t bytes;
	int64_t cache; /* of these, on the disk of the warm cache */
	bool warned;   /* more than SBX_RUN_DISK_WARN_GB */
	bool over;     /* more than SBX_RUN_DISK_MAX_GB */
};

/*
 * Into the record of a run that is running or has exited. Where it is over and
 * runs, its end from now on has DISK_LIMIT for a reason: the caller kills it.
 * *ret_news: it is flagged, and was not before. No effect on other runs.
 */
int disk_note_run(struct redis *r, const char *id, const struct disk_use *use,
    bool *ret_news, struct err *e);

/* These figures; others stay as they are. */
int disk_note_box(
    struct redis *r, const struct figure *figures, size_t count, struct err *e);

#endif
