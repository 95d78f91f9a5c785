/* FastCGI records, read and written. */
#include "http/record.h"

#include <string.h>

#define VERSION 1
#define RESPONDER 1

struct head {
	unsigned type, id;
	size_t size, padding;
};

static unsigned
get16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static bool
read_head(const unsigned char *p, struct head *ret)
{
	*ret = (struct head){p[1], get16(p + 2), get16(p + 4), p[6]};
	return p[0] == VERSION;
}

static bool
begins(const struct head *h, const unsigned char *content)
{
	return h->type == RECORD_BEGIN && h->id != 0 &&
	       h->size == RECORD_HEAD && get16(content) == RESPONDER;
}

int64_t
record_request(const char *bytes, size_t size, unsigned *ret_id)
{
	const unsigned char *p = (const unsigned char *)bytes;
	unsigned id = 0;
	struct head h;

	for (size_t at = 0; size - at >= RECORD_HEAD;) {
		const unsigned char *content = p + at + RECORD_HEAD;

		if (!read_head(p + at, &h))
			return -1;
		size_t whole = RECORD_HEAD + h.size + h.padding;
		if (size - at < whole)
			return 0;
		at += whole;
		if (id == 0) {
			if (!begins(&h, content))
				return -1;
			id = h.id;
			continue;
		}
		if (h.type != RECORD_PARAMS || h.id != id)
			return -1;
		if (h.size == 0) {
			*ret_id = id;
			return (int64_t)at;
		}
	}
	return 0;
}

/* A whole head came: false where it is nothing of this body. */
static bool
next_record(struct record_body *b)
{
	struct head h;

	if (!read_head(b->head, &h) || h.type != RECORD_STDIN || h.id != b->id)
		return false;
	b->head_size = 0;
	b->content = h.size;
	b->padding = h.padding;
	b->ended = h.size == 0;
	return true;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int64_t
record_squeeze(struct record_body *b, char *bytes, size_t size)
{
	const char *p = bytes, *end = bytes + size;
	char *to = bytes;

	while (p < end && !b->ended) {
		size_t n = least(b->content, (size_t)(end - p));

		memmove(to, p, n);
		to += n;
		p += n;
		b->content -= n;
		if (b->content > 0)
			break;
		n = least(b->padding, (size_t)(end - p));
		p += n;
		b->padding -= n;
		if (b->padding > 0)
			break;
		n = least(RECORD_HEAD - b->head_size, (size_t)(end - p));
		memcpy(b->head + b->head_size, p, n);
		p += n;
		b->head_size += n;
		if (b->head_size == RECORD_HEAD && !next_record(b))
			return -1;
	}
	return to - bytes;
}

void
record_head(char to[RECORD_HEAD], unsigned id, size_t size)
{
	const unsigned char head[RECORD_HEAD] = {VERSION, RECORD_STDOUT,
	    (unsigned char)(id >> 8), (unsigned char)id,
	    (unsigned char)(size >> 8), (unsigned char)size, 0, 0};

	memcpy(to, head, RECORD_HEAD);
}
