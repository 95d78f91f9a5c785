/* A growing byte buffer that keeps to its ceiling. */
#include "lib/buf.h"
#include "lib/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char buf_empty[1] = "";

void
buf_release(struct buf *b)
{
	if (b->data != buf_empty)
		free(b->data);
	b->data = buf_empty;
	b->size = b->room = 0;
	b->over = false;
}

void
buf_reset(struct buf *b)
{
	b->size = 0;
	b->over = false;
	if (b->room > 0)
		b->data[0] = '\0';
}

char *
buf_grow(struct buf *b, size_t size)
{
	if (size > b->max - b->size) {
		b->over = true;
		return NULL;
	}
	size_t need = b->size + size + 1;
	if (need > b->room) {
		size_t room = b->room ? b->room * 2 : 256;

		if (room > b->max + 1)
			room = b->max + 1;
		if (room < need)
			room = need;
		b->data = mem_realloc(b->room ? b->data : NULL, room);
		b->room = room;
	}
	b->data[b->size + size] = '\0';
	return b->data + b->size;
}

void
buf_add(struct buf *b, const void *bytes, size_t size)
{
	char *to = buf_grow(b, size);

	if (to == NULL || size == 0)
		return;
	memcpy(to, bytes, size);
	b->size += size;
}

void
buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int size = vsnprintf(NULL, 0, fmt, ap);
	if (size < 0)
		abort();
	char *to = buf_grow(b, (size_t)size);
	if (to != NULL) {
		(void)vsnprintf(to, (size_t)size + 1, fmt, again);
		b->size += (size_t)size;
	}
	va_end(again);
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void
buf_drop(struct buf *b, size_t size)
{
	if (size == 0)
		return;
	memmove(b->data, b->data + size, b->size - size + 1);
	b->size -= size;
}

char *
buf_take(struct buf *b)
{
	char *data = b->room ? b->data : mem_strdup("");

	b->data = buf_empty;
	b->size = b->room = 0;
	b->over = false;
	return data;
}
