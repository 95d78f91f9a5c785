/*
 * A growing byte buffer with a ceiling.
 *
 * data is always followed by a NUL that size does not count, so text can be
 * printed. Going over max sets `over` and drops what does not fit: check it
 * once at the end. Initialise with BUF_INIT(max), free with buf_release (or
 * declare it BUF_AUTO).
 */
#ifndef SBX_LIB_BUF_H
#define SBX_LIB_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL */
	size_t size, room, max;
	bool over;
};

extern char buf_empty[1];

#define BUF_INIT(max_)                         \
	{                                      \
		buf_empty, 0, 0, (max_), false \
	}
#define BUF_AUTO __attribute__((cleanup(buf_release))) struct buf

void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* size 0, memory kept */
void buf_add(struct buf *b, const void *bytes, size_t size);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Make room for size more bytes and return where they go, or NULL where that
 * would pass max (and set over). The caller then adds to b->size. */
char *buf_grow(struct buf *b, size_t size);

/* Drop the first size bytes. */
void buf_drop(struct buf *b, size_t size);

/* Hand the bytes over: the caller frees the result; *b is empty again. */
char *buf_take(struct buf *b);

#endif
