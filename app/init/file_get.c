/* The bytes of a file. */
#include "init/file_part.h"
#include "init/upload.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FRAMES 2 /* in one write(2) */

int
file_find(struct file_op *f, const char *path, int how, struct beneath *ret_b)
{
	struct err e = ERR_INIT;
	enum wire_fail why;

	if (beneath_find(&f->root, path, how, ret_b, &why, &e) != 0)
		return file_fail(f, why, e.text);
	return 0;
}

/* Not that type. Returns -1. */
static int
refuse(struct file_op *f, mode_t type, mode_t mode)
{
	if (type == S_IFDIR)
		return file_fail(f, WIRE_FAIL_FILE, "It is a file");
	return file_fail_errno(f, f->x.path, S_ISDIR(mode) ? EISDIR : ENXIO);
}

/*
 * What seen (O_PATH) is, for reading. A file by /proc, where that leads to it:
 * by its name it may be another one meanwhile, which is no harm (it is below
 * the root, and O_NONBLOCK waits for none), but is not always what was seen.
 */
static int
open_seen(const struct beneath *b, int seen, mode_t type)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	char path[UPLOAD_OWN_PATH];
	struct stat st, same;

	if (type == S_IFDIR)
		return openat(seen, ".", flags | O_DIRECTORY);
	upload_own_path(seen, path);
	FD_AUTO fd = open(path, flags);
	if (fd >= 0 && fstat(seen, &st) == 0 && fstat(fd, &same) == 0 &&
	    st.st_dev == same.st_dev && st.st_ino == same.st_ino)
		return fd_take(&fd);
	return openat(b->dir, b->name, flags | O_NOFOLLOW);
}

static int
open_typed(struct file_op *f, const struct beneath *b, int seen, mode_t type,
    struct stat *ret_st)
{
	if (fstat(seen, ret_st) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if ((ret_st->st_mode & S_IFMT) != type)
		return refuse(f, type, ret_st->st_mode);
	FD_AUTO fd = open_seen(b, seen, type);
	if (fd < 0 || fstat(fd, ret_st) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if ((ret_st->st_mode & S_IFMT) != type)
		return refuse(f, type, ret_st->st_mode);
	return fd_take(&fd);
}

int
file_open(struct file_op *f, mode_t type, struct stat *ret_st)
{
	struct err e = ERR_INIT;
	enum wire_fail why;
	struct beneath b;
	int seen;

	if (beneath_open(&f->root, f->x.path, &b, &seen, &why, &e) != 0)
		return file_fail(f, why, e.text);
	int fd = open_typed(f, &b, seen, type, ret_st);
	fd_close(&seen);
	fd_close(&b.dir);
	return fd;
}

/* Frames of left bytes at most from *at on, and the end after the last of them.
 * -1: there are not so many any more. */
static int
take(int fd, struct buf *frames, off_t *at, uint64_t *left)
{
	buf_reset(frames);
	for (int i = 0; i<FRAMES && * left> 0; i++) {
		size_t want = *left < WIRE_CHUNK ? (size_t)*left : WIRE_CHUNK;
		char *frame = buf_grow(frames, WIRE_HEAD + want);
		ssize_t n = pread(fd, frame + WIRE_HEAD, want, *at);

		if (n <= 0)
			return -1;
		wire_head(frame, WIRE_DATA, (size_t)n);
		frames->size += WIRE_HEAD + (size_t)n;
		*at += n;
		*left -= (uint64_t)n;
	}
	if (*left == 0)
		wire_put(frames, WIRE_DATA_END, NULL, 0);
	return 0;
}

static int
send_bytes(struct file_op *f, int fd, off_t at, uint64_t left)
{
	BUF_AUTO frames =
	    BUF_INIT(FRAMES * (WIRE_HEAD + WIRE_CHUNK) + WIRE_HEAD);
	bool more;

	do {
		/* The size is told: what has shrunk ends with the connection,
		 * so that the host does not take it for whole. */
		if (take(fd, &frames, &at, &left) != 0)
			return -1;
		more = left > 0;
		if (file_send(f, &frames) != 0)
			return -1;
	} while (more);
	return 0;
}

int
file_get(struct file_op *f)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + WIRE_MAX);
	struct wire_stat about;
	struct wire_read wanted;
	struct stat st;
	FD_AUTO fd = file_open(f, S_IFREG, &st);

	if (fd < 0)
		return -1;
	file_describe(&st, file_name(f->x.path), "", &about);
	wire_put_stat(&frame, &about);
	if (file_send_open(f, &frame, fd) != 0 ||
	    file_receive_read(f, &wanted) != 0)
		return -1;
	uint64_t there =
	    about.size > wanted.offset ? about.size - wanted.offset : 0;
	if (wanted.size > WIRE_CHUNK)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return send_bytes(f, fd, (off_t)wanted.offset,
	    wanted.size < there ? wanted.size : there);
}
