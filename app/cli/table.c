/* Tables for people. */
#include "cli/table.h"

#include <stdio.h>
#include <string.h>

#define TABLE_MAX (64u << 20)

void
table_init(struct table *t, const char *const *names)
{
	*t = (struct table){.text = BUF_INIT(TABLE_MAX)};
	while (names[t->columns] != NULL)
		t->columns++;
	for (size_t i = 0; i < t->columns; i++)
		table_add(t, names[i]);
}

void
table_release(struct table *t)
{
	buf_release(&t->text);
}

/* What a cell takes on a screen: its characters, continuation bytes of UTF-8
 * not counted. */
static size_t
width_of(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* A run may have written it: nothing in it moves a terminal (C0, DEL, C1). */
static void
make_plain(char *cell)
{
	for (char *p = cell; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == 0xc2 && (p[1] & 0xe0) == 0x80)
			memcpy(p, "??", 2);
		else if (c < ' ' || c == 0x7f)
			*p = '?';
	}
}

void
table_add(struct table *t, const char *text)
{
	size_t from = t->text.size;

	buf_add(&t->text, text, strlen(text) + 1);
	if (t->text.over)
		return;
	char *cell = t->text.data + from;
	make_plain(cell);
	size_t *width = &t->width[t->cells++ % t->columns];
	if (width_of(cell) > *width)
		*width = width_of(cell);
}

void
table_addf(struct table *t, const char *fmt, ...)
{
	BUF_AUTO text = BUF_INIT(TABLE_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	table_add(t, text.data);
}

void
table_add_size(struct table *t, double bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (bytes >= 1000 && i + 1 < sizeof(unit) / sizeof(unit[0])) {
		bytes /= 1024;
		i++;
	}
	table_addf(
	    t, i == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
}

void
table_add_span(struct table *t, double seconds)
{
	long s = seconds > 0 ? (long)seconds : 0;

	if (s < 120)
		table_addf(t, "%lds", s);
	else if (s < 7200)
		table_addf(t, "%ldm", s / 60);
	else if (s < 48 * 3600L)
		table_addf(t, "%ldh", s / 3600);
	else
		table_addf(t, "%ldd", s / 86400);
}

void
table_write(const struct table *t, struct buf *to)
{
	const char *cell = t->text.data;

	for (size_t i = 0; i < t->cells; i++) {
		size_t column = i % t->columns;
		size_t blanks = t->width[column] - width_of(cell) + 2;

		buf_adds(to, cell);
		if (column + 1 == t->columns)
			buf_addc(to, '\n');
		else
			buf_addf(to, "%*s", (int)blanks, "");
		cell += strlen(cell) + 1;
	}
}

void
table_print(struct table *t)
{
	BUF_AUTO text = BUF_INIT(TABLE_MAX);

	table_write(t, &text);
	(void)fputs(text.data, stdout);
	table_release(t);
}
