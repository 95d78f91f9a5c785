/*
 * The way to the socket of a run's init (DESIGN 4): a file in a directory that
 * root of the run may do to what it likes.
 *
 * What is opened is only ever a socket in that very directory, and what is
 * behind it only ever the run's own PID 1: a run cannot make the host speak to
 * anything else.
 */
#ifndef SBX_GUEST_SOCKET_H
#define SBX_GUEST_SOCKET_H

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Connect to dir's socket, whose owner must be the process pid. The descriptor
 * is close-on-exec and blocking. ERR_GUEST, with a sentence that names no path,
 * where there is none, or not such a one, or no room within timeout_ms.
 */
int socket_open(const char *dir, int64_t pid, int timeout_ms, struct err *e);

/* It is known that no such process listens there: the socket was removed, or
 * something else is in its place. */
bool socket_is_spoilt(const char *dir, int64_t pid);

#endif
