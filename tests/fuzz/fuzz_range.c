/*
 * http/range: a part is never empty and never beyond the body; a date that is
 * read is the one that is written.
 *
 * The first 8 bytes of input are the body's size, the rest a header's value.
 */
#include "http/range.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_part(const char *value, uint64_t size)
{
	uint64_t offset, count;

	if (range_parse(value, size, &offset, &count) == RANGE_PART &&
	    (count == 0 || offset >= size || count > size - offset))
		abort();
}

static void
check_date(const char *value)
{
	char written[RANGE_DATE_SIZE];
	int64_t sec;

	if (range_date_parse(value, &sec) != 0)
		return;
	range_date(sec, written);
	if (strcmp(written, value) != 0 || !range_not_modified(value, sec) ||
	    range_not_modified(value, sec + 1))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t body;

	if (size < sizeof(body))
		return 0;
	memcpy(&body, data, sizeof(body));
	char *value =
	    mem_strndup((const char *)data + sizeof(body), size - sizeof(body));
	check_part(value, body);
	check_part(value, body % 64);
	check_date(value);
	if (range_none_match(value, "\"a\"") && strcmp(value, "*") != 0 &&
	    strstr(value, "\"a\"") == NULL)
		abort();
	if (range_if(value, "\"a\"") && *value != '\0' &&
	    strcmp(value, "\"a\"") != 0)
		abort();
	free(value);
	return 0;
}
