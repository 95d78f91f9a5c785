/* A file that is written as a whole, or not at all. */
#include "init/file_part.h"
#include "init/upload.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MODE_NEW 0644

/*
 * What stands in the file's place: its mode, or MODE_NEW. A file that somebody
 * else owns becomes ours, so what it let others be goes.
 */
static int
look(struct file_op *f, const struct beneath *b, mode_t *ret_mode)
{
	struct stat st;

	*ret_mode = MODE_NEW;
	if (fstatat(b->dir, b->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0
				       : file_fail_errno(f, f->x.path, errno);
	if (S_ISDIR(st.st_mode))
		return file_fail_errno(f, f->x.path, EISDIR);
	/* A link stands here where one was put here just now: it goes. */
	if (S_ISLNK(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode))
		return file_fail_errno(f, f->x.path, ENXIO);
	*ret_mode = st.st_mode & 07777;
	if (st.st_uid != geteuid())
		*ret_mode &= (mode_t) ~(S_ISUID | S_ISGID);
	return 0;
}

static int
fill(struct file_op *f, struct upload *u)
{
	const char *bytes;
	uint64_t total = 0;
	size_t size;
	int rc;

	while ((rc = file_receive(f, &bytes, &size)) == 1) {
		total += size;
		if (f->x.limit != 0 && total > f->x.limit)
			return file_fail(f, WIRE_FAIL_LARGE,
			    "The file is larger than may be uploaded");
		if (upload_write(u, bytes, size) != 0)
			return file_fail_errno(f, f->x.path, errno);
	}
	return rc;
}

static int
place(struct file_op *f, const struct beneath *b, struct upload *u)
{
	mode_t mode;

	if (look(f, b, &mode) != 0)
		return -1;
	if (fchmod(u->fd, mode) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if (!file_may_finish(f))
		return file_fail_fenced(f);
	if (upload_place(u, b->name) != 0)
		return file_fail_errno(f, f->x.path, errno);
	return 0;
}

static int
put(struct file_op *f, const struct beneath *b)
{
	struct upload u;
	mode_t mode;

	if (look(f, b, &mode) != 0)
		return -1;
	if (upload_open(&u, b->dir) != 0)
		return file_fail_errno(f, f->x.path, errno);
	int rc = file_say(f, WIRE_STARTED);
	if (rc == 0)
		rc = fill(f, &u);
	if (rc == 0)
		rc = place(f, b, &u);
	upload_release(&u);
	return rc == 0 ? file_say(f, WIRE_DONE) : -1;
}

int
file_put(struct file_op *f)
{
	struct beneath b;

	if (file_find(f, f->x.path, BENEATH_FOLLOW | BENEATH_MAKE, &b) != 0)
		return -1;
	int rc = put(f, &b);
	fd_close(&b.dir);
	return rc;
}
