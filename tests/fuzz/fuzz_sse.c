/*
 * http/sse: a client that joins the data lines of an event with LF has the
 * data back, byte for byte, and sees exactly one event.
 */
#include "http/sse.h"
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "event: stdout\n";
static const char mark[] = "data: ";

/* What the contract's client makes of a frame. */
static void
read_event(const char *at, size_t size, struct buf *to)
{
	const char *end = at + size;

	if (size < sizeof(head) || memcmp(at, head, sizeof(head) - 1) != 0)
		abort();
	at += sizeof(head) - 1;
	for (bool first = true; *at != '\n'; first = false) {
		if ((size_t)(end - at) < sizeof(mark) ||
		    memcmp(at, mark, sizeof(mark) - 1) != 0)
			abort();
		at += sizeof(mark) - 1;
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		if (lf == NULL)
			abort();
		if (!first)
			buf_addc(to, '\n');
		buf_add(to, at, (size_t)(lf - at));
		at = lf + 1;
	}
	if (at + 1 != end)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf frame = BUF_INIT(8 * size + 64);
	struct buf back = BUF_INIT(size + 1);

	sse_event(&frame, "stdout", (const char *)data, size);
	if (frame.over)
		abort();
	read_event(frame.data, frame.size, &back);
	if (back.size != size || (size > 0 && memcmp(back.data, data, size)))
		abort();
	buf_release(&frame);
	buf_release(&back);
	return 0;
}
