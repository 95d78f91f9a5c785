/* Allocation that aborts where it fails. */
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *
must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

void *
mem_alloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *
mem_zalloc(size_t size)
{
	return must(calloc(1, size ? size : 1));
}

void *
mem_realloc(void *old, size_t size)
{
	return must(realloc(old, size ? size : 1));
}

char *
mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *
mem_strndup(const char *s, size_t size)
{
	char *copy = mem_alloc(size + 1);

	memcpy(copy, s, size);
	copy[size] = '\0';
	return copy;
}

size_t
mem_array(size_t count, size_t size)
{
	if (size != 0 && count > SIZE_MAX / size)
		abort();
	return count * size;
}
