/*
 * Files that have several names, for lib/tree alone: which inodes were met,
 * and for a copy the place of the first name each. Only what has more than one
 * link need be told.
 */
#ifndef SBX_LIB_TREE_LINKS_H
#define SBX_LIB_TREE_LINKS_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LINKS_MAX (1u << 21) /* inodes; 72 MiB */

struct links {
	struct links_slot *slot;
	size_t count, room;
	struct links_node *node; /* places: a name, and the directory's node */
	size_t nodes, node_room;
	struct buf names;
};

#define LINKS_INIT                                           \
	{                                                    \
		NULL, 0, 0, NULL, 0, 0, BUF_INIT(256u << 20) \
	}

void links_release(struct links *l);

/* Whether it was met; its place. */
bool links_find(
    const struct links *l, dev_t dev, ino_t ino, unsigned *ret_place);

/* It was not met before. False where there are too many. */
bool links_add(struct links *l, dev_t dev, ino_t ino, unsigned place);

/* A new place: that name in that place; 0 is the root. 0 where there are too
 * many. */
unsigned links_place(struct links *l, unsigned dir, const char *name);

/* Link what is at that place below root as name in dir. Errno. */
int links_make(
    const struct links *l, int root, unsigned place, int dir, const char *name);

#endif
