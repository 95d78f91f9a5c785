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

/* Of padding behind it libfcgi knows nothing when it goes on to parameters: it
 * would take that for records. */
static bool
begins(const struct head *h, const unsigned char *content)
{
	return h->type == RECORD_BEGIN && h->id != 0 &&
	       h->size == RECORD_HEAD && h->padding == 0 &&
	       get16(content) == RESPONDER;
}

/* Where in the parameters, which records cut anywhere. */
struct params {
	unsigned char sizes[8]; /* of a name and its value, as they come */
	size_t count;		/* of those bytes */
	uint64_t left;		/* to come of name and value */
};

/* One size: how many bytes it takes, of which one is there. */
static size_t
size_width(unsigned char first)
{
	return first < 0x80 ? 1 : 4;
}

static uint64_t
get_size(const unsigned char *p)
{
	if (*p < 0x80)
		return *p;
	return (uint64_t)(get16(p) & 0x7fff) << 16 | get16(p + 2);
}

static void
follow_params(struct params *s, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		size_t n = s->left < size ? (size_t)s->left : size;

		bytes += n;
		size -= n;
		s->left -= n;
		if (size == 0)
			return;
		s->sizes[s->count++] = *bytes++;
		size--;
		size_t name = size_width(s->sizes[0]);
		if (s->count <= name ||
		    s->count < name + size_width(s->sizes[name]))
			continue;
		s->left = get_size(s->sizes) + get_size(s->sizes + name);
		s->count = 0;
	}
}

int64_t
record_request(const char *bytes, size_t size, unsigned *ret_id)
{
	const unsigned char *p = (const unsigned char *)bytes;
	struct params params = {.count = 0};
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
		follow_params(&params, content, h.size);
		if (h.size > 0)
			continue;
		if (params.count > 0 || params.left > 0)
			return -1;
		*ret_id = id;
		return (int64_t)at;
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
