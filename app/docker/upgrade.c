/* Reading the head of an answer to an upgrade request. */
#include "docker/upgrade.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 101 UPGRADED"; the reason may be missing (RFC 9112 4). */
static int
status_line(const char *line, size_t size, int *ret_status)
{
	if (size < 12 || memcmp(line, "HTTP/1.", 7) != 0 ||
	    (line[7] != '0' && line[7] != '1') || line[8] != ' ')
		return -1;
	if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11]) ||
	    (size > 12 && line[12] != ' '))
		return -1;
	*ret_status =
	    (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
	return *ret_status < 100 || *ret_status > 599 ? -1 : 0;
}

static bool
named(const char *line, size_t name_size, const char *name)
{
	return name_size == strlen(name) &&
	       strncasecmp(line, name, name_size) == 0;
}

static int
read_length(const char *value, size_t size, size_t *ret_length)
{
	size_t length = 0;

	if (size == 0 || size > 9)
		return -1;
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(value[i]))
			return -1;
		length = length * 10 + (size_t)(value[i] - '0');
	}
	*ret_length = length;
	return 0;
}

static int
field_line(const char *line, size_t size, struct upgrade *u)
{
	const char *colon = memchr(line, ':', size);

	if (colon == NULL || colon == line)
		return -1;
	size_t name_size = (size_t)(colon - line);
	const char *value = colon + 1, *end = line + size;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (named(line, name_size, "Transfer-Encoding"))
		u->framed = true;
	if (!named(line, name_size, "Content-Length"))
		return 0;
	u->framed = true;
	return read_length(value, (size_t)(end - value), &u->content_length);
}

int
upgrade_head(
    const char *bytes, size_t size, struct upgrade *ret_upgrade, struct err *e)
{
	struct upgrade u = {0};
	size_t at = 0;

	for (;;) {
		size_t left = size - at;
		const char *line = bytes + at;
		const char *end = left ? memchr(line, '\n', left) : NULL;

		at = end == NULL ? size : (size_t)(end - bytes) + 1;
		if (at > UPGRADE_HEAD_MAX)
			return err_set(
			    e, ERR_ENGINE, "Docker's answer has a huge head");
		if (end == NULL)
			return 0;
		size_t line_size = (size_t)(end - line);
		if (line_size > 0 && line[line_size - 1] == '\r')
			line_size--;
		bool first = line == bytes;
		if (line_size == 0 && !first)
			break;
		if ((first ? status_line(line, line_size, &u.status)
			   : field_line(line, line_size, &u)) != 0)
			return err_set(
			    e, ERR_ENGINE, "Docker's answer is not HTTP");
	}
	u.head_size = at;
	*ret_upgrade = u;
	return 1;
}
