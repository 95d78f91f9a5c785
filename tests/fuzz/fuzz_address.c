/*
 * lib/address: what parses is written so that it parses as the same; a range
 * has its own base, and an IPv4 in IPv6 is judged as the IPv4 is.
 */
#include "lib/address.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_hidden(const struct address *a)
{
	struct address mapped = {6, {[10] = 0xff, [11] = 0xff}};
	struct address nat64 = {6, {0x00, 0x64, 0xff, 0x9b}};
	bool special = address_special(a) != NULL;

	memcpy(mapped.bytes + 12, a->bytes, 4);
	memcpy(nat64.bytes + 12, a->bytes, 4);
	if ((address_special(&mapped) != NULL) != special ||
	    (address_special(&nat64) != NULL) != special)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[64], again[ADDRESS_TEXT];
	struct address a, b;
	struct cidr c;

	if (size >= sizeof(text))
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (address_parse(text, &a)) {
		address_format(&a, false, again);
		if (!address_parse(again, &b) || !address_equal(&a, &b))
			abort();
		if (a.family == 4)
			check_hidden(&a);
	}
	if (cidr_parse(text, &c) && !cidr_has(&c, &c.base))
		abort();
	return 0;
}
