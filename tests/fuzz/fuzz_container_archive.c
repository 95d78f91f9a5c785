/*
 * docker/container_archive: whatever the engine says of a path is refused, or
 * is a type, permissions and a size of their kind.
 */
#include "docker/container_archive.h"
#include "lib/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const char *value)
{
	struct container_stat stat = {0};
	struct err e = ERR_INIT;

	if (container_archive_parse(value, &stat, &e) != 0) {
		if (e.kind != ERR_ENGINE || e.text[0] == '\0')
			abort();
		return;
	}
	if (stat.type < CONTAINER_FILE || stat.type > CONTAINER_DEVICE ||
	    stat.mode > 07777 || stat.size > INT64_MAX)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BUF_AUTO raw = BUF_INIT(size);
	BUF_AUTO value = BUF_INIT(size * 2 + 4);

	if (size == 0 || size > ENGINE_FIELD_MAX)
		return 0;
	/* As the field's value, and as the JSON in it. */
	buf_add(&raw, data, size);
	check(raw.data);
	base64_encode(raw.data, raw.size, &value);
	check(value.data);
	return 0;
}
