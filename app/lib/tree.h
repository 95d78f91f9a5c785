/*
 * Directory trees that somebody hostile may own, and be changing: copied
 * exactly, measured, removed.
 *
 * Walked by directory descriptors, a name at a time, no link ever followed; a
 * file is opened O_NONBLOCK|O_NOFOLLOW and looked at after it is open, so that
 * no fifo hangs and no device is touched. What vanishes or is swapped meanwhile
 * is left out. Depth and breadth cost descriptors and memory within bounds: 36
 * descriptors at most, and hard links are remembered by inode (2 million of
 * them; beyond, a copy is ERR_TOO_LARGE). Errors name what it was about, by its
 * path in the tree. Used as root on the host, and by sbx-init in a staging
 * container.
 */
#ifndef SBX_LIB_TREE_H
#define SBX_LIB_TREE_H

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TREE_DEPTH 1000 /* of a copy: deeper is ERR_TOO_LARGE */

struct tree_sum {
	int64_t bytes;	 /* allocated, each inode once; directories along */
	int64_t entries; /* names, the root not counted; of a copy, copied */
	int64_t skipped; /* sockets, fifos, devices: not copied; and what
			  * another file system is mounted on */
};

/* Asked every 64 entries and every 8 MiB within a file; true ends the walk with
 * ERR_GONE_AWAY. May be NULL. */
struct tree_watch {
	bool (*gone)(void *arg);
	void *arg;
};

/*
 * Copy everything below from into the empty directory to (both open, any
 * flags): types, modes with set-id bits, owners, times in nanoseconds, symbolic
 * links of any length, hard links among each other, holes, extended attributes
 * (user.*, security.*, ACLs; never trusted.*, which is overlayfs' own), names
 * with any byte, empty and unreadable directories; the root's own owner, mode,
 * times and attributes too. By reflink or copy_file_range where the kernel can.
 * Another file system mounted below from is not entered. Nothing is flushed to
 * disk: the caller does (syncfs). On failure what was copied stays: the caller
 * removes it. ERR_FILE_SPACE where the disk is full; ERR_CONFLICT where a
 * directory was moved while it was walked, or a process has a lease on a file.
 */
int tree_copy(int from, int to, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e);

/* Owner, mode, times and attributes of one directory, to another. */
int tree_dress(int from, int to, struct err *e);

/* What is below dir, itself included, to any depth up to a million, in that
 * file system. What vanishes meanwhile is not an error. On failure *ret_sum is
 * what was seen till then. */
int tree_measure(int dir, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e);

/* Remove name in dir with everything below it, immutable files and unreadable
 * directories included; absent is success. Goes on past what fails, and then
 * tells the first. Any depth; does not leave the file system that name is on.
 * Two at once, or somebody who fills it meanwhile, do not disturb it. */
int tree_remove(
    int dir, const char *name, const struct tree_watch *watch, struct err *e);

/* Remove everything below dir, which stays. */
int tree_empty(int dir, const struct tree_watch *watch, struct err *e);

#endif
