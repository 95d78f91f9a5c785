/* Image references. The grammar is that of github.com/distribution/reference,
 * written out by hand: regcomp(3) depends on the locale and has no bounds. */
#include "docker/reference.h"
#include "lib/str.h"

#include <stdio.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"
#define TAG_MAX 128

static bool
one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

static bool
all_of(const char *s, size_t size, const char *set)
{
	for (size_t i = 0; i < size; i++)
		if (!one_of(s[i], set))
			return false;
	return size > 0;
}

/* Lower-case runs of letters and digits, joined by one '.', one or two '_', or
 * any number of '-'. */
static bool
is_path_component(const char *s, size_t size)
{
	size_t i = 0;

	for (;;) {
		size_t run = i;

		while (i < size && one_of(s[i], LOWER DIGIT))
			i++;
		if (i == run)
			return false;
		if (i == size)
			return true;
		size_t joint = i;
		while (i < size && s[i] == s[joint] && one_of(s[i], "._-"))
			i++;
		size_t most = s[joint] == '.' ? 1 : s[joint] == '_' ? 2 : size;
		if (i == joint || i - joint > most)
			return false;
	}
}

static bool
is_host_label(const char *s, size_t size)
{
	return all_of(s, size, LOWER UPPER DIGIT "-") && s[0] != '-' &&
	       s[size - 1] != '-';
}

static bool
each_part(const char *s, size_t size, char separator,
    bool (*is_part)(const char *s, size_t size))
{
	for (;;) {
		const char *at = memchr(s, separator, size);
		size_t part = at != NULL ? (size_t)(at - s) : size;

		if (!is_part(s, part))
			return false;
		if (at == NULL)
			return true;
		s += part + 1;
		size -= part + 1;
	}
}

/* A name or [IPv6 address], and perhaps :port. */
static bool
is_host(const char *s, size_t size)
{
	size_t name = size;

	while (name > 0 && one_of(s[name - 1], DIGIT))
		name--;
	if (name > 0 && name < size && s[name - 1] == ':')
		name--; /* a port follows */
	else
		name = size;
	if (name > 2 && s[0] == '[' && s[name - 1] == ']')
		return all_of(s + 1, name - 2, "abcdefABCDEF:" DIGIT);
	return each_part(s, name, '.', is_host_label);
}

static bool
is_tag(const char *s, size_t size)
{
	return size <= TAG_MAX && all_of(s, size, LOWER UPPER DIGIT "_.-") &&
	       s[0] != '.' && s[0] != '-';
}

static bool
is_digest(const char *s)
{
	static const struct {
		const char *prefix;
		size_t digits;
	} kinds[] = {{"sha256:", 64}, {"sha384:", 96}, {"sha512:", 128}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *hex = s + strlen(kinds[i].prefix);

		if (str_starts(s, kinds[i].prefix))
			return strlen(hex) == kinds[i].digits &&
			       all_of(hex, kinds[i].digits, "abcdef" DIGIT);
	}
	return false;
}

static bool
is_image_id(const char *s)
{
	const char *hex = str_starts(s, "sha256:") ? s + 7 : s;

	return strlen(hex) == 64 && all_of(hex, 64, "abcdef" DIGIT);
}

/* The first part is a host where it cannot be the path of an image at Docker's
 * own registry. */
static bool
has_host(const char *s, size_t size)
{
	if (size == 9 && memcmp(s, "localhost", 9) == 0)
		return true;
	for (size_t i = 0; i < size; i++)
		if (one_of(s[i], ".:" UPPER))
			return true;
	return false;
}

static bool
read_name(const char *name, size_t size, struct reference *r)
{
	const char *slash = memchr(name, '/', size);
	size_t first = slash != NULL ? (size_t)(slash - name) : 0;

	if (size > REFERENCE_NAME_MAX)
		return false;
	memcpy(r->name, name, size);
	if (slash == NULL || !has_host(name, first)) {
		memcpy(r->host, "docker.io", sizeof("docker.io"));
		return each_part(name, size, '/', is_path_component);
	}
	memcpy(r->host, name, first);
	return is_host(name, first) &&
	       each_part(slash + 1, size - first - 1, '/', is_path_component);
}

static bool
parse(const char *text, struct reference *r)
{
	size_t size = strcspn(text, "@");
	const char *digest = text[size] == '@' ? text + size + 1 : NULL;
	const char *colon = memrchr(text, ':', size);
	const char *slash = memrchr(text, '/', size);
	/* A colon before the last slash is a port's. */
	bool tagged = colon != NULL && (slash == NULL || colon > slash);
	size_t name = tagged ? (size_t)(colon - text) : size;
	const char *tag = tagged ? colon + 1 : "latest";
	size_t tag_size = tagged ? size - name - 1 : strlen(tag);

	if (!read_name(text, name, r) || !is_tag(tag, tag_size) ||
	    (digest != NULL && !is_digest(digest)))
		return false;
	if (digest != NULL)
		(void)snprintf(r->version, sizeof(r->version), "%s", digest);
	else
		(void)snprintf(
		    r->version, sizeof(r->version), "%.*s", (int)tag_size, tag);
	return true;
}

int
reference_parse(
    const char *text, struct reference *ret_reference, struct err *e)
{
	struct reference r = {"", "", "", false};

	if (is_image_id(text))
		r.is_id = true;
	else if (!parse(text, &r))
		return err_set(e, ERR_INPUT,
		    "image \"%.100s\" is not a reference that Docker takes",
		    text);
	*ret_reference = r;
	return 0;
}
