/*
 * proxy/chunk: the same end, data or fault however the body is cut; the data
 * that it holds, put into one chunk, reads as the same. The first byte chooses
 * the size of the pieces.
 */
#include "../../proxy/chunk.h"
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where it ends; -1 where it is refused, -2 where it has not ended. */
static long
follow(const char *bytes, size_t size, size_t step, struct buf *plain)
{
	struct chunk c = CHUNK_INIT;
	bool done = false;
	size_t at = 0;

	while (at < size && !done) {
		size_t part = size - at < step ? size - at : step;
		/* A copy of its own, so that a sanitizer sees the end. */
		char *copy = mem_alloc(part);

		memcpy(copy, bytes + at, part);
		long got = chunk_plain(&c, copy, part, plain, &done);
		free(copy);
		if (got < 0)
			return -1;
		if ((size_t)got > part || (!done && (size_t)got < part))
			abort();
		at += (size_t)got;
	}
	if (c.content != plain->size)
		abort();
	return done ? (long)at : -2;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	const char *bytes = (const char *)data + 1;
	BUF_AUTO one = BUF_INIT(size);
	BUF_AUTO two = BUF_INIT(size);
	long whole = follow(bytes, size - 1, size, &one);
	long parts = follow(bytes, size - 1, 1u + data[0], &two);

	if (whole != parts)
		abort();
	if (whole == -1)
		return 0;
	if (one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
		abort();
	BUF_AUTO again = BUF_INIT(size + 100);
	if (one.size > 0) {
		buf_addf(&again, "%zx\r\n", one.size);
		buf_add(&again, one.data, one.size);
		buf_adds(&again, "\r\n");
	}
	buf_adds(&again, "0\r\n\r\n");
	buf_reset(&two);
	if (follow(again.data, again.size, 1u + data[0], &two) !=
		(long)again.size ||
	    one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
		abort();
	return 0;
}
