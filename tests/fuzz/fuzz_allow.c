/*
 * lib/allow: an entry that parses has a canonical text that parses as the same,
 * and admits the host that is in it; what does not parse says why.
 */
#include "lib/allow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_entry(const char *text, size_t size)
{
	struct allow_entry a, again;
	struct err e = ERR_INIT;
	char first[ALLOW_TEXT], second[ALLOW_TEXT];

	if (allow_parse(text, size, &a, &e) != 0) {
		if (e.kind != ERR_INPUT || *e.text == '\0')
			abort();
		return;
	}
	allow_format(&a, first);
	if (allow_parse(first, strlen(first), &again, &e) != 0)
		abort();
	allow_format(&again, second);
	if (strcmp(first, second) != 0 ||
	    !allow_covers(&a, &again.host, a.port ? a.port : 443))
		abort();
}

/* A host is canonical once, and is what its own suggestion admits. */
static void
check_host(const char *text, size_t size)
{
	struct allow_host h, again;
	struct allow_entry a;
	struct err e = ERR_INIT;
	char first[ALLOW_TEXT];

	if (allow_host_parse(text, size, &h, &e) != 0) {
		if (e.kind != ERR_INPUT || *e.text == '\0')
			abort();
		return;
	}
	allow_host_format(&h, first);
	if (allow_host_parse(first, strlen(first), &again, &e) != 0 ||
	    h.is_address != again.is_address || strcmp(h.name, again.name) != 0)
		abort();
	allow_suggest(&h, 8443, first);
	if (allow_parse(first, strlen(first), &a, &e) != 0 ||
	    !allow_covers(&a, &h, 8443) || allow_covers(&a, &h, 443))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_entry((const char *)data, size);
	check_host((const char *)data, size);
	return 0;
}
