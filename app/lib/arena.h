/*
 * An arena: allocations that live until the next reset, freed together.
 *
 * A worker thread owns one; a request's strings live in it and one reset at
 * the request's end frees them. Not shared between threads. Blocks up to
 * ARENA_KEEP bytes stay for the next request, larger ones go back.
 */
#ifndef SBX_LIB_ARENA_H
#define SBX_LIB_ARENA_H

#include <stddef.h>

#define ARENA_KEEP (16 * 1024)

struct arena {
	struct arena_block *block; /* newest first */
};

#define ARENA_INIT   \
	{            \
		NULL \
	}

void arena_reset(struct arena *a);   /* every pointer from it is dead */
void arena_release(struct arena *a); /* reset, and give all memory back */

void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t size);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
