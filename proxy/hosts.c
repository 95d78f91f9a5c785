/* The text of hosts(5) and resolv.conf(5). */
#include "hosts.h"
#include "lib/str.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"
#define SERVERS 3 /* resolv.conf(5), MAXNS */
#define PORT_DNS 53

/* The next word of a line, which a '#' or ';' ends: its size, 0 at the end. */
static size_t
next_word(const char **at)
{
	*at += strspn(*at, BLANKS);
	return strcspn(*at, BLANKS "\n#;");
}

static const char *
next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at == '\n' ? at + 1 : at;
}

static bool
parse_word(const char *word, size_t size, struct address *ret_a)
{
	char text[ADDRESS_TEXT];

	if (size >= sizeof(text))
		return false;
	memcpy(text, word, size);
	text[size] = '\0';
	return address_parse(text, ret_a);
}

static bool
line_names(const char *at, const char *name)
{
	size_t wanted = strlen(name), size;

	for (; (size = next_word(&at)) > 0; at += size) {
		size_t dot = size > 1 && at[size - 1] == '.';

		if (size - dot == wanted && strncasecmp(at, name, wanted) == 0)
			return true;
	}
	return false;
}

size_t
hosts_find(const char *text, const char *name, struct address *to, size_t most)
{
	size_t count = 0;

	for (const char *at = text; *at != '\0'; at = next_line(at)) {
		const char *word = at;
		size_t size = next_word(&word);

		if (count < most && size > 0 &&
		    parse_word(word, size, &to[count]) &&
		    line_names(word + size, name))
			count++;
	}
	return count;
}

/* ADDRESS, ADDRESS:PORT of IPv4, [ADDRESS]:PORT. */
static bool
parse_server(
    const char *word, size_t size, struct address *ret_a, int64_t *ret_port)
{
	const char *end = word + size, *colon = memrchr(word, ':', size);
	char port[8] = "";

	*ret_port = PORT_DNS;
	if (parse_word(word, size, ret_a))
		return true;
	if (colon == NULL || (size_t)(end - colon) > sizeof(port))
		return false;
	memcpy(port, colon + 1, (size_t)(end - colon - 1));
	if (str_to_int(port, 1, UINT16_MAX, ret_port) != 0)
		return false;
	size = (size_t)(colon - word);
	if (size > 2 && word[0] == '[' && word[size - 1] == ']')
		return parse_word(word + 1, size - 2, ret_a);
	return parse_word(word, size, ret_a);
}

void
hosts_servers(const char *resolv, struct buf *out)
{
	static const char keyword[] = "nameserver";
	int count = 0;

	for (const char *at = resolv; *at != '\0'; at = next_line(at)) {
		const char *word = at;
		size_t size = next_word(&word);
		char text[ADDRESS_TEXT];
		struct address a;
		int64_t port;

		if (size != sizeof(keyword) - 1 ||
		    memcmp(word, keyword, size) != 0)
			continue;
		word += size;
		size = next_word(&word);
		if (count == SERVERS || !parse_server(word, size, &a, &port))
			continue;
		address_format(&a, true, text);
		buf_addf(out, "%s%s:%d", count++ ? "," : "", text, (int)port);
	}
	if (count == 0)
		buf_adds(out, "127.0.0.1:53");
}
