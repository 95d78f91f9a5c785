/* Names of the warm cache. */
#include "run/warm_name.h"
#include "lib/str.h"
#include "lib/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MAX 63
#define NAME_MAX_BYTES 255
/* Of what was sent, in an error's text. */
#define QUOTED 200

/* What a system, or ours, lives from. */
static const char *const taken[] = {"/proc", "/sys", "/dev", "/etc", "/bin",
    "/usr", "/lib", "/lib32", "/lib64", "/sbin", "/boot", "/run", "/.sbx"};

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Lower-case already. */
static bool
is_segment(const char *s, size_t size)
{
	if (size == 0 || size > SEGMENT_MAX || !is_alnum(s[0]) ||
	    s[size - 1] == '.')
		return false;
	for (size_t i = 1; i < size; i++)
		if (!is_alnum(s[i]) && strchr("_.-", s[i]) == NULL)
			return false;
	return true;
}

static bool
is_repo(const char *s)
{
	size_t segments = 0;

	for (;; s++) {
		size_t size = strcspn(s, "/");

		if (!is_segment(s, size))
			return false;
		segments++;
		s += size;
		if (*s == '\0')
			return segments >= 2;
	}
}

int
warm_repo_read(const char *text, char to[WARM_REPO_SIZE], struct err *e)
{
	char repo[WARM_REPO_SIZE];
	size_t size = strlen(text);

	if (size < sizeof(repo)) {
		memcpy(repo, text, size + 1);
		str_lower(repo);
	}
	if (size >= sizeof(repo) || !is_repo(repo))
		return err_set(e, ERR_INPUT,
		    "repo \"%.*s\" must be owner/name: two or more "
		    "segments of a-z, 0-9, '_', '.' and '-', each of at most "
		    "%d characters, beginning with a letter or digit and not "
		    "ending in '.'; at most %d characters together.",
		    QUOTED, text, SEGMENT_MAX, WARM_REPO_SIZE - 1);
	memcpy(to, repo, size + 1);
	return 0;
}

/* Plain: no dot names, nothing that a person could not see. */
static bool
is_name(const char *s, size_t size)
{
	if (size == 0 || size > NAME_MAX_BYTES || (size == 1 && s[0] == '.') ||
	    (size == 2 && s[0] == '.' && s[1] == '.'))
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return utf8_valid(s, size);
}

/* Absolute, of plain names; size counts no trailing slash. */
static bool
is_path(const char *s, size_t size)
{
	const char *end = s + size;

	if (size == 0 || size >= WARM_PATH_SIZE || *s != '/')
		return false;
	while (s < end) {
		const char *name = s + 1;
		size_t name_size = strcspn(name, "/");

		if (name_size > (size_t)(end - name))
			name_size = (size_t)(end - name);
		if (!is_name(name, name_size))
			return false;
		s = name + name_size;
	}
	return true;
}

static bool
is_taken(const char *path)
{
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		size_t size = strlen(taken[i]);

		if (str_starts(path, taken[i]) &&
		    (path[size] == '\0' || path[size] == '/'))
			return true;
	}
	return false;
}

int
warm_path_read(const char *text, char to[WARM_PATH_SIZE], struct err *e)
{
	char path[WARM_PATH_SIZE];
	size_t size = strlen(text);

	if (size > 1 && text[size - 1] == '/')
		size--;
	if (!is_path(text, size))
		return err_set(e, ERR_INPUT,
		    "path \"%.*s\" must be absolute, of plain segments (none "
		    "empty, '.' or '..', no control characters, UTF-8), and "
		    "at most %d bytes.",
		    QUOTED, text, WARM_PATH_SIZE - 1);
	memcpy(path, text, size);
	path[size] = '\0';
	if (is_taken(path))
		return err_set(e, ERR_INPUT,
		    "path \"%.*s\" is what a system lives from: it must not be "
		    "at or under /proc /sys /dev /etc /bin /usr /lib /lib32 "
		    "/lib64 /sbin /boot /run /.sbx.",
		    QUOTED, text);
	memcpy(to, path, size + 1);
	return 0;
}

static void
replace(char *s, char old, char new)
{
	for (; *s != '\0'; s++)
		if (*s == old)
			*s = new;
}

void
warm_repo_file(const char *repo, char to[WARM_REPO_SIZE])
{
	(void)snprintf(to, WARM_REPO_SIZE, "%s", repo);
	replace(to, '/', '+');
}

int
warm_repo_of_file(const char *file, char to[WARM_REPO_SIZE])
{
	char repo[WARM_REPO_SIZE];
	size_t size = strlen(file);

	if (size >= sizeof(repo) || strchr(file, '/') != NULL)
		return -1;
	memcpy(repo, file, size + 1);
	replace(repo, '+', '/');
	if (!is_repo(repo))
		return -1;
	memcpy(to, repo, size + 1);
	return 0;
}
