/* Percent-decoding once, and splitting into plain segments. */
#include "lib/path.h"
#include "lib/str.h"

#include <stdbool.h>
#include <string.h>

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
path_decode(const char *from, size_t size, char *to, struct err *e)
{
	for (size_t i = 0; i < size; i++) {
		char c = from[i];

		if (c == '%') {
			bool whole = size - i > 2;
			int high = whole ? hex_value(from[i + 1]) : -1;
			int low = whole ? hex_value(from[i + 2]) : -1;

			if (high < 0 || low < 0)
				return err_set(e, ERR_PATH,
				    "The path has a '%%' that is not followed "
				    "by two hex digits.");
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (c == '\0')
			return err_set(
			    e, ERR_PATH, "The path contains a NUL byte.");
		*to++ = c;
	}
	*to = '\0';
	return 0;
}

static int
check_segment(const char *segment, struct err *e)
{
	if (*segment == '\0')
		return err_set(e, ERR_PATH, "The path has an empty segment.");
	if (str_eq(segment, ".") || str_eq(segment, ".."))
		return err_set(
		    e, ERR_PATH, "The path has a '%s' segment.", segment);
	return 0;
}

int
path_split(char *path, char **seg, int max, struct err *e)
{
	int count = 0;

	if (*path != '/')
		return err_set(e, ERR_PATH, "The path must start with '/'.");
	if (path[1] == '\0')
		return 0;
	for (char *p = path; p != NULL;) {
		*p++ = '\0';
		char *next = strchr(p, '/');
		if (count == max)
			return err_set(e, ERR_PATH,
			    "The path has more than %d segments.", max);
		seg[count] = p;
		if (next != NULL)
			*next = '\0';
		if (check_segment(seg[count], e) != 0)
			return -1;
		count++;
		p = next;
	}
	return count;
}
