/* Base64, read and written. */
#include "lib/base64.h"

#include <string.h>

#define LETTERS                      \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789"

static const char standard[] = LETTERS "+/"; /* section 4 */
static const char for_urls[] = LETTERS "-_"; /* section 5 */

int
base64_decode(const char *text, struct buf *to)
{
	unsigned bits = 0, held = 0;

	for (; *text != '\0' && *text != '='; text++) {
		const char *at = strchr(standard, *text);

		if (at == NULL)
			return -1;
		held = held << 6 | (unsigned)(at - standard);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buf_addc(to, (char)(held >> bits & 0xff));
			held &= (1u << bits) - 1;
		}
	}
	return text[strspn(text, "=")] == '\0' && !to->over ? 0 : -1;
}

static void
encode(const char *alphabet, const char *bytes, size_t size, struct buf *to)
{
	char *p = buf_grow(to, (size + 2) / 3 * 4);

	if (p == NULL)
		return;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		unsigned held = 0;

		for (size_t k = 0; k < 3; k++)
			held = held << 8 |
			       (k < left ? (unsigned char)bytes[i + k] : 0u);
		for (size_t k = 0; k < 4; k++)
			*p++ = k > left ? '='
					: alphabet[held >> (18 - 6 * k) & 63];
	}
	to->size += (size + 2) / 3 * 4;
}

void
base64_encode(const char *bytes, size_t size, struct buf *to)
{
	encode(standard, bytes, size, to);
}

void
base64url_encode(const char *bytes, size_t size, struct buf *to)
{
	encode(for_urls, bytes, size, to);
}
