/*
 * UTF-8 made valid as it passes, by the rules of the WHATWG Encoding Standard
 * (each maximal invalid part becomes one U+FFFD).
 *
 * Pure: bytes in, bytes out, the only state is the held-back tail of a
 * character that is not complete yet (at most 3 bytes). The output is the same
 * however the input is cut.
 */
#ifndef SBX_LIB_UTF8_H
#define SBX_LIB_UTF8_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct utf8 {
	unsigned char held[4];
	unsigned char count, need, low, high;
};

#define UTF8_INIT                     \
	{                             \
		{0}, 0, 0, 0x80, 0xbf \
	}

/* Append the valid text of bytes to out, holding an incomplete tail back. */
void utf8_feed(struct utf8 *u, const void *bytes, size_t size, struct buf *out);

/* End of input: a held-back tail becomes one U+FFFD. */
void utf8_end(struct utf8 *u, struct buf *out);

/* True where all of the bytes are valid UTF-8. */
bool utf8_valid(const void *bytes, size_t size);

#endif
