/*
 * proxy/policy: it reads any text or says which line is wrong; and what it
 * admits is what its entries cover one by one (lib/allow). The first line is
 * the host that is asked for, the others are the policy.
 */
#include "../../proxy/policy.h"
#include "lib/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint16_t ports[] = {80, 443, 8443};

#define PORTS (sizeof(ports) / sizeof(ports[0]))

static void
check_text(const char *text, size_t size)
{
	struct err e = ERR_INIT;
	struct policy *p = policy_parse(text, size, &e);

	if (p == NULL &&
	    (e.kind != ERR_INPUT || strncmp(e.text, "line ", 5) != 0))
		abort();
	policy_free(p);
}

/* The lines that are entries, alone; covered says for which ports they are. */
static void
pick_entries(const char *text, size_t size, const struct allow_host *h,
    struct buf *out, bool covered[PORTS])
{
	struct err e = ERR_INIT;
	struct allow_entry a;

	for (size_t at = 0, length; at < size; at += length + 1) {
		const char *end = memchr(text + at, '\n', size - at);

		length = end != NULL ? (size_t)(end - text) - at : size - at;
		/* ("builtin" is an entry as well, but not in a policy) */
		if (allow_parse(text + at, length, &a, &e) != 0 ||
		    (length == 7 && memcmp(text + at, "builtin", 7) == 0))
			continue;
		buf_add(out, text + at, length);
		buf_addc(out, '\n');
		for (size_t i = 0; i < PORTS; i++)
			covered[i] |= allow_covers(&a, h, ports[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
	BUF_AUTO entries = BUF_INIT(size + 1);
	bool covered[PORTS] = {false};
	struct err e = ERR_INIT;
	struct allow_host h;

	check_text(text, size);
	if (end == NULL ||
	    allow_host_parse(text, (size_t)(end - text), &h, &e) != 0)
		return 0;
	size -= (size_t)(end + 1 - text);
	pick_entries(end + 1, size, &h, &entries, covered);
	struct policy *p = policy_parse(entries.data, entries.size, &e);
	if (p == NULL)
		abort();
	for (size_t i = 0; i < PORTS; i++)
		if (policy_admits(p, &h, ports[i]) != covered[i])
			abort();
	policy_free(p);
	return 0;
}
