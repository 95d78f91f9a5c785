/*
 * run/cache_manifest: what is taken for a manifest is written as one that reads
 * the same, and has names of the form that paths are made of.
 */
#include "lib/str.h"
#include "run/cache_manifest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_same(const struct cache_manifest *a, const struct cache_manifest *b)
{
	return str_eq(a->repo, b->repo) && str_eq(a->gen, b->gen) &&
	       str_eq(a->lock.hash, b->lock.hash) &&
	       str_eq(a->lock.dir, b->lock.dir) &&
	       a->created_ms == b->created_ms && a->bytes == b->bytes &&
	       a->entries == b->entries;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BUF_AUTO in = BUF_INIT(1u << 20);
	BUF_AUTO out = BUF_INIT(CACHE_MANIFEST_MAX - 1);
	struct cache_manifest m, again;
	struct err e = ERR_INIT;

	buf_add(&in, data, size);
	if (cache_manifest_parse(in.data, in.size, &m, &e) != 0) {
		if (e.kind != ERR_ABSENT || *e.text == '\0')
			abort();
		return 0;
	}
	cache_manifest_text(&m, &out);
	if (out.over ||
	    cache_manifest_parse(out.data, out.size, &again, &e) != 0 ||
	    !is_same(&m, &again) || strchr(m.lock.dir, '/') != NULL ||
	    str_eq(m.lock.dir, "..") || strlen(m.gen) != ULID_SIZE - 1)
		abort();
	return 0;
}
