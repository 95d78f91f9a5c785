/*
 * What an exec said last, in memory that its supervisor shares with PID 1 and
 * with the processes that read it.
 *
 * One writer, which waits for nobody, and any number of readers, which never
 * disturb each other nor it: each finds out by itself that what it just read
 * was overwritten meanwhile. An offset counts bytes of both streams together,
 * from 0 at the exec's start.
 */
#ifndef SBX_INIT_RING_H
#define SBX_INIT_RING_H

#include "lib/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BYTES (1u << 20)			  /* of output, at most */
#define RING_MEMORY (RING_BYTES + RING_BYTES / 8) /* with what is beside it */

struct ring;

/* PID 1's, before it forks who uses it. Takes memory only as it is filled.
 * NULL: there is none. */
struct ring *ring_new(void);
void ring_free(struct ring *r); /* this process' view of it */

/* Take so many bytes of memory at most, RING_MEMORY without this; the writer
 * sees to that when it writes or trims. True where it may have to. */
bool ring_limit(struct ring *r, uint64_t memory);
uint64_t ring_used(const struct ring *r); /* of that */

/* How the exec ended; its output is complete. Of several calls the first
 * counts. */
struct ring_end {
	struct wire_exit exit;
	int64_t wall_ms, mono_ms;
};
void ring_finish(struct ring *r, const struct ring_end *end);
bool ring_finished(const struct ring *r, struct ring_end *ret_end);

/* The oldest byte kept, and past the last. */
uint64_t ring_first(const struct ring *r);
uint64_t ring_last(const struct ring *r);

/* -- the writer's -- */

void ring_put(
    struct ring *r, enum wire_type stream, const char *bytes, size_t size);
void ring_trim(struct ring *r);

/* -- a reader's -- */

/* Copy what one stream said at *offset, or at the first byte that is kept
 * still: moves *offset there, and leaves it before the copy. 0: not yet. */
size_t ring_get(const struct ring *r, uint64_t *offset, char *to, size_t max,
    enum wire_type *ret_stream);

/* Until there is something at offset, or nothing will be; or for so long. */
void ring_wait(struct ring *r, uint64_t offset, int ms);

#endif
