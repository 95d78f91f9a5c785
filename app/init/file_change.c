/* Directories made, and things moved. */
#include "init/file_part.h"
#include "init/transfer.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 0, also where it is there; or an errno. */
static int
make(const struct beneath *b)
{
	struct stat st;

	if (mkdirat(b->dir, b->name, 0755) == 0)
		return 0;
	int error = errno;
	if (error != EEXIST)
		return error;
	if (fstatat(b->dir, b->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	return S_ISDIR(st.st_mode) ? 0 : error;
}

int
file_mkdir(struct file_op *f)
{
	int error = ENOENT;

	for (int tries = 0; error == ENOENT && tries < BENEATH_AGAIN; tries++) {
		struct beneath b;

		if (file_find(
			f, f->x.path, BENEATH_FOLLOW | BENEATH_MAKE, &b) != 0)
			return -1;
		error = make(&b);
		fd_close(&b.dir);
	}
	return error == 0 ? file_say(f, WIRE_DONE)
			  : file_fail_errno(f, f->x.path, error);
}

/* -- moving ---------------------------------------------------------------- */

static int
refuse_inside(struct file_op *f)
{
	return file_fail(f, WIRE_FAIL_INSIDE,
	    "A directory cannot be moved into itself, nor the whole of it");
}

static bool
leads_inside(const char *from, const char *to)
{
	return str_starts(to, from) && to[strlen(from)] == '/';
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The same name in the same directory. */
static bool
same_place(const struct beneath *a, const struct beneath *b)
{
	struct stat in_a, in_b;

	return str_eq(a->name, b->name) && fstat(a->dir, &in_a) == 0 &&
	       fstat(b->dir, &in_b) == 0 && same_file(&in_a, &in_b);
}

static int
fail_rename(struct file_op *f, int error)
{
	switch (error) {
	case EINVAL:
		return refuse_inside(f);
	case EISDIR:
	case ENOTDIR:
	case ENOTEMPTY:
		return file_fail_errno(f, f->x.to, EEXIST);
	case ECANCELED:
		return file_fail_fenced(f);
	default:
		return file_fail_errno(f, f->x.path, error);
	}
}

static int
move(struct file_op *f, const struct beneath *from, const struct beneath *to)
{
	struct stat what, there;
	bool linked = false;

	if (fstatat(from->dir, from->name, &what, AT_SYMLINK_NOFOLLOW) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if (same_place(from, to))
		return 0;
	if (fstatat(to->dir, to->name, &there, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(what.st_mode) || S_ISDIR(there.st_mode))
			return file_fail_errno(f, f->x.to, EEXIST);
		linked = same_file(&what, &there);
	}
	if (!file_may_finish(f))
		return file_fail_fenced(f);
	if (renameat(from->dir, from->name, to->dir, to->name) != 0 &&
	    (errno != EXDEV || transfer(f, from, to) != 0))
		return fail_rename(f, errno);
	/* rename(2) of one name of a file to another one does nothing. */
	if (linked)
		(void)unlinkat(from->dir, from->name, 0);
	return 0;
}

int
file_move(struct file_op *f)
{
	struct beneath from, to;
	struct stat st;

	if (leads_inside(f->x.path, f->x.to))
		return refuse_inside(f);
	if (file_find(f, f->x.path, 0, &from) != 0)
		return -1;
	FD_AUTO from_dir = from.dir;
	if (str_eq(from.name, "."))
		return refuse_inside(f);
	/* Before directories are made for what is not there. */
	if (fstatat(from_dir, from.name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if (file_find(f, f->x.to, BENEATH_MAKE, &to) != 0)
		return -1;
	int rc = move(f, &from, &to);
	fd_close(&to.dir);
	return rc == 0 ? file_say(f, WIRE_DONE) : -1;
}
