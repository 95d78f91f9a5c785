/*
 * Whether an open directory is the top of a certain overlay mount. What the
 * kernel says of mounts, and nothing of runs.
 */
#ifndef SBX_RUN_MOUNTED_H
#define SBX_RUN_MOUNTED_H

#include <stdbool.h>

/* fd is the root of an overlay (proc(5), mountinfo) with these two layers. */
bool mounted_overlay(int fd, const char *lower, const char *upper);

/* One line of mountinfo says: mount id is an overlay, seen from its root, with
 * these layers. The line is taken apart in place. Pure. */
bool mounted_line(char *line, int id, const char *lower, const char *upper);

#endif
