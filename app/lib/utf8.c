/* The UTF-8 decoder of the WHATWG Encoding Standard, 8.1.1, as a filter. */
#include "lib/utf8.h"

#include <stdint.h>
#include <string.h>

static void
forget(struct utf8 *u)
{
	u->count = u->need = 0;
	u->low = 0x80;
	u->high = 0xbf;
}

static void
replace(struct utf8 *u, struct buf *out)
{
	forget(u);
	buf_add(out, "\xef\xbf\xbd", 3);
}

/* A first byte that is not ASCII: how many follow, and the second's range. */
static bool
lead(struct utf8 *u, unsigned char c)
{
	if (c >= 0xc2 && c <= 0xdf) {
		u->need = 1;
	} else if (c >= 0xe0 && c <= 0xef) {
		u->need = 2;
		u->low = c == 0xe0 ? 0xa0 : 0x80;  /* no overlong */
		u->high = c == 0xed ? 0x9f : 0xbf; /* no surrogate */
	} else if (c >= 0xf0 && c <= 0xf4) {
		u->need = 3;
		u->low = c == 0xf0 ? 0x90 : 0x80;
		u->high = c == 0xf4 ? 0x8f : 0xbf; /* <= U+10FFFF */
	} else {
		return false;
	}
	u->held[0] = c;
	u->count = 1;
	return true;
}

/* One byte while a character is open. False: look at it again from fresh. */
static bool
follow(struct utf8 *u, unsigned char c, struct buf *out)
{
	if (c < u->low || c > u->high) {
		replace(u, out);
		return false;
	}
	u->low = 0x80;
	u->high = 0xbf;
	u->held[u->count++] = c;
	if (u->count == u->need + 1) {
		buf_add(out, u->held, u->count);
		forget(u);
	}
	return true;
}

/* The first byte that is not ASCII, or end. Most output is ASCII alone: eight
 * bytes at a time. */
static const unsigned char *
skip_ascii(const unsigned char *p, const unsigned char *end)
{
	for (uint64_t word; end - p >= 8; p += 8) {
		memcpy(&word, p, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	while (p < end && *p < 0x80)
		p++;
	return p;
}

void
utf8_feed(struct utf8 *u, const void *bytes, size_t size, struct buf *out)
{
	const unsigned char *p = bytes, *end = p + size;

	/* At once, and not piece by piece. */
	if (size <= out->max - out->size)
		(void)buf_grow(out, size);
	while (p < end) {
		if (u->need > 0) {
			if (follow(u, *p, out))
				p++;
			continue;
		}
		const unsigned char *start = p;
		p = skip_ascii(p, end);
		buf_add(out, start, (size_t)(p - start));
		if (p < end && !lead(u, *p++))
			replace(u, out);
	}
}

void
utf8_end(struct utf8 *u, struct buf *out)
{
	if (u->need > 0)
		replace(u, out);
}

bool
utf8_valid(const void *bytes, size_t size)
{
	struct utf8 u = UTF8_INIT;
	const unsigned char *p = bytes;
	char scratch[8] = "";

	for (size_t i = 0; i < size; i++) {
		struct buf out = {scratch, 0, sizeof(scratch), 4, false};

		if (u.need == 0 && p[i] < 0x80)
			continue;
		if (u.need == 0 ? !lead(&u, p[i]) : !follow(&u, p[i], &out))
			return false;
	}
	return u.need == 0;
}
