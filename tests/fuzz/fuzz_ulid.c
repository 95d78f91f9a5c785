/*
 * lib/ulid, lib/base64: what is an id has one form, in which it is the same id,
 * and is made of its time and its random bytes; bytes come back from their
 * text, and what is read as bytes is read from its proper text too.
 */
#include "check.h"
#include "lib/base64.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "lib/ulid.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_id(const char *text)
{
	char id[ULID_SIZE], again[ULID_SIZE];

	if (!ulid_parse(text, id))
		return;
	check(strlen(text) == ULID_SIZE - 1 && strlen(id) == ULID_SIZE - 1);
	check(ulid_parse(id, again) && str_eq(id, again));
	check(ulid_time(id) >= 0 && ulid_time(id) < INT64_C(1) << 48);
}

/* A new one of those bytes: 6 of time, 10 of chance. */
static void
check_new(const uint8_t bytes[16])
{
	char id[ULID_SIZE], again[ULID_SIZE];
	int64_t ms = 0;

	for (int i = 0; i < 6; i++)
		ms = ms << 8 | bytes[i];
	ulid_format(ms, bytes + 6, id);
	check(ulid_parse(id, again) && str_eq(id, again));
	check(ulid_time(id) == ms);
}

static void
check_base64(const char *text, size_t size)
{
	BUF_AUTO written = BUF_INIT(2 * size + 4);
	BUF_AUTO read = BUF_INIT(size);
	BUF_AUTO bytes = BUF_INIT(size);
	BUF_AUTO again = BUF_INIT(size);

	base64_encode(text, size, &written);
	check(base64_decode(written.data, &read) == 0 && read.size == size &&
	      memcmp(read.data, text, size) == 0);
	if (base64_decode(text, &bytes) != 0)
		return;
	buf_reset(&written);
	base64_encode(bytes.data, bytes.size, &written);
	check(base64_decode(written.data, &again) == 0 &&
	      again.size == bytes.size &&
	      memcmp(again.data, bytes.data, bytes.size) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BUF_AUTO text = BUF_INIT(size);

	buf_add(&text, data, size);
	check_id(text.data);
	if (size >= 16)
		check_new(data);
	check_base64(text.data, text.size);
	return 0;
}
