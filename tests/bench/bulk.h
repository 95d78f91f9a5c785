/*
 * A tree of 30,000 files, 1 GiB, and a stack that has it in runs, templates and
 * images; all on the engine's disk.
 *
 * Where much was deleted, ext4 looks for inodes that were not in use just now,
 * for minutes: who creates 30,000 then takes five times as long. So what is
 * that large stays until the end, or the disk is let settle.
 */
#ifndef SBX_BENCH_BULK_H
#define SBX_BENCH_BULK_H

#include "../e2e/harness.h"
#include "measure.h"

#define BULK_COPIES 2 /* rounds of what is that large */

extern struct bulk {
	char dir[64];	  /* of everything: source, cache, copies */
	char source[128]; /* the tree */
	char docker[128]; /* docker -H */
} bulk;

/* Group setup and teardown: the stack, whose reaper leaves all alone until the
 * end, and the tree. */
int bulk_open(void **state);
int bulk_close(void **state);

/* A tree of so many directories of a hundred such files, in a directory that is
 * made. */
void bulk_tree(const char *path, int dirs);

/* ms of `cp -a` of such a tree into a directory that is there. */
double bulk_copy(const char *from, const char *to);

/* A run without a template that has a tree in its volume; it stays. */
void bulk_run(const char *repo, const char *tree, char ret_id[ULID_SIZE]);

/* Where the engine has the warm volume of a run. */
void bulk_volume(const char *id, char to[256]);

/* It stays until all is measured. */
void bulk_keep_run(const char *id);
void bulk_keep_image(const char *image);

/* Nothing waits to be written, no deletion is remembered, and what is below
 * path is in memory. */
void bulk_settle(const char *path);

double bulk_since(int64_t start_us); /* ms */

/* Medians, in ms; ours is to be at most so many times the other, 0: any. */
void bulk_row(const char *measure, const struct contender *ours,
    const struct contender *beside, double times, const char *name);

#endif
