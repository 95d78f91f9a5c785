/* Matching a table of patterns. First match wins: order is the table's. */
#include "http/router.h"
#include "lib/str.h"

#include <stdio.h>
#include <string.h>

/* One segment of a pattern, without its slash. */
struct piece {
	const char *text;
	size_t size;
};

/* Step to the next segment of a pattern; false at its end. */
static bool
next_piece(const char **pattern, struct piece *ret_piece)
{
	if (**pattern != '/')
		return false;
	const char *from = *pattern + 1;
	size_t size = strcspn(from, "/");

	*ret_piece = (struct piece){from, size};
	*pattern = from + size;
	return true;
}

static bool
is_param(const struct piece *p)
{
	return p->size > 2 && p->text[0] == '{';
}

static bool
is_rest(const struct piece *p)
{
	return is_param(p) && p->size > 5 &&
	       memcmp(p->text + p->size - 4, "...}", 4) == 0;
}

static bool
matches(const char *pattern, const struct exchange *x)
{
	struct piece p;
	int i = 0;

	for (; next_piece(&pattern, &p); i++) {
		if (i >= x->seg_count)
			return false;
		if (is_rest(&p))
			return true;
		if (!is_param(&p) &&
		    (strlen(x->seg[i]) != p.size ||
			memcmp(x->seg[i], p.text, p.size) != 0))
			return false;
	}
	return i > 0 && i == x->seg_count;
}

static bool
serves(const struct route *route, const struct exchange *x)
{
	return str_eq(route->method, x->method) ||
	       (x->head && str_eq(route->method, "GET"));
}

/* Add a method to the comma list of Allow; GET brings HEAD along. */
static void
add_allowed(char *allow, size_t size, const char *method)
{
	size_t used = strlen(allow);

	(void)snprintf(allow + used, size - used, "%s%s%s",
	    used > 0 ? ", " : "", method,
	    str_eq(method, "GET") ? ", HEAD" : "");
}

const struct route *
router_find(const struct route *table, size_t count, const struct exchange *x,
    char *allow, size_t size, struct err *e)
{
	allow[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (!matches(table[i].pattern, x))
			continue;
		if (serves(&table[i], x))
			return &table[i];
		add_allowed(allow, size, table[i].method);
	}
	if (allow[0] != '\0')
		(void)err_set(e, ERR_METHOD,
		    "%.32s does not work here; allowed: %s.", x->method, allow);
	else
		(void)err_set(
		    e, ERR_ROUTE, "There is nothing at %.300s.", x->path);
	return NULL;
}

const char *
router_param(
    const struct route *route, const struct exchange *x, const char *name)
{
	const char *pattern = route->pattern;
	size_t want = strlen(name);
	struct piece p;

	for (int i = 0; next_piece(&pattern, &p) && i < x->seg_count; i++) {
		size_t size = p.size - (is_rest(&p) ? 5 : 2);

		if (!is_param(&p) || size != want ||
		    memcmp(p.text + 1, name, want) != 0)
			continue;
		/* The segments were cut out of a copy of x->path, in which
		 * the rest still is one text. */
		return is_rest(&p) ? x->path + (x->seg[i] - x->seg[0]) + 1
				   : x->seg[i];
	}
	return NULL;
}
