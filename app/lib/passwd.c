/* Looking users and groups up in the text of passwd(5) and group(5). */
#include "lib/passwd.h"
#include "lib/str.h"

#include <stdbool.h>
#include <string.h>

#define FIELDS 7	  /* passwd has seven, group has four */
#define ID_MAX 2147483647 /* (uid_t)-1 means "leave it" to setresuid(2) */

struct field {
	const char *at;
	size_t size;
};

/* Take the next line off *t as fields split at ':'. False at the end. */
static bool
next_line(struct passwd_text *t, struct field to[FIELDS], size_t *ret_count)
{
	if (t->size == 0)
		return false;
	const char *nl = memchr(t->bytes, '\n', t->size);
	size_t line = nl != NULL ? (size_t)(nl - t->bytes) : t->size;
	const char *at = t->bytes, *end = t->bytes + line;
	size_t count = 0;

	while (count < FIELDS) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon != NULL ? colon : end;

		to[count++] = (struct field){at, (size_t)(stop - at)};
		if (colon == NULL)
			break;
		at = colon + 1;
	}
	size_t used = line + (nl != NULL);
	t->bytes += used;
	t->size -= used;
	*ret_count = count;
	return true;
}

static bool
same(struct field f, const char *s, size_t size)
{
	return f.size == size && memcmp(f.at, s, size) == 0;
}

/* The digits of a user or group id, and nothing else. */
static bool
read_id(const char *at, size_t size, uint32_t *ret_id)
{
	char digits[11];
	int64_t id;

	if (size == 0 || size >= sizeof(digits) || at[0] == '-')
		return false;
	memcpy(digits, at, size);
	digits[size] = '\0';
	if (str_to_int(digits, 0, ID_MAX, &id) != 0)
		return false;
	*ret_id = (uint32_t)id;
	return true;
}

/* The name in an entry of that user, or of size 0 where there is none. */
static struct field
find_user(const char *s, size_t size, struct passwd_text passwd,
    bool *ret_found, struct passwd_user *u)
{
	struct field f[FIELDS];
	size_t count;
	uint32_t wanted = 0, uid, gid;
	bool number = read_id(s, size, &wanted);

	while (next_line(&passwd, f, &count)) {
		if (count < 4 || f[0].size == 0 ||
		    !read_id(f[2].at, f[2].size, &uid) ||
		    !read_id(f[3].at, f[3].size, &gid))
			continue;
		if (number ? uid != wanted : !same(f[0], s, size))
			continue;
		u->uid = uid;
		u->gid = gid;
		if (count > 5 && f[5].size > 0 && f[5].size < PASSWD_HOME &&
		    memchr(f[5].at, '\0', f[5].size) == NULL) {
			memcpy(u->home, f[5].at, f[5].size);
			u->home[f[5].size] = '\0';
		}
		*ret_found = true;
		return f[0];
	}
	if (number)
		u->uid = wanted;
	*ret_found = number;
	return (struct field){s, 0};
}

static bool
find_group(
    const char *s, size_t size, struct passwd_text group, uint32_t *ret_gid)
{
	struct field f[FIELDS];
	size_t count;

	if (read_id(s, size, ret_gid))
		return true;
	while (next_line(&group, f, &count))
		if (count >= 3 && f[0].size > 0 && same(f[0], s, size) &&
		    read_id(f[2].at, f[2].size, ret_gid))
			return true;
	return false;
}

static bool
lists(struct field members, struct field name)
{
	const char *at = members.at, *end = at + members.size;

	for (;;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma != NULL ? comma : end;

		if (same((struct field){at, (size_t)(stop - at)}, name.at,
			name.size))
			return true;
		if (comma == NULL)
			return false;
		at = comma + 1;
	}
}

static void
add_groups(struct field name, struct passwd_text group, struct passwd_user *u)
{
	struct field f[FIELDS];
	size_t count;
	uint32_t gid;

	while (u->group_count < PASSWD_GROUPS && next_line(&group, f, &count))
		if (count >= 4 && read_id(f[2].at, f[2].size, &gid) &&
		    gid != u->gid && lists(f[3], name))
			u->groups[u->group_count++] = gid;
}

int
passwd_find(const char *spec, struct passwd_text passwd,
    struct passwd_text group, struct passwd_user *ret_user, struct err *e)
{
	const char *colon = strchr(spec, ':');
	size_t size = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
	const char *group_spec = colon != NULL ? colon + 1 : "";
	struct passwd_user u = {.home = "/"};
	bool found;
	struct field name = size > 0 ? find_user(spec, size, passwd, &found, &u)
				     : find_user("0", 1, passwd, &found, &u);

	if (!found)
		return err_set(e, ERR_INPUT, "no such user in the image: %.*s",
		    (int)(size < 100 ? size : 100), spec);
	if (group_spec[0] != '\0' &&
	    !find_group(group_spec, strlen(group_spec), group, &u.gid))
		return err_set(e, ERR_INPUT,
		    "no such group in the image: %.100s", group_spec);
	/* As Docker does since CVE-2022-36109: the group itself is among the
	 * supplementary ones; others only where no group was asked for. */
	u.groups[u.group_count++] = u.gid;
	if (group_spec[0] == '\0' && name.size > 0)
		add_groups(name, group, &u);
	*ret_user = u;
	return 0;
}
