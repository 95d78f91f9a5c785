/* A file that is written as a whole, or not at all. */
#include "init/file_part.h"
#include "init/upload.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MODE_NEW 0644

static int
find(struct file_op *f, struct beneath *ret_b)
{
	return file_find(f, f->x.path, BENEATH_FOLLOW | BENEATH_MAKE, ret_b);
}

static bool
is_same(const struct file_op *f, const struct stat *st)
{
	struct wire_stat now;

	file_describe(st, "", "", &now);
	for (size_t i = 0; i < f->x.same_count; i++)
		if (f->x.same[i].tag == now.tag &&
		    f->x.same[i].size == now.size)
			return true;
	return false;
}

static int
fail_condition(struct file_op *f)
{
	return file_fail(f, WIRE_FAIL_CONDITION,
	    "The condition does not hold for what is there");
}

/* The request's condition, of what stands there (NULL: nothing). */
static int
check(struct file_op *f, const struct stat *st)
{
	bool holds = true;

	if (f->x.condition == WIRE_ABSENT)
		holds = st == NULL;
	else if (f->x.condition == WIRE_PRESENT)
		holds = st != NULL;
	else if (f->x.condition == WIRE_SAME)
		holds = st != NULL && is_same(f, st);
	return holds ? 0 : fail_condition(f);
}

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
		return errno == ENOENT ? check(f, NULL)
				       : file_fail_errno(f, f->x.path, errno);
	if (S_ISDIR(st.st_mode))
		return file_fail_errno(f, f->x.path, EISDIR);
	if (check(f, &st) != 0)
		return -1;
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

/* 1 where its directory was removed. (What had a name there went with it.) */
static int
fail_place(struct file_op *f, const struct upload *u)
{
	if (errno == ENOENT && u->name[0] == '\0')
		return 1;
	if (errno == EEXIST && f->x.condition == WIRE_ABSENT)
		return fail_condition(f);
	return file_fail_errno(f, f->x.path, errno);
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
	if (upload_place(u, b->name, f->x.condition != WIRE_ABSENT) != 0)
		return fail_place(f, u);
	return 0;
}

/* One at a time, so that no other upload comes between a look and what follows
 * from it. The kernel unlocks for who is killed. */
static int
place_alone(struct file_op *f, struct beneath *b, struct upload *u)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)fcntl(FILE_LOCK_FD, F_SETLKW, &lock);
	int rc = place(f, b, u);
	for (int tries = 1; rc > 0 && tries < BENEATH_AGAIN; tries++) {
		fd_close(&b->dir);
		if (find(f, b) != 0)
			break;
		u->dir = b->dir;
		rc = place(f, b, u);
	}
	lock.l_type = F_UNLCK;
	(void)fcntl(FILE_LOCK_FD, F_SETLK, &lock);
	if (rc > 0 && b->dir >= 0)
		return file_fail_errno(f, f->x.path, ENOENT);
	return rc == 0 ? 0 : -1;
}

static int
begin(struct file_op *f, struct beneath *b, struct upload *ret_u)
{
	mode_t mode;

	for (int tries = 1;; tries++) {
		if (look(f, b, &mode) != 0)
			return -1;
		if (upload_open(ret_u, b->dir) == 0)
			return 0;
		if (errno != ENOENT || tries == BENEATH_AGAIN)
			return file_fail_errno(f, f->x.path, errno);
		fd_close(&b->dir);
		if (find(f, b) != 0)
			return -1;
	}
}

static int
put(struct file_op *f, struct beneath *b)
{
	struct upload u;

	if (begin(f, b, &u) != 0)
		return -1;
	int rc = file_say(f, WIRE_STARTED);
	if (rc == 0)
		rc = fill(f, &u);
	if (rc == 0)
		rc = place_alone(f, b, &u);
	upload_release(&u);
	return rc == 0 ? file_say(f, WIRE_DONE) : -1;
}

int
file_put(struct file_op *f)
{
	struct beneath b;

	if (find(f, &b) != 0)
		return -1;
	int rc = put(f, &b);
	fd_close(&b.dir);
	return rc;
}
