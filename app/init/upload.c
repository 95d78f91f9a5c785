/* A file in the making. */
#include "init/upload.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void
upload_random_name(const char *prefix, char to[UPLOAD_NAME])
{
	unsigned char bytes[8];
	char hex[2 * sizeof(bytes) + 1];

	/* Not a secret: two that are alike fail, that is all. */
	(void)!getrandom(bytes, sizeof(bytes), 0);
	str_hex(hex, bytes, sizeof(bytes));
	(void)snprintf(to, UPLOAD_NAME, "%s%s", prefix, hex);
}

/* The path by which linkat(2) finds a file that has no name: the descriptor
 * itself would take CAP_DAC_READ_SEARCH before Linux 6.10. */
void
upload_own_path(int fd, char to[UPLOAD_OWN_PATH])
{
	(void)snprintf(to, UPLOAD_OWN_PATH, "/proc/self/fd/%d", fd);
}

/* A file without a name, and a /proc by which it can be given one; or -1. */
static int
open_nameless(int dir)
{
	FD_AUTO fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct stat st, seen;
	char path[UPLOAD_OWN_PATH];

	if (fd < 0)
		return -1;
	upload_own_path(fd, path);
	if (fstat(fd, &st) != 0 || stat(path, &seen) != 0 ||
	    st.st_dev != seen.st_dev || st.st_ino != seen.st_ino)
		return -1;
	return fd_take(&fd);
}

int
upload_open(struct upload *ret_u, int dir)
{
	*ret_u = (struct upload){.dir = dir, .fd = open_nameless(dir)};
	if (ret_u->fd >= 0)
		return 0;
	/* Whatever it was, this way tells whether the directory takes files. */
	upload_random_name(UPLOAD_PREFIX, ret_u->name);
	ret_u->fd = openat(dir, ret_u->name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (ret_u->fd < 0)
		ret_u->name[0] = '\0';
	return ret_u->fd >= 0 ? 0 : -1;
}

int
upload_write(struct upload *u, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(u->fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

int
upload_place(struct upload *u, const char *name, bool replace)
{
	if (u->name[0] == '\0') {
		char path[UPLOAD_OWN_PATH];

		upload_own_path(u->fd, path);
		if (linkat(AT_FDCWD, path, u->dir, name, AT_SYMLINK_FOLLOW) ==
		    0)
			return 0;
		if (errno != EEXIST || !replace)
			return -1;
		/* link(2) replaces nothing: this needs a name for a moment. */
		upload_random_name(UPLOAD_PREFIX, u->name);
		if (linkat(AT_FDCWD, path, u->dir, u->name,
			AT_SYMLINK_FOLLOW) != 0) {
			u->name[0] = '\0';
			return -1;
		}
	}
	/* The other name goes with upload_release. */
	if (!replace)
		return linkat(u->dir, u->name, u->dir, name, 0);
	if (renameat(u->dir, u->name, u->dir, name) != 0)
		return -1;
	u->name[0] = '\0';
	return 0;
}

void
upload_release(struct upload *u)
{
	if (u->name[0] != '\0')
		(void)unlinkat(u->dir, u->name, 0);
	u->name[0] = '\0';
	fd_close(&u->fd);
}
