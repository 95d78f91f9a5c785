/*
 * docker/reference: what a reference is taken apart into is a reference again,
 * of the same parts, and holds nothing that a URL or a header would trip over.
 */
#include "docker/reference.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:[]";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);
	char again[512];
	struct reference r, twice;
	struct err e = ERR_INIT;

	if (reference_parse(text, &r, &e) == 0 && !r.is_id) {
		const char *joint = strchr(r.version, ':') ? "@" : ":";

		if (r.name[strspn(r.name, plain)] != '\0' ||
		    r.version[strspn(r.version, plain)] != '\0')
			abort();
		(void)snprintf(
		    again, sizeof(again), "%s%s%s", r.name, joint, r.version);
		if (reference_parse(again, &twice, &e) != 0)
			abort();
		/* "name:tag" may happen to be an id: sha256:<64 digits>. */
		if (!twice.is_id && (!str_eq(r.name, twice.name) ||
					!str_eq(r.host, twice.host) ||
					!str_eq(r.version, twice.version)))
			abort();
	}
	free(text);
	return 0;
}
