/* The parts of an exchange that need no carrier. */
#include "http/exchange.h"
#include "http/target.h"
#include "lib/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

const char *
exchange_query(struct exchange *x, const char *name, bool *ret_bad)
{
	return target_param(x->arena, x->query, name, ret_bad);
}

bool
exchange_id_valid(const char *id)
{
	size_t size = strlen(id);

	return size >= 1 && size <= 64 &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			  "0123456789._-") == size;
}

const char *
exchange_id_make(struct arena *a)
{
	unsigned char random[16];
	char *id = arena_alloc(a, 2 * sizeof(random) + 1);

	/* Up to 256 bytes come whole and uninterrupted: random(7). */
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	str_hex(id, random, sizeof(random));
	return id;
}

void
exchange_header(struct exchange *x, const char *name, const char *value)
{
	size_t used = strlen(x->header), room = sizeof(x->header) - used;
	int n = snprintf(x->header + used, room, "%s: %s\r\n", name, value);

	if (n < 0 || (size_t)n >= room)
		abort();
}
