/* The directory in which commands work. */
#include "init/work.h"

#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int
work_make(const struct passwd_user *u)
{
	struct stat st;

	if (mkdir(WORK_PATH, 0755) != 0 && errno != EEXIST)
		return -1;
	if (stat(WORK_PATH, &st) != 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	/* Where an image made it a link, the target has its owner. */
	if (lstat(WORK_PATH, &st) != 0 || !S_ISDIR(st.st_mode) || u->uid == 0)
		return 0;
	if (st.st_uid != u->uid && lchown(WORK_PATH, u->uid, u->gid) != 0)
		return -1;
	if ((st.st_mode & S_IRWXU) != S_IRWXU)
		return chmod(WORK_PATH, (st.st_mode & 07777) | S_IRWXU);
	return 0;
}

void
work_own(const char *path, const struct passwd_user *u)
{
	const struct dirent *entry;
	bool empty = true;
	DIR *dir = u->uid != 0 && *path != '\0' ? opendir(path) : NULL;

	if (dir == NULL)
		return;
	while (empty && (entry = readdir(dir)) != NULL)
		empty =
		    str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..");
	if (empty)
		(void)fchown(dirfd(dir), u->uid, u->gid);
	(void)closedir(dir);
}

void
work_restore(const struct passwd_user *u)
{
	struct stat st;

	if (lstat(WORK_PATH, &st) != 0 && errno == ENOENT)
		(void)work_make(u);
}
