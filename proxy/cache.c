/* What names were found to lead to. */
#include "cache.h"
#include "lib/mem.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	int64_t until;
	uint64_t used; /* the turn that it was used in last */
	struct found found;
	char name[];
};

struct cache {
	uint32_t hashes[CACHE_NAMES]; /* of the entries' names */
	struct entry *entries[CACHE_NAMES];
	size_t count;
	uint64_t turn;
};

struct cache *
cache_new(void)
{
	return mem_zalloc(sizeof(struct cache));
}

void
cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->entries[i]);
	free(c);
}

static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

/* Where that name is; count where it is not. */
static size_t
place_of(const struct cache *c, uint32_t hash, const char *name)
{
	size_t i = 0;

	while (i < c->count &&
	       (c->hashes[i] != hash || strcmp(c->entries[i]->name, name) != 0))
		i++;
	return i;
}

bool
cache_find(
    struct cache *c, const char *name, int64_t now, struct found *ret_found)
{
	size_t i = place_of(c, hash_of(name), name);

	if (i == c->count || c->entries[i]->until <= now)
		return false;
	c->entries[i]->used = ++c->turn;
	*ret_found = c->entries[i]->found;
	return true;
}

static size_t
longest_unused(const struct cache *c)
{
	size_t least = 0;

	for (size_t i = 1; i < c->count; i++)
		if (c->entries[i]->used < c->entries[least]->used)
			least = i;
	return least;
}

void
cache_put(
    struct cache *c, const char *name, const struct found *found, int64_t until)
{
	size_t size = strlen(name) + 1;
	uint32_t hash = hash_of(name);
	size_t i = place_of(c, hash, name);

	if (i == CACHE_NAMES)
		i = longest_unused(c);
	if (i == c->count)
		c->count++;
	free(c->entries[i]);
	c->hashes[i] = hash;
	c->entries[i] = mem_alloc(sizeof(struct entry) + size);
	c->entries[i]->until = until;
	c->entries[i]->used = ++c->turn;
	c->entries[i]->found = *found;
	memcpy(c->entries[i]->name, name, size);
}
