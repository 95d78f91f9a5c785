/*
 * proxy/hello: what is said of some bytes is said of them and whatever follows;
 * a name that is found is a host, and stands in the bytes; the same message in
 * other records has the same name; a hello's bytes end where its record does.
 */
#include "../../proxy/hello.h"
#include "lib/buf.h"
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_name(const char *name)
{
	struct allow_host h;
	struct err e = ERR_INIT;

	if (*name == '\0' || allow_host_parse(name, strlen(name), &h, &e) != 0)
		abort();
}

static size_t
number(const char *bytes, int width)
{
	size_t value = 0;

	for (int i = 0; i < width; i++)
		value = value << 8 | (uint8_t)bytes[i];
	return value;
}

/* A message that is in one record, in records of so many bytes. */
static void
check_records(const char *bytes, size_t size, enum hello said, const char *name)
{
	size_t part = number(bytes + 3, 2);
	size_t most = 1 + size % 97;
	char other[ALLOW_NAME_MAX + 1] = "";
	size_t used;

	if (size < 9 || part < 4 + number(bytes + 6, 3) ||
	    part / most * (most + 5) > HELLO_MAX - 200)
		return;
	if (part > size - 5)
		part = size - 5;
	BUF_AUTO cut = BUF_INIT(2 * HELLO_MAX);
	for (size_t at = 0; at < part; at += most) {
		size_t left = part - at < most ? part - at : most;

		buf_add(&cut, bytes, 3);
		buf_addc(&cut, (char)(left >> 8));
		buf_addc(&cut, (char)(left & 0xff));
		buf_add(&cut, bytes + 5 + at, left);
	}
	if (hello_read(cut.data, cut.size, other, &used) != said ||
	    used != cut.size ||
	    (said == HELLO_NAME && strcmp(name, other) != 0))
		abort();
}

/* Of the first bytes of a hello, and of an answer to one. */
static void
check_part(const char *bytes, size_t part, enum hello said, const char *name,
    enum hello_answer answer)
{
	char part_name[ALLOW_NAME_MAX + 1];
	size_t used;
	/* A copy of its own, so that a sanitizer sees the end. */
	char *copy = mem_alloc(part);

	if (part > 0)
		memcpy(copy, bytes, part);
	enum hello got = hello_read(copy, part, part_name, &used);
	enum hello_answer answered = hello_answer(copy, part);
	free(copy);
	if (got != HELLO_MORE && got != said)
		abort();
	if (got == HELLO_NAME && strcmp(name, part_name) != 0)
		abort();
	if (answered != HELLO_ANSWER_MORE && answered != answer)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[ALLOW_NAME_MAX + 1] = "";
	const char *bytes = (const char *)data;
	size_t used = 0, other = hello_other(bytes, size);
	enum hello said = hello_read(bytes, size, name, &used);
	enum hello_answer answer = hello_answer(bytes, size);

	if (said == HELLO_NAME)
		check_name(name);
	if (size >= HELLO_MAX &&
	    (said == HELLO_MORE || answer == HELLO_ANSWER_MORE))
		abort();
	if (used > size || other > HELLO_OTHER_MAX ||
	    (other > 0 && said != HELLO_NOT_TLS))
		abort();
	for (size_t part = 0; part < size; part += 1 + size / 256)
		check_part(bytes, part, said, name, answer);
	if (said == HELLO_NAME || said == HELLO_NO_NAME)
		check_records(bytes, used, said, name);
	return 0;
}
