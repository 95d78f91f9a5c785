/*
 * manifest.json of the warm cache: text, and a file that is replaced whole.
 *
 *	{"repo":"owner/name","gen":"<ULID>","lockHash":"<hex>","repoDir":".",
 *	 "createdAt":<ms>,"bytes":<n>,"entries":<n>}
 */
#ifndef SBX_RUN_CACHE_MANIFEST_H
#define SBX_RUN_CACHE_MANIFEST_H

#include "lib/buf.h"
#include "run/cache.h"

#define CACHE_MANIFEST "manifest.json"
#define CACHE_MANIFEST_NEW CACHE_MANIFEST ".new" /* a crash may leave it */
#define CACHE_MANIFEST_MAX 4096

/* Pure. ERR_ABSENT where it is not a whole manifest. used_ms is 0. */
int cache_manifest_parse(const char *bytes, size_t size,
    struct cache_manifest *ret_manifest, struct err *e);
void cache_manifest_text(
    const struct cache_manifest *manifest, struct buf *out);

/* The manifest.json in dir; ERR_ABSENT where there is none, or not a whole
 * one. */
int cache_manifest_load(
    int dir, struct cache_manifest *ret_manifest, struct err *e);

/* Put it there, flushed to disk, in one step. */
int cache_manifest_store(
    int dir, const struct cache_manifest *manifest, struct err *e);

#endif
