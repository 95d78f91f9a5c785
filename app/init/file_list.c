/* What there is of files: the entries of a directory, and one path. */
#include "init/file_part.h"
#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_SENT (32u * 1024) /* at least, in one write(2) */
#define FRAME_MAX (WIRE_HEAD + 64 + WIRE_NAME_MAX + WIRE_PATH_MAX)

static enum wire_file_type
type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return WIRE_TYPE_FILE;
	case S_IFDIR:
		return WIRE_TYPE_DIRECTORY;
	case S_IFLNK:
		return WIRE_TYPE_SYMLINK;
	case S_IFIFO:
		return WIRE_TYPE_FIFO;
	case S_IFSOCK:
		return WIRE_TYPE_SOCKET;
	default:
		return WIRE_TYPE_DEVICE;
	}
}

/* FNV-1a. A file that is replaced has another inode, one that is written to
 * another change time. */
static uint64_t
tag_of(const struct stat *st)
{
	const uint64_t parts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino,
	    (uint64_t)st->st_size, (uint64_t)st->st_ctim.tv_sec,
	    (uint64_t)st->st_ctim.tv_nsec};
	uint64_t tag = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (int shift = 0; shift < 64; shift += 8) {
			tag ^= parts[i] >> shift & 0xff;
			tag *= UINT64_C(1099511628211);
		}
	return tag;
}

void
file_describe(const struct stat *st, const char *name, const char *target,
    struct wire_stat *ret_x)
{
	*ret_x = (struct wire_stat){
	    .type = type_of(st->st_mode),
	    .mode = st->st_mode & 07777,
	    .size = S_ISREG(st->st_mode) && st->st_size > 0
			? (uint64_t)st->st_size
			: 0,
	    .mtime_ns =
		(int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	    .tag = tag_of(st),
	    .name = name,
	    .target = target,
	};
}

const char *
file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* A link's target, and what st tells of the same thing, which may be another
 * one than a moment ago. -1 with errno. */
static int
read_link(
    int dir, const char *entry, struct stat *st, char target[WIRE_PATH_MAX + 1])
{
	FD_AUTO fd = openat(dir, entry, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st) != 0)
		return -1;
	if (!S_ISLNK(st->st_mode))
		return 0;
	ssize_t n = readlinkat(fd, "", target, WIRE_PATH_MAX);
	if (n < 0)
		return -1;
	target[n] = '\0';
	return 0;
}

/* Append a WIRE_STAT. -1 with errno: ENOENT where it is gone. */
static int
put_stat(struct buf *frames, int dir, const char *entry, const char *name)
{
	char target[WIRE_PATH_MAX + 1];
	struct wire_stat x;
	struct stat st;

	target[0] = '\0';
	if (fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (S_ISLNK(st.st_mode) && read_link(dir, entry, &st, target) != 0))
		return -1;
	file_describe(&st, name, target, &x);
	wire_put_stat(frames, &x);
	return 0;
}

/* One entry; what vanished meanwhile is none. */
static int
list_one(struct file_op *f, DIR *dir, const char *name, struct buf *frames)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strlen(name) > WIRE_NAME_MAX)
		return 0;
	if (put_stat(frames, dirfd(dir), name, name) != 0 && errno != ENOENT)
		return file_fail_errno(f, f->x.path, errno);
	if (frames->size < FRAMES_SENT)
		return 0;
	if (file_send(f, frames) != 0)
		return -1;
	buf_reset(frames);
	return 0;
}

static int
list(struct file_op *f, DIR *dir)
{
	BUF_AUTO frames = BUF_INIT(FRAMES_SENT + FRAME_MAX + WIRE_HEAD);
	const struct dirent *entry;

	while ((void)(errno = 0), (entry = readdir(dir)) != NULL)
		if (list_one(f, dir, entry->d_name, &frames) != 0)
			return -1;
	if (errno != 0)
		return file_fail_errno(f, f->x.path, errno);
	wire_put(&frames, WIRE_DONE, NULL, 0);
	return file_send(f, &frames);
}

int
file_list(struct file_op *f)
{
	struct stat st;
	int fd = file_open(f, S_IFDIR, &st);

	if (fd < 0)
		return -1;
	DIR *dir = fdopendir(fd);
	if (dir == NULL) {
		int error = errno;

		fd_close(&fd);
		return file_fail_errno(f, f->x.path, error);
	}
	int rc = list(f, dir);
	(void)closedir(dir);
	return rc;
}

int
file_stat(struct file_op *f)
{
	BUF_AUTO frames = BUF_INIT(FRAME_MAX + WIRE_HEAD);
	struct beneath b;

	if (file_find(f, f->x.path, 0, &b) != 0)
		return -1;
	int rc = put_stat(&frames, b.dir, b.name, file_name(f->x.path));
	int error = errno;
	fd_close(&b.dir);
	if (rc != 0)
		return file_fail_errno(f, f->x.path, error);
	wire_put(&frames, WIRE_DONE, NULL, 0);
	return file_send(f, &frames);
}
