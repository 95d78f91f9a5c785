/*
 * lib/jw: whatever is written through it parses (jansson judges), and a string
 * comes back as the valid form of its bytes. The input is a program: each byte
 * is a verb, strings take their length from the next byte.
 */
#include "lib/jw.h"
#include "lib/utf8.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
	const uint8_t *at, *end;
	char open[DEPTH];
	int depth;
};

static uint8_t
next_byte(struct program *p)
{
	return p->at < p->end ? *p->at++ : 0;
}

/* A piece of the input; the result is valid until the next call. */
static const char *
next_text(struct program *p, size_t *ret_size)
{
	static char text[256];
	size_t size = next_byte(p);

	if (size > (size_t)(p->end - p->at))
		size = (size_t)(p->end - p->at);
	memcpy(text, p->at, size);
	text[size] = '\0';
	p->at += size;
	*ret_size = size;
	return text;
}

/* One string alone must come back as its valid form. */
static void
check_string(const char *text, size_t size)
{
	struct utf8 u = UTF8_INIT;
	BUF_AUTO want = BUF_INIT(size * 3 + 3);
	BUF_AUTO out = BUF_INIT(size * 6 + 2);
	struct jw w = JW_INIT(&out);

	utf8_feed(&u, text, size, &want);
	utf8_end(&u, &want);
	jw_strn(&w, NULL, text, size);
	json_auto_t *json = json_loadb(
	    out.data, out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json == NULL || json_string_length(json) != want.size ||
	    memcmp(json_string_value(json), want.data, want.size) != 0)
		abort();
}

static void
step(struct program *p, struct jw *w)
{
	char key[300];
	bool named = p->open[p->depth - 1] == '{';
	uint8_t verb = next_byte(p);
	size_t size;

	(void)snprintf(key, sizeof(key), "%s", next_text(p, &size));
	const char *text = next_text(p, &size);
	check_string(text, size);
	switch (verb % 6) {
	case 0:
		jw_strn(w, named ? key : NULL, text, size);
		break;
	case 1:
		jw_int(w, named ? key : NULL, (int64_t)verb - 128);
		break;
	case 2:
		jw_real(w, named ? key : NULL, verb / 7.0);
		break;
	case 3:
	case 4:
		if (p->depth == DEPTH)
			break;
		if (named)
			jw_key(w, key);
		p->open[p->depth] = verb % 6 == 3 ? '{' : '[';
		jw_open(w, p->open[p->depth++]);
		break;
	default:
		if (p->depth > 1)
			jw_close(w, p->open[--p->depth] == '{' ? '}' : ']');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program p = {data, data + size, "[", 1};
	BUF_AUTO out = BUF_INIT(1 << 20);
	struct jw w = JW_INIT(&out);

	jw_open(&w, '[');
	while (p.at < p.end && !out.over)
		step(&p, &w);
	while (p.depth > 0)
		jw_close(&w, p.open[--p.depth] == '{' ? '}' : ']');
	if (out.over)
		return 0;
	json_auto_t *json =
	    json_loadb(out.data, out.size, JSON_ALLOW_NUL, NULL);
	if (json == NULL)
		abort();
	return 0;
}
