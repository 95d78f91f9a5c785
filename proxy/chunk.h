/*
 * Following a chunked body (RFC 9112 7.1) without changing it: where it ends,
 * and whether every reader would agree. Pure; the same however it is cut.
 *
 * Refused: sizes that are empty, signed, spaced, of more than 16 digits or over
 * 2^31-1, chunk data not ended by CRLF, bare LF or CR and other controls,
 * extensions or trailers over CHUNK_EXTRA bytes, trailer fields that a head
 * would refuse, or that name framing, routing, the connection, credentials or
 * the coding of the content (RFC 9110 6.5.1).
 */
#ifndef SBX_PROXY_CHUNK_H
#define SBX_PROXY_CHUNK_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_EXTRA 4096u

struct chunk {
	int state;	  /* chunk.c's */
	uint64_t left;	  /* of the data of this chunk */
	uint32_t extra;	  /* bytes of extensions and trailers so far */
	uint32_t line;	  /* digits of this size; bytes of this name */
	uint64_t content; /* bytes of data so far */
	char name[32];	  /* of this trailer, as far as it matters */
};

#define CHUNK_INIT \
	{          \
		0  \
	}

/* How many of these bytes belong to the body; *ret_done: it ends with them. -1
 * where it is malformed, and from then on: the bytes before are not to be
 * trusted either. */
long chunk_feed(
    struct chunk *c, const char *bytes, size_t size, bool *ret_done);

/* The same; the data alone, without sizes, extensions and trailers, goes to
 * plain as well (for who knows no chunks). No more than size bytes. */
long chunk_plain(struct chunk *c, const char *bytes, size_t size,
    struct buf *plain, bool *ret_done);

#endif
