/* Taking a request target apart. */
#include "http/target.h"
#include "lib/path.h"
#include "lib/str.h"

#include <string.h>

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
	int count = path_split(
	    arena_strdup(x->arena, x->path), x->seg, EXCHANGE_SEGMENTS, e);
	if (count < 0)
		return -1;
	x->seg_count = count;
	return 0;
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
