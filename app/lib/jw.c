/* Writing JSON into a buffer. */
#include "lib/jw.h"
#include "lib/clock.h"
#include "lib/utf8.h"

#include <stdio.h>
#include <string.h>

static void
separate(struct jw *w, const char *key)
{
	if (key != NULL) {
		jw_key(w, key);
		return;
	}
	if (w->comma)
		buf_addc(w->out, ',');
	w->comma = true;
}

void
jw_open(struct jw *w, char bracket)
{
	separate(w, NULL);
	buf_addc(w->out, bracket);
	w->comma = false;
}

void
jw_close(struct jw *w, char bracket)
{
	buf_addc(w->out, bracket);
	w->comma = true;
}

/* A plain run of valid text goes through whole; what JSON escapes does not. */
static void
escape(struct buf *out, const char *text, size_t size)
{
	static const char named[] = "\b\f\n\r\t\"\\";
	static const char letter[] = "bfnrt\"\\";
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		buf_add(out, text + from, i - from);
		from = i + 1;
		const char *at = c ? strchr(named, c) : NULL;
		if (at != NULL)
			buf_addf(out, "\\%c", letter[at - named]);
		else
			buf_addf(out, "\\u%04x", c);
	}
	buf_add(out, text + from, size - from);
}

static void
quote(struct jw *w, const char *text, size_t size)
{
	buf_addc(w->out, '"');
	if (utf8_valid(text, size)) {
		escape(w->out, text, size);
	} else {
		struct utf8 u = UTF8_INIT;
		BUF_AUTO valid = BUF_INIT(size * 3 + 3);

		utf8_feed(&u, text, size, &valid);
		utf8_end(&u, &valid);
		escape(w->out, valid.data, valid.size);
	}
	buf_addc(w->out, '"');
}

void
jw_key(struct jw *w, const char *key)
{
	separate(w, NULL);
	quote(w, key, strlen(key));
	buf_addc(w->out, ':');
	w->comma = false;
}

void
jw_strn(struct jw *w, const char *key, const char *value, size_t size)
{
	separate(w, key);
	quote(w, value, size);
	w->comma = true;
}

void
jw_str(struct jw *w, const char *key, const char *value)
{
	jw_strn(w, key, value, strlen(value));
}

void
jw_int(struct jw *w, const char *key, int64_t value)
{
	separate(w, key);
	buf_addf(w->out, "%lld", (long long)value);
	w->comma = true;
}

void
jw_bool(struct jw *w, const char *key, bool value)
{
	jw_raw(w, key, value ? "true" : "false");
}

void
jw_time(struct jw *w, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_text(wall_ms, text);
	jw_str(w, key, text);
}

void
jw_real(struct jw *w, const char *key, double value)
{
	char text[40];

	/* 15 digits: a limit of 0.1 comes back as 0.1. */
	(void)snprintf(text, sizeof(text), "%.15g", value);
	jw_raw(w, key, text);
}

void
jw_raw(struct jw *w, const char *key, const char *json)
{
	separate(w, key);
	buf_adds(w->out, json);
	w->comma = true;
}
