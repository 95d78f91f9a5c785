/* Bytes as text. */
#include "lib/base64.h"

void
base64_put(struct buf *out, const char *bytes, size_t size)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes;
	char *to = buf_grow(out, (size + 2) / 3 * 4);

	if (to == NULL)
		return;
	out->size += (size + 2) / 3 * 4;
	for (; size >= 3; size -= 3, p += 3) {
		*to++ = digit[p[0] >> 2];
		*to++ = digit[(p[0] & 3) << 4 | p[1] >> 4];
		*to++ = digit[(p[1] & 15) << 2 | p[2] >> 6];
		*to++ = digit[p[2] & 63];
	}
	if (size == 0)
		return;
	unsigned second = size > 1 ? p[1] : 0u;
	*to++ = digit[p[0] >> 2];
	*to++ = digit[(p[0] & 3u) << 4 | second >> 4];
	*to++ = size > 1 ? digit[(second & 15u) << 2] : '=';
	*to++ = '=';
}
