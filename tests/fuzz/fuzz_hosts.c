/*
 * proxy/hosts: what is found in a text is found in its lines, one by one; the
 * servers are addresses with a port, and are read from resolv.conf again as
 * they were written. The first line is the name that is looked for.
 */
#include "../../proxy/hosts.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8
#define SERVERS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_find(const char *name, const char *text)
{
	struct address all[MOST], one[MOST];
	size_t count = hosts_find(text, name, all, MOST), seen = 0;

	if (count > MOST || hosts_find(text, name, one, 1) > 1)
		abort();
	for (const char *at = text; *at != '\0';) {
		size_t size = strcspn(at, "\n");
		char *line = mem_strndup(at, size);
		size_t found = hosts_find(line, name, one, MOST);

		free(line);
		if (found > 1 || (found == 1 && seen < MOST &&
				     !address_equal(&one[0], &all[seen++])))
			abort();
		at += size + (at[size] != '\0');
	}
	if (seen != count)
		abort();
}

static void
check_servers(const char *text)
{
	BUF_AUTO servers = BUF_INIT(1024);
	BUF_AUTO resolv = BUF_INIT(1024);
	BUF_AUTO again = BUF_INIT(1024);
	const char *at, *server;
	size_t size, count = 0;

	hosts_servers(text, &servers);
	at = servers.data;
	while ((server = str_word(&at, ",", &size)) != NULL) {
		buf_addf(&resolv, "nameserver %.*s\n", (int)size, server);
		count++;
	}
	hosts_servers(resolv.data, &again);
	if (servers.over || count < 1 || count > SERVERS ||
	    !str_eq(servers.data, again.data))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t name_size = end != NULL ? (size_t)(end - data) : 0;

	if (end == NULL || name_size > 253)
		return 0;
	char *name = mem_strndup((const char *)data, name_size);
	char *text = mem_strndup((const char *)end + 1, size - name_size - 1);
	if (*name != '\0')
		check_find(name, text);
	check_servers(text);
	free(name);
	free(text);
	return 0;
}
