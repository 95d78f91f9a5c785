/*
 * Tables for people: columns as wide as what is in them, two blanks apart.
 * Control characters become '?': what a run calls something must not move a
 * terminal's cursor.
 */
#ifndef SBX_CLI_TABLE_H
#define SBX_CLI_TABLE_H

#include "lib/buf.h"

#include <stddef.h>

#define TABLE_COLUMNS 10

struct table {
	size_t columns, cells;
	size_t width[TABLE_COLUMNS];
	struct buf text; /* the cells, each with a NUL behind it */
};

/* Named columns, NULL-terminated. */
void table_init(struct table *t, const char *const *names);
void table_release(struct table *t);

/* The next cell, row by row. */
void table_add(struct table *t, const char *text);
void table_addf(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Append it to a text. */
void table_write(const struct table *t, struct buf *to);
void table_print(struct table *t); /* on standard output, and release it */

/* Sizes and times as people read them. */
void table_add_size(struct table *t, double bytes);
void table_add_span(struct table *t, double seconds);

#endif
