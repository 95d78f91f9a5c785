/*
 * http/record: a head is found at the same place whatever stands behind it, and
 * a body is the same however it is cut.
 *
 * The first byte is where a body is cut, the rest a connection's bytes.
 */
#include "http/record.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many bytes of the head were taken; 0 where there is none. */
static size_t
check_head(const char *bytes, size_t size, unsigned *ret_id)
{
	int64_t used = record_request(bytes, size, ret_id);

	if (used <= 0)
		return 0;
	if ((size_t)used > size ||
	    record_request(bytes, (size_t)used, ret_id) != used ||
	    record_request(bytes, (size_t)used - 1, ret_id) != 0)
		abort();
	return (size_t)used;
}

/* The content of a body that comes in two pieces; size -1 where it failed. */
static int64_t
squeeze(unsigned id, const char *bytes, size_t size, size_t cut, char *to)
{
	struct record_body b = {.id = id};

	memcpy(to, bytes, size);
	int64_t first = record_squeeze(&b, to, cut);
	if (first < 0)
		return -1;
	int64_t second = record_squeeze(&b, to + cut, size - cut);
	if (second < 0)
		return -1;
	memmove(to + first, to + cut, (size_t)second);
	return first + second;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned id = 1;

	if (size < 1)
		return 0;
	char *bytes = mem_strndup((const char *)data + 1, size - 1);
	size_t used = check_head(bytes, size - 1, &id), left = size - 1 - used;
	char *whole = mem_alloc(left + 1), *cut = mem_alloc(left + 1);
	int64_t n = squeeze(id, bytes + used, left, left, whole);
	if (squeeze(id, bytes + used, left, left > 0 ? data[0] % left : 0,
		cut) != n)
		abort();
	if (n > 0 && memcmp(whole, cut, (size_t)n) != 0)
		abort();
	free(bytes);
	free(whole);
	free(cut);
	return 0;
}
