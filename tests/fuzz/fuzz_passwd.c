/*
 * lib/passwd: ids within range and a home that is text, whatever the files
 * say; nothing outside them is read. The input is the user, passwd and group,
 * each ended by a zero byte.
 */
#include "lib/mem.h"
#include "lib/passwd.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next part, as a copy of its own. */
static char *
part(const uint8_t **at, const uint8_t *end, size_t *ret_size)
{
	size_t left = (size_t)(end - *at);
	const uint8_t *zero = left > 0 ? memchr(*at, 0, left) : NULL;
	size_t size = zero != NULL ? (size_t)(zero - *at) : left;
	char *copy = mem_alloc(size);

	if (size > 0)
		memcpy(copy, *at, size);
	*at += size + (zero != NULL);
	*ret_size = size;
	return copy;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct passwd_text passwd, group;
	struct passwd_user u = {0};
	struct err e = ERR_INIT;
	size_t spec_size;

	char *text = part(&data, end, &spec_size);
	char *spec = mem_strndup(text, spec_size);
	char *passwd_copy = part(&data, end, &passwd.size);
	char *group_copy = part(&data, end, &group.size);
	passwd.bytes = passwd_copy;
	group.bytes = group_copy;
	int rc = passwd_find(spec, passwd, group, &u, &e);
	if (rc == 0 &&
	    (u.uid > 2147483647 || u.gid > 2147483647 || u.group_count < 1 ||
		u.group_count > PASSWD_GROUPS || u.groups[0] != u.gid ||
		memchr(u.home, '\0', sizeof(u.home)) == NULL ||
		u.home[0] == '\0'))
		abort();
	if (rc != 0 && e.kind != ERR_INPUT)
		abort();
	free(text);
	free(spec);
	free(passwd_copy);
	free(group_copy);
	return 0;
}
