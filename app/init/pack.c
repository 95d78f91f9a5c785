/* A tree as an archive. */
#include "init/pack.h"
#include "init/file_part.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "lib/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FRAME_MAX (WIRE_HEAD + WIRE_CHUNK)
#define SWAPS 10 /* of one thing for another, between two looks at it */

/* Memory is this and, for each directory on the way, its descriptor and what
 * readdir(3) holds of it: the length of a path bounds how deep that is. */
struct pack {
	struct file_op *f;
	struct buf frame; /* WIRE_DATA in the making */
	struct buf path;  /* of the request, and from name on in the archive */
	size_t name;
	char target[WIRE_PATH_MAX + 1]; /* not on the stack: it may be deep */
};

static int
fail_errno(struct pack *p, int error)
{
	return file_fail_errno(p->f, p->path.data, error);
}

/* -- frames ---------------------------------------------------------------- */

static void
begin_frame(struct pack *p)
{
	static const char head[WIRE_HEAD]; /* filled in at its end */

	buf_reset(&p->frame);
	buf_add(&p->frame, head, sizeof(head));
}

static int
send_frame(struct pack *p)
{
	if (p->frame.size == WIRE_HEAD)
		return 0;
	wire_head(p->frame.data, WIRE_DATA, p->frame.size - WIRE_HEAD);
	if (file_send(p->f, &p->frame) != 0)
		return -1;
	begin_frame(p);
	return 0;
}

static int
need_room(struct pack *p, size_t size)
{
	return FRAME_MAX - p->frame.size >= size ? 0 : send_frame(p);
}

/* -- entries --------------------------------------------------------------- */

static int
put_header(struct pack *p, enum tar_type type, const struct stat *st,
    const char *target)
{
	struct wire_stat about;

	file_describe(st, "", target, &about);
	const struct tar_entry x = {
	    .type = type,
	    .name = p->path.data + p->name,
	    .link = target,
	    .mode = about.mode,
	    .size = about.size,
	    .mtime_ns = about.mtime_ns,
	    .uid = st->st_uid,
	    .gid = st->st_gid,
	};
	if (need_room(p, TAR_PUT_MAX) != 0)
		return -1;
	tar_put(&p->frame, &x);
	return 0;
}

/* As many bytes as the header says, whatever becomes of the file. */
static int
put_content(struct pack *p, int fd, uint64_t left)
{
	while (left > 0) {
		if (need_room(p, 1) != 0)
			return -1;
		size_t room = FRAME_MAX - p->frame.size;
		size_t want = left < room ? (size_t)left : room;
		char *to = buf_grow(&p->frame, want);
		ssize_t n = read(fd, to, want);

		if (n < 0)
			return fail_errno(p, errno);
		if (n == 0) {
			memset(to, 0, want);
			n = (ssize_t)want;
		}
		p->frame.size += (size_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

static int
put_file(struct pack *p, int fd, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;

	if (put_header(p, TAR_FILE, st, "") != 0 ||
	    put_content(p, fd, size) != 0 || need_room(p, TAR_BLOCK) != 0)
		return -1;
	tar_put_padding(&p->frame, size);
	return 0;
}

static int put_entries(struct pack *p, int fd);

/* These return 1 where something else has come to stand under that name. */

static int
put_link(struct pack *p, int dir, const char *name, const struct stat *st)
{
	ssize_t n = readlinkat(dir, name, p->target, sizeof(p->target) - 1);

	if (n < 0)
		return errno == EINVAL || errno == ENOENT
			   ? 1
			   : fail_errno(p, errno);
	p->target[n] = '\0';
	return put_header(p, TAR_SYMLINK, st, p->target);
}

static int
put_opened(struct pack *p, int dir, const char *name)
{
	/* Somebody may swap it for a fifo now: O_NONBLOCK. */
	FD_AUTO fd = openat(dir, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
		return 1;
	if (fd < 0 || fstat(fd, &st) != 0)
		return fail_errno(p, errno);
	if (S_ISREG(st.st_mode))
		return put_file(p, fd, &st);
	if (!S_ISDIR(st.st_mode))
		return 1;
	if (put_header(p, TAR_DIRECTORY, &st, "") != 0)
		return -1;
	return put_entries(p, fd_take(&fd));
}

static int
put_entry(struct pack *p, int dir, const char *name)
{
	int rc = 1;

	if (p->path.over || p->path.size - p->name > TAR_PATH_MAX)
		return fail_errno(p, ENAMETOOLONG);
	for (int swaps = 0; rc == 1 && swaps < SWAPS; swaps++) {
		struct stat st;

		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			return errno == ENOENT ? 0 : fail_errno(p, errno);
		if (S_ISLNK(st.st_mode))
			rc = put_link(p, dir, name, &st);
		else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			rc = put_opened(p, dir, name);
		else
			rc = 0;
	}
	return rc == 1 ? fail_errno(p, EBUSY) : rc;
}

static void
shorten(struct buf *path, size_t size)
{
	path->size = size;
	path->data[size] = '\0';
}

/* All that is in a directory. Closes fd. */
static int
put_entries(struct pack *p, int fd)
{
	const struct dirent *entry;
	size_t size = p->path.size;
	DIR *dir = fdopendir(fd);
	int rc = 0;

	if (dir == NULL) {
		rc = fail_errno(p, errno);
		fd_close(&fd);
		return rc;
	}
	while (rc == 0 && ((void)(errno = 0), entry = readdir(dir)) != NULL) {
		if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."))
			continue;
		buf_addf(
		    &p->path, "%s%s", size > p->name ? "/" : "", entry->d_name);
		rc = put_entry(p, dirfd(dir), entry->d_name);
		shorten(&p->path, size);
	}
	if (rc == 0 && errno != 0)
		rc = fail_errno(p, errno);
	(void)closedir(dir);
	return rc;
}

/* -- the whole ------------------------------------------------------------- */

/* The request's path, which has to be a file or a directory. */
static int
open_top(struct file_op *f, struct stat *ret_st)
{
	struct beneath b;

	if (file_find(f, f->x.path, BENEATH_FOLLOW, &b) != 0)
		return -1;
	FD_AUTO dir = b.dir;
	if (fstatat(dir, b.name, ret_st, AT_SYMLINK_NOFOLLOW) != 0)
		return file_fail_errno(f, f->x.path, errno);
	return file_open(
	    f, S_ISDIR(ret_st->st_mode) ? S_IFDIR : S_IFREG, ret_st);
}

static int
put_top(struct pack *p, int fd, const struct stat *st)
{
	const char *path = p->f->x.path;

	buf_adds(&p->path, path);
	if (S_ISDIR(st->st_mode)) {
		buf_adds(&p->path, path[0] != '\0' ? "/" : "");
		p->name = p->path.size;
		return put_entries(p, fd);
	}
	p->name = (size_t)(file_name(path) - path);
	int rc = put_file(p, fd, st);
	fd_close(&fd);
	return rc;
}

int
pack_run(struct file_op *f)
{
	struct pack p = {.f = f,
	    .frame = BUF_INIT(FRAME_MAX),
	    .path = BUF_INIT(WIRE_PATH_MAX + 1 + 2 * TAR_PATH_MAX)};
	struct stat st;
	int fd = open_top(f, &st);

	if (fd < 0)
		return -1;
	begin_frame(&p);
	int rc = file_say(f, WIRE_STARTED);
	if (rc == 0)
		rc = put_top(&p, fd, &st);
	else
		fd_close(&fd);
	if (rc == 0)
		rc = need_room(&p, 2 * (size_t)TAR_BLOCK);
	if (rc == 0) {
		tar_put_end(&p.frame);
		rc = send_frame(&p);
	}
	buf_release(&p.frame);
	buf_release(&p.path);
	return rc == 0 ? file_say(f, WIRE_DATA_END) : -1;
}
