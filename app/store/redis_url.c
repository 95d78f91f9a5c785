/* Taking a Redis url apart. */
#include "store/redis_url.h"
#include "lib/mem.h"
#include "lib/path.h"
#include "lib/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT "6379"

static int
bad(struct err *e, const char *why)
{
	return err_set(e, ERR_INPUT,
	    "the Redis url %s; it is unix:///PATH or "
	    "redis://[USER:PASSWORD@]HOST[:PORT][/DB]",
	    why);
}

static int
copy(const char *from, size_t size, char *to, size_t room, const char *what,
    struct err *e)
{
	if (size >= room)
		return bad(e, what);
	memcpy(to, from, size);
	to[size] = '\0';
	return 0;
}

static int
decode(const char *from, size_t size, char *to, size_t room, const char *what,
    struct err *e)
{
	char *text = mem_alloc(size + 1);
	int rc = path_decode(from, size, text, e);

	if (rc != 0)
		rc = bad(e, "has a bad percent-escape");
	else
		rc = copy(text, strlen(text), to, room, what, e);
	free(text);
	return rc;
}

/* [USER]:PASSWORD before the '@'. */
static int
parse_login(const char *from, size_t size, struct redis_url *u, struct err *e)
{
	const char *colon = memchr(from, ':', size);

	if (colon == NULL)
		return bad(e, "has a user without a password");
	size_t user = (size_t)(colon - from);
	if (decode(from, user, u->user, sizeof(u->user),
		"has too long a user name", e) != 0 ||
	    decode(colon + 1, size - user - 1, u->password, sizeof(u->password),
		"has too long a password", e) != 0)
		return -1;
	if (u->password[0] == '\0')
		return bad(e, "has an empty password");
	return 0;
}

/* HOST[:PORT], the host perhaps in brackets. */
static int
parse_host(const char *from, size_t size, struct redis_url *u, struct err *e)
{
	const char *end = from + size, *host = from, *after;
	int64_t port;

	if (size > 0 && *from == '[') {
		after = memchr(from, ']', size);
		if (after == NULL)
			return bad(e, "lacks the ']' after the address");
		if (copy(from + 1, (size_t)(after - from - 1), u->host,
			sizeof(u->host), "has too long a host", e) != 0)
			return -1;
		after++;
	} else {
		after = memchr(from, ':', size);
		if (after == NULL)
			after = end;
		if (copy(host, (size_t)(after - host), u->host, sizeof(u->host),
			"has too long a host", e) != 0)
			return -1;
	}
	if (u->host[0] == '\0')
		return bad(e, "has no host");
	if (after == end)
		return copy(DEFAULT_PORT, sizeof(DEFAULT_PORT) - 1, u->port,
		    sizeof(u->port), "", e);
	if (*after != ':' ||
	    copy(after + 1, (size_t)(end - after - 1), u->port, sizeof(u->port),
		"has a bad port", e) != 0 ||
	    str_to_int(u->port, 1, 65535, &port) != 0)
		return bad(e, "has a bad port");
	return 0;
}

static int
parse_tcp(const char *rest, struct redis_url *u, struct err *e)
{
	/* A password may hold an '@' by mistake: the last one counts. */
	const char *slash = strchr(rest, '/');
	size_t size = slash ? (size_t)(slash - rest) : strlen(rest);
	const char *at = memrchr(rest, '@', size);
	int64_t db;

	if (at != NULL) {
		if (parse_login(rest, (size_t)(at - rest), u, e) != 0)
			return -1;
		size -= (size_t)(at + 1 - rest);
		rest = at + 1;
	}
	if (parse_host(rest, size, u, e) != 0)
		return -1;
	if (slash == NULL || slash[1] == '\0')
		return 0;
	if (copy(slash + 1, strlen(slash + 1), u->db, sizeof(u->db),
		"has a bad database number", e) != 0)
		return -1;
	if (str_to_int(u->db, 0, 99999, &db) != 0)
		return bad(e, "has a bad database number");
	return 0;
}

int
redis_url_parse(const char *url, struct redis_url *ret_url, struct err *e)
{
	struct redis_url u;

	memset(&u, 0, sizeof(u));
	if (strpbrk(url, "?#") != NULL)
		return bad(e, "has parameters, which are not understood");
	if (str_starts(url, "unix:///")) {
		const char *path = url + strlen("unix://");

		if (decode(path, strlen(path), u.path, sizeof(u.path),
			"has a path longer than 107 bytes", e) != 0)
			return -1;
	} else if (str_starts(url, "redis://")) {
		if (parse_tcp(url + strlen("redis://"), &u, e) != 0)
			return -1;
	} else {
		return bad(e, "has another scheme");
	}
	*ret_url = u;
	return 0;
}
