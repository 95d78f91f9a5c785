/* Overlay mounts, as the kernel tells of them. */
#include "run/mounted.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

/* In place: blanks, newlines and backslashes stand as \ooo. */
static void
unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		char octal[4] = "";

		if (from[0] == '\\')
			memcpy(octal, from + 1, strnlen(from + 1, 3));
		if (strlen(octal) == 3 && strspn(octal, "01234567") == 3) {
			*to = (char)strtol(octal, NULL, 8);
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* In place too: the options are apart by commas, those in a value escaped. */
static bool
has_option(char *options, const char *name, const char *value)
{
	size_t head = strlen(name);
	char *one;

	while ((one = strsep(&options, ",")) != NULL) {
		if (!str_starts(one, name) || one[head] != '=')
			continue;
		unescape(one);
		return str_eq(one + head + 1, value);
	}
	return false;
}

bool
mounted_line(char *line, int id, const char *lower, const char *upper)
{
	/* id parent major:minor root point options... - type source options */
	const char *field[4] = {NULL};
	int64_t number;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 4 && line != NULL; i++)
		field[i] = strsep(&line, " ");
	if (line == NULL || str_to_int(field[0], 0, INT_MAX, &number) != 0 ||
	    number != id || !str_eq(field[3], "/"))
		return false;
	char *rest = strstr(line, " - overlay ");
	if (rest == NULL)
		return false;
	char *options = strrchr(rest, ' ') + 1;
	char *again = mem_strdup(options);
	bool same = has_option(options, "lowerdir", lower) &&
		    has_option(again, "upperdir", upper);
	free(again);
	return same;
}

/* The id of the mount that fd is in, -1 where that is not told. */
static int
mount_id(int fd)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int id = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	FILE *f = fopen(path, "re");
	while (f != NULL && id < 0 && getline(&line, &room, f) > 0)
		if (str_starts(line, "mnt_id:"))
			id = (int)strtol(line + strlen("mnt_id:"), NULL, 10);
	free(line);
	if (f != NULL)
		(void)fclose(f);
	return id;
}

bool
mounted_overlay(int fd, const char *lower, const char *upper)
{
	struct statfs fs;
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	int id = mount_id(fd);
	if (id < 0 || fstatfs(fd, &fs) != 0 ||
	    fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return false;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	while (f != NULL && !found && getline(&line, &room, f) > 0)
		found = mounted_line(line, id, lower, upper);
	free(line);
	if (f != NULL)
		(void)fclose(f);
	return found;
}
