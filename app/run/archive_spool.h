/*
 * Bytes on their way from the engine, which holds a container for as long as it
 * is read from, to a caller, who may be slow: a part of them at a time is kept
 * in a file without a name. The engine is let go before the caller gets the
 * first byte of a part; for the next part everything is made again, what was
 * had is dropped, and a bigger part kept: a container that has ended tells the
 * same twice. Of run/archive*.c alone.
 */
#ifndef SBX_RUN_ARCHIVE_SPOOL_H
#define SBX_RUN_ARCHIVE_SPOOL_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

struct spool;

/* Make all bytes, from the first, and spool_put them: returns 0 once all were
 * put, 1 where spool_put returned 1, -1. */
typedef int (*spool_fill)(void *arg, struct spool *s, struct err *e);

/* Kept in dir. Of what fill makes, bytes from offset on, at most size. */
struct spool *spool_new(const char *dir, spool_fill fill, void *arg,
    uint64_t offset, uint64_t size);
void spool_free(struct spool *s); /* takes NULL */

/* For fill alone: 0 to go on, 1 where that is enough, -1. */
int spool_put(struct spool *s, const char *bytes, size_t size, struct err *e);

/* The next bytes, 1, valid until the next call; 0 after the last one. */
int spool_next(
    struct spool *s, const char **ret_bytes, size_t *ret_size, struct err *e);

/* The next byte would be this one of what fill makes. */
uint64_t spool_at(const struct spool *s);

#endif
