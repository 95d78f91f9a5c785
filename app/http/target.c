/* Taking a request target apart. */
#include "http/target.h"
#include "lib/path.h"
#include "lib/str.h"

#include <string.h>

/* No path has more segments than slashes. */
static int
split(struct exchange *x, struct err *e)
{
	size_t most = 0;

	for (const char *p = x->path; *p != '\0'; p++)
		most += *p == '/';
	if (most > EXCHANGE_SEGMENTS)
		return err_set(e, ERR_PATH,
		    "The path has more than %d segments.", EXCHANGE_SEGMENTS);
	x->seg = arena_alloc(x->arena, most * sizeof(*x->seg));
	x->seg_count =
	    path_split(arena_strdup(x->arena, x->path), x->seg, (int)most, e);
	return x->seg_count < 0 ? -1 : 0;
}

int
target_parse(struct exchange *x, struct err *e)
{
	size_t size = strcspn(x->target, "?");

	if (*x->target != '/')
		return err_set(
		    e, ERR_PATH, "The request target must start with '/'.");
	x->query = x->target[size] == '?' ? x->target + size + 1 : "";
	x->path = arena_alloc(x->arena, size + 1);
	if (path_decode(x->target, size, x->path, e) != 0)
		return -1;
	return split(x, e);
}

/* application/x-www-form-urlencoded text, or NULL where it is malformed. */
static const char *
decode_form(struct arena *a, const char *from, size_t size)
{
	char *raw = arena_strndup(a, from, size);
	char *to = arena_alloc(a, size + 1);
	struct err e;

	for (size_t i = 0; i < size; i++)
		if (raw[i] == '+')
			raw[i] = ' ';
	return path_decode(raw, size, to, &e) == 0 ? to : NULL;
}

const char *
target_param(
    struct arena *a, const char *query, const char *name, bool *ret_bad)
{
	while (*query != '\0') {
		size_t size = strcspn(query, "&");
		const char *equals = memchr(query, '=', size);
		size_t name_size = equals ? (size_t)(equals - query) : size;
		const char *found = decode_form(a, query, name_size);

		if (found != NULL && str_eq(found, name)) {
			if (equals == NULL)
				return "";
			const char *value =
			    decode_form(a, equals + 1, size - name_size - 1);
			if (value == NULL)
				*ret_bad = true;
			return value;
		}
		query += size;
		query += *query == '&';
	}
	return NULL;
}
