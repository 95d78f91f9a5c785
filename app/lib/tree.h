/*
 * Directory trees that somebody hostile may own, and be changing: copied
 * exactly, measured, removed.
 *
 * Walked by directory descriptors, a name at a time, no link ever followed; a
 * file is opened O_NONBLOCK|O_NOFOLLOW and looked at after it is open, so that
 * no fifo hangs and no device is touched. Depth and breadth cost descriptors
 * and memory within bounds (TREE_DEPTH; hard links are remembered by inode).
 * Used as root on the host, and by sbx-init in a staging container.
 */
#ifndef SBX_LIB_TREE_H
#define SBX_LIB_TREE_H

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TREE_DEPTH 1000 /* deeper is ERR_TOO_LARGE */

struct tree_sum {
	int64_t bytes;	 /* allocated, each inode once; directories along */
	int64_t entries; /* all kinds, the root not counted */
	int64_t skipped; /* sockets, fifos, devices: not copied */
};

/* Asked between two entries and within large files; true ends the walk with
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
 * removes it. ERR_FILE_SPACE where the disk is full.
 */
int tree_copy(int from, int to, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e);

/* What is below dir, itself included. What vanishes meanwhile is not an error.
 */
int tree_measure(int dir, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e);

/* Remove name in dir with everything below it, immutable files and unreadable
 * directories included; absent is success. Goes on past what fails, and then
 * tells the first. Does not leave the file system that name is on. */
int tree_remove(
    int dir, const char *name, const struct tree_watch *watch, struct err *e);

/* Remove everything below dir, which stays. */
int tree_empty(int dir, const struct tree_watch *watch, struct err *e);

#endif
