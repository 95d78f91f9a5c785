/* An arena of chained blocks, the newest first. */
#include "lib/arena.h"
#include "lib/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	max_align_t data[];
};

static struct arena_block *
block_push(struct arena *a, size_t need)
{
	size_t size = need > ARENA_KEEP ? need : ARENA_KEEP;
	struct arena_block *b = mem_alloc(sizeof(*b) + size);

	b->next = a->block;
	b->size = size;
	b->used = 0;
	a->block = b;
	return b;
}

void
arena_reset(struct arena *a)
{
	struct arena_block *b = a->block, *kept = NULL;

	while (b != NULL) {
		struct arena_block *next = b->next;

		if (kept == NULL && b->size <= ARENA_KEEP) {
			kept = b;
			kept->used = 0;
			kept->next = NULL;
		} else {
			free(b);
		}
		b = next;
	}
	a->block = kept;
}

void
arena_release(struct arena *a)
{
	arena_reset(a);
	free(a->block);
	a->block = NULL;
}

void *
arena_alloc(struct arena *a, size_t size)
{
	const size_t align = sizeof(max_align_t);
	struct arena_block *b = a->block;

	if (size > SIZE_MAX - align)
		abort();
	size = (size + align - 1) / align * align;
	if (b == NULL || b->size - b->used < size)
		b = block_push(a, size);
	void *p = (char *)b->data + b->used;
	b->used += size;
	return memset(p, 0, size);
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *
arena_strndup(struct arena *a, const char *s, size_t size)
{
	char *copy = arena_alloc(a, size + 1);

	memcpy(copy, s, size);
	return copy;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int size = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (size < 0)
		abort();
	char *text = arena_alloc(a, (size_t)size + 1);
	(void)vsnprintf(text, (size_t)size + 1, fmt, again);
	va_end(again);
	return text;
}
