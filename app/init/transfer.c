/* Moving what rename(2) cannot move. */
#include "init/transfer.h"
#include "init/upload.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 200	   /* of directories within each other */
#define PASSES 20	   /* over one that others fill meanwhile */
#define AT_ONCE (1u << 20) /* bytes of a file */

/* A name in a directory, and the one that it is to have. */
struct step {
	int from;
	const char *name;
	int to;
	const char *new_name;
	int depth;
};

static int move_entry(struct file_op *f, const struct step *s);

static int
cancelled(const struct file_op *f)
{
	if (file_may_finish(f) && !file_is_alone(f))
		return 0;
	errno = ECANCELED;
	return -1;
}

static int
keep(int fd, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	mode_t mode = st->st_mode & 07777;

	/* What another's file let one be is not passed on. */
	if (st->st_uid != geteuid())
		mode &= (mode_t) ~(S_ISUID | S_ISGID);
	return fchmod(fd, mode) == 0 ? futimens(fd, times) : -1;
}

/* -- files and links ------------------------------------------------------- */

static int
copy_bytes(struct file_op *f, int from, int to)
{
	for (;;) {
		ssize_t n = sendfile(to, from, NULL, AT_ONCE);

		if (n == 0)
			return 0;
		if ((n < 0 && errno != EINTR) || cancelled(f) != 0)
			return -1;
	}
}

static int
copy_file(struct file_op *f, const struct step *s)
{
	FD_AUTO from = openat(s->from, s->name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct upload u;
	struct stat st;

	if (from < 0 || fstat(from, &st) != 0 || upload_open(&u, s->to) != 0)
		return -1;
	int rc = copy_bytes(f, from, u.fd);
	if (rc == 0)
		rc = keep(u.fd, &st);
	if (rc == 0)
		rc = upload_place(&u, s->new_name, true);
	int error = errno;
	upload_release(&u);
	errno = error;
	return rc;
}

static int
copy_link(const struct step *s)
{
	char target[WIRE_PATH_MAX + 1];
	ssize_t n = readlinkat(s->from, s->name, target, sizeof(target) - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	if (symlinkat(target, s->to, s->new_name) == 0)
		return 0;
	return errno == EEXIST && unlinkat(s->to, s->new_name, 0) == 0 &&
		       symlinkat(target, s->to, s->new_name) == 0
		   ? 0
		   : -1;
}

/* -- directories ----------------------------------------------------------- */

static int
move_all(struct file_op *f, DIR *from, int to, int depth)
{
	const struct dirent *entry;

	while ((void)(errno = 0), (entry = readdir(from)) != NULL) {
		const struct step s = {
		    dirfd(from), entry->d_name, to, entry->d_name, depth + 1};

		if (str_eq(s.name, ".") || str_eq(s.name, ".."))
			continue;
		if (move_entry(f, &s) != 0 && errno != ENOENT)
			return -1;
	}
	return errno == 0 ? 0 : -1;
}

static int
move_passes(struct file_op *f, const struct step *s, DIR *from, int to)
{
	for (int pass = 0; pass < PASSES; pass++) {
		if (move_all(f, from, to, s->depth) != 0)
			return -1;
		if (unlinkat(s->from, s->name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -1;
		rewinddir(from);
	}
	errno = ENOTEMPTY;
	return -1;
}

static DIR *
open_directory(int dir, const char *name)
{
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL)
		fd_close(&fd);
	return d;
}

static int
move_directory(struct file_op *f, const struct step *s)
{
	DIR *from = open_directory(s->from, s->name);
	struct stat st;
	int rc = -1, error;

	if (from == NULL)
		return -1;
	if (s->depth == DEPTH)
		errno = EMFILE;
	else if (fstat(dirfd(from), &st) == 0 &&
		 mkdirat(s->to, s->new_name, 0700) == 0) {
		FD_AUTO to = openat(s->to, s->new_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (to >= 0)
			rc = move_passes(f, s, from, to);
		if (rc == 0)
			rc = keep(to, &st);
	}
	error = errno;
	(void)closedir(from);
	errno = error;
	return rc;
}

/* -- any ------------------------------------------------------------------- */

static int
move_entry(struct file_op *f, const struct step *s)
{
	struct stat st;

	if (cancelled(f) != 0)
		return -1;
	if (renameat(s->from, s->name, s->to, s->new_name) == 0)
		return 0;
	if (errno != EXDEV ||
	    fstatat(s->from, s->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return move_directory(f, s);
	int rc = -1;
	if (S_ISREG(st.st_mode))
		rc = copy_file(f, s);
	else if (S_ISLNK(st.st_mode))
		rc = copy_link(s);
	else
		errno = ENXIO;
	return rc == 0 ? unlinkat(s->from, s->name, 0) : -1;
}

int
transfer(
    struct file_op *f, const struct beneath *from, const struct beneath *to)
{
	const struct step s = {from->dir, from->name, to->dir, to->name, 0};

	return move_entry(f, &s);
}
