/*
 * http/target: a target is decoded once; what passes has plain segments that
 * joined give the path back, and a query that is the rest of the target. A
 * parameter's value is in the query, decoded.
 */
#include "http/target.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many bytes the path must have after one decoding: each escape is one. */
static size_t
decoded_size(const char *target)
{
	size_t size = 0;

	for (; *target != '\0' && *target != '?'; target++, size++)
		if (*target == '%')
			target += 2;
	return size;
}

static void
check_segments(const struct exchange *x)
{
	struct buf joined = BUF_INIT(strlen(x->path) + 1);

	if (x->seg_count > EXCHANGE_SEGMENTS)
		abort();
	for (int i = 0; i < x->seg_count; i++) {
		if (*x->seg[i] == '\0' || strchr(x->seg[i], '/') != NULL ||
		    strcmp(x->seg[i], ".") == 0 || strcmp(x->seg[i], "..") == 0)
			abort();
		buf_addc(&joined, '/');
		buf_adds(&joined, x->seg[i]);
	}
	if (strcmp(x->seg_count == 0 ? "/" : joined.data, x->path) != 0)
		abort();
	buf_release(&joined);
}

static void
check_query(struct exchange *x)
{
	bool bad = false;
	const char *value = exchange_query(x, "a", &bad);

	if (value != NULL && (bad || strlen(value) > strlen(x->query)))
		abort();
	if (bad && strchr(x->query, '%') == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	char *target = mem_strndup((const char *)data, size);
	struct exchange x = {.arena = &arena, .target = target};
	struct err e = ERR_INIT;

	if (target_parse(&x, &e) == 0) {
		if (*target != '/' || strlen(x.path) != decoded_size(target))
			abort();
		check_segments(&x);
		check_query(&x);
	} else if (e.kind != ERR_PATH || *e.text == '\0') {
		abort();
	}
	arena_release(&arena);
	free(target);
	return 0;
}
