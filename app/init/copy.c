/* Making one directory what another one is. */
#include "init/copy.h"
#include "lib/fd.h"
#include "lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "sbx-init copy: %s: %s\n", what, why);
	return 1;
}

/* Links on the way lead where they led the engine: within this container. */
static int
make_all(const char *path)
{
	char part[PATH_MAX];
	size_t size = strlen(path);

	if (size >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 1; i <= size; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

int
copy_run(const char *from, const char *to)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;
	FD_AUTO source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (source < 0)
		return fail(from, strerror(errno));
	if (make_all(to) != 0)
		return fail(to, strerror(errno));
	FD_AUTO target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target < 0)
		return fail(to, strerror(errno));
	if (tree_empty(target, NULL, &e) != 0)
		return fail(to, e.text);
	if (tree_copy(source, target, NULL, &sum, &e) != 0) {
		(void)fail(from, e.text);
		return e.kind == ERR_FILE_SPACE ? ENOSPC : 1;
	}
	return 0;
}
