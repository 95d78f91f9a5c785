/*
 * Descriptors that close themselves, and whole reads and writes.
 */
#ifndef SBX_LIB_FD_H
#define SBX_LIB_FD_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

#define FD_AUTO __attribute__((cleanup(fd_close))) int

void fd_close(int *fd); /* closes *fd where it is >= 0, sets it to -1 */
int fd_take(int *fd);	/* hands *fd over and sets it to -1 */

/* Close everything from that descriptor on. */
void fd_close_from(int lowest);

int fd_set_nonblock(int fd, int on); /* 0, or -1 with errno */

/* A path that begins with "@" is no file but an abstract name (unix(7)), open
 * to every user of the network namespace. */

/* A connected SOCK_STREAM unix socket, close-on-exec, blocking; or -1. Waits
 * no longer than timeout_ms for a full backlog. */
int fd_connect_unix(const char *path, int timeout_ms, struct err *e);

/* A listening one with that mode, close-on-exec, non-blocking. A stale socket
 * file at path is replaced; anything else there is an error. */
int fd_listen_unix(const char *path, unsigned mode, int backlog, struct err *e);

/* Write all of it, polling up to the CLOCK_MONOTONIC deadline in ms. */
int fd_write_all(
    int fd, const void *bytes, size_t size, int64_t deadline, struct err *e);

/* Read a whole small file; more than max bytes is an error. The result ends
 * with a NUL; the caller frees it. ret_size may be NULL. */
char *fd_read_file(
    const char *path, size_t max, size_t *ret_size, struct err *e);

/* Replace path by these bytes atomically: temporary name, fsync, rename. */
int fd_write_file(const char *path, unsigned mode, const void *bytes,
    size_t size, struct err *e);

#endif
