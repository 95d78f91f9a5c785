/*
 * One file's bytes and attributes, copied exactly; for lib/tree alone. All
 * tell errors in errno.
 */
#ifndef SBX_LIB_TREE_FILE_H
#define SBX_LIB_TREE_FILE_H

#include "lib/tree.h"

#include <stdbool.h>
#include <sys/stat.h>

/* What the kernel turned out not to do between these two places. */
struct tree_file {
	const struct tree_watch *watch;
	char *bytes; /* TREE_FILE_BYTES */
	char *value; /* of an attribute */
	bool no_clone, no_range;
};

void tree_file_init(struct tree_file *f, const struct tree_watch *watch);
void tree_file_release(struct tree_file *f);

/* What is in from, of which st tells, into the new file to, holes left out. At
 * most st's size: a file that grows has an end. One that shrinks is what it
 * was on the way. ECANCELED where the watch says so. */
int tree_file_bytes(
    struct tree_file *f, int from, int to, const struct stat *st);

/* Owner, extended attributes, mode and times, in the order in which none of
 * them undoes another. Of files and directories; nothing is written after. */
int tree_file_attributes(
    struct tree_file *f, int from, int to, const struct stat *st);

#endif
