/* What the files that read heads share. */
#include "head_part.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "!#$%&'*+-.^_`|~", digits and letters. */
const uint32_t head_token_bytes[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};

bool
head_is_token(const struct slice *s)
{
	for (size_t i = 0; i < s->size; i++)
		if (!head_is_token_byte(s->at[i]))
			return false;
	return s->size > 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool
head_next_of(struct slice *list, struct slice *ret_item)
{
	while (list->size > 0 && (is_blank(*list->at) || *list->at == ',')) {
		list->at++;
		list->size--;
	}
	if (list->size == 0)
		return false;
	const char *comma = memchr(list->at, ',', list->size);
	size_t size = comma != NULL ? (size_t)(comma - list->at) : list->size;

	*ret_item = (struct slice){list->at, size};
	list->at += size;
	list->size -= size;
	while (is_blank(ret_item->at[ret_item->size - 1]))
		ret_item->size--;
	return true;
}

bool
head_number(const struct slice *s, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (s->size < 1 || s->size > 19)
		return false;
	for (size_t i = 0; i < s->size; i++) {
		if (s->at[i] < '0' || s->at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(s->at[i] - '0');
	}
	if (value > INT64_MAX)
		return false;
	*ret_value = value;
	return true;
}

int
head_refuse(struct head_fault *f, int status, const char *why)
{
	f->status = status;
	(void)snprintf(f->why, sizeof(f->why), "%s", why);
	return -1;
}

bool
slice_is(const struct slice *s, const char *text)
{
	return strlen(text) == s->size &&
	       strncasecmp(s->at, text, s->size) == 0;
}
