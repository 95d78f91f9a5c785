/* Credentials of registries. */
#include "docker/auth.h"
#include "lib/base64.h"
#include "lib/jw.h"
#include "lib/str.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

#define LOGIN_MAX (16u * 1024)

/* "https://index.docker.io/v1/" and "host:5000" both name a host. */
static bool
names_host(const char *key, const char *host)
{
	if (str_starts(key, "https://"))
		key += 8;
	else if (str_starts(key, "http://"))
		key += 7;
	size_t size = strcspn(key, "/");
	if (str_eq(host, "docker.io") || str_eq(host, "index.docker.io"))
		return (size == 15 &&
			   memcmp(key, "index.docker.io", 15) == 0) ||
		       (size == 9 && memcmp(key, "docker.io", 9) == 0);
	return size == strlen(host) && strncasecmp(key, host, size) == 0;
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* `auth` is base64 of user:password; older files spell them out. */
static int
write_login(struct jw *w, const json_t *entry)
{
	BUF_AUTO login = BUF_INIT(LOGIN_MAX);
	const char *user = text_of(entry, "username");
	const char *password = text_of(entry, "password");

	if (text_of(entry, "auth")[0] != '\0') {
		if (base64_decode(text_of(entry, "auth"), &login) != 0)
			return -1;
		char *colon = strchr(login.data, ':');
		if (colon == NULL)
			return -1;
		*colon = '\0';
		user = login.data;
		password = colon + 1;
	}
	jw_str(w, "username", user);
	jw_str(w, "password", password);
	return 0;
}

static int
write_entry(const json_t *entry, const char *host, struct buf *to)
{
	BUF_AUTO json = BUF_INIT(4 * LOGIN_MAX);
	struct jw w = JW_INIT(&json);

	jw_open(&w, '{');
	if (write_login(&w, entry) != 0)
		return -1;
	if (text_of(entry, "identitytoken")[0] != '\0')
		jw_str(&w, "identitytoken", text_of(entry, "identitytoken"));
	if (text_of(entry, "registrytoken")[0] != '\0')
		jw_str(&w, "registrytoken", text_of(entry, "registrytoken"));
	jw_str(&w, "serveraddress",
	    str_eq(host, "docker.io") ? "https://index.docker.io/v1/" : host);
	jw_close(&w, '}');
	base64url_encode(json.data, json.size, to);
	return json.over ? -1 : 0;
}

int
auth_header(const char *config, size_t size, const char *host, struct buf *to,
    struct err *e)
{
	json_auto_t *file = json_loadb(config, size, 0, NULL);
	const char *key;
	json_t *entry;

	if (!json_is_object(file))
		return err_set(e, ERR_INTERNAL,
		    "the file of SBX_DOCKER_CONFIG is not JSON");
	json_object_foreach(json_object_get(file, "auths"), key, entry)
	{
		if (!names_host(key, host))
			continue;
		if (write_entry(entry, host, to) != 0)
			return err_set(e, ERR_INTERNAL,
			    "SBX_DOCKER_CONFIG: the entry of %s makes no sense",
			    host);
		return 0;
	}
	return 0;
}
