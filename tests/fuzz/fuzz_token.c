/*
 * http/token: an Authorization header passes where its token is a whole line,
 * and nowhere else. The first line is the header's value.
 */
#include "http/token.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANK " \t\r"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The plain way, which tells by its time. */
static bool
is_line(const char *lines, const char *token)
{
	char *copy = mem_strdup(lines), *rest = copy, *line;
	bool found = false;

	while ((line = strsep(&rest, "\n")) != NULL) {
		size_t size;

		line += strspn(line, BLANK);
		size = strlen(line);
		while (size > 0 && strchr(BLANK, line[size - 1]) != NULL)
			line[--size] = '\0';
		found = found || str_eq(line, token);
	}
	free(copy);
	return found;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *in = mem_strndup((const char *)data, size), *lines = in;
	const char *value = strsep(&lines, "\n");
	const char *token = value;

	if (lines != NULL) {
		bool bearer = strncasecmp(value, "bearer ", 7) == 0;

		token += bearer ? 7 : 0;
		token += strspn(token, " ");
		if (token_listed(lines, value) !=
		    (bearer && *token != '\0' && is_line(lines, token)))
			abort();
	}
	free(in);
	return 0;
}
