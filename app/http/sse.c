/* Server-sent event frames. */
#include "http/sse.h"

#include <string.h>

static void
add_line(struct buf *out, const char *line, size_t size)
{
	static const char field[] = "data: ";
	char *to = buf_grow(out, sizeof(field) + size);

	if (to == NULL)
		return;
	memcpy(to, field, sizeof(field) - 1);
	if (size > 0)
		memcpy(to + sizeof(field) - 1, line, size);
	to[sizeof(field) - 1 + size] = '\n';
	out->size += sizeof(field) + size;
}

void
sse_event(struct buf *out, const char *name, const char *data, size_t size)
{
	buf_adds(out, "event: ");
	buf_adds(out, name);
	buf_addc(out, '\n');
	for (;;) {
		const char *lf = size > 0 ? memchr(data, '\n', size) : NULL;
		size_t piece = lf != NULL ? (size_t)(lf - data) : size;

		add_line(out, data, piece);
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
