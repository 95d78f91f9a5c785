/* Server-sent event frames. */
#include "http/sse.h"

#include <string.h>

void
sse_event(struct buf *out, const char *name, const char *data, size_t size)
{
	buf_adds(out, "event: ");
	buf_adds(out, name);
	buf_addc(out, '\n');
	for (;;) {
		const char *lf = size > 0 ? memchr(data, '\n', size) : NULL;
		size_t piece = lf != NULL ? (size_t)(lf - data) : size;

		buf_adds(out, "data: ");
		buf_add(out, data, piece);
		buf_addc(out, '\n');
		if (lf == NULL)
			break;
		data += piece + 1;
		size -= piece + 1;
	}
	buf_addc(out, '\n');
}

void
sse_comment(struct buf *out, const char *text)
{
	buf_adds(out, ": ");
	buf_adds(out, text);
	buf_adds(out, "\n\n");
}
