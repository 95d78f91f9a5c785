/*
 * The path of a request target, decoded exactly once (CONTRACT: Conventions).
 */
#ifndef SBX_LIB_PATH_H
#define SBX_LIB_PATH_H

#include "lib/err.h"

#include <stddef.h>

/*
 * Percent-decode size bytes (RFC 3986 2.1) into to, which has room for
 * size + 1, and end it with a NUL. ERR_PATH on a bad escape or a NUL.
 */
int path_decode(const char *from, size_t size, char *to, struct err *e);

/*
 * Take a decoded path apart: leading '/', then segments. Refuses `.`, `..`
 * and empty segments (so also a trailing '/'), more than max of them, and
 * anything not starting with '/'. "/" has none. Writes NULs over the slashes
 * and fills seg[]; returns the count, or -1 with ERR_PATH.
 */
int path_split(char *path, char **seg, int max, struct err *e);

#endif
