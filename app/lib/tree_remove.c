/*
 * A directory tree, removed.
 *
 * Of any depth: what lies deeper than MOVE_DEPTH is moved up to the root, for a
 * later pass over that.
 */
#include "lib/fd.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOVE_DEPTH 10000
#define PASSES 100 /* over a directory that others fill meanwhile */

/* ioctl_iflags(2): musl has no <linux/fs.h>. */
#define GET_FLAGS _IOR('f', 1, long)
#define SET_FLAGS _IOW('f', 2, long)
#define FLAG_IMMUTABLE 0x10
#define FLAG_APPEND 0x20

struct removal {
	struct walk w;
	int above;	  /* what the root is in */
	const char *name; /* the root's there, or NULL: it stays */
	unsigned moved, passes;
	bool progress; /* in this pass over the root */
	bool failed;
	struct err first; /* what could not be removed */
};

/* What is not removed is told at the end. */
static void
fail(struct removal *r, const char *name)
{
	if (r->w.depth > 0)
		walk_top(&r->w)->failed = true;
	if (!r->failed)
		(void)walk_fail(&r->w, name, "cannot remove", &r->first);
	r->failed = true;
}

/* ioctl(2), whose number is an int to musl and an unsigned long to glibc. */
static long
control(int fd, unsigned long number, int *flags)
{
	return syscall(SYS_ioctl, fd, number, flags);
}

static bool
unlock(int fd)
{
	/* An int, whatever the call's number says. */
	int flags = 0;

	if (control(fd, GET_FLAGS, &flags) != 0 ||
	    (flags & (FLAG_IMMUTABLE | FLAG_APPEND)) == 0)
		return false;
	flags &= ~(FLAG_IMMUTABLE | FLAG_APPEND);
	return control(fd, SET_FLAGS, &flags) == 0;
}

/* Take away what forbids the removal of name (chattr +i, +a), there or of the
 * directory. Whether there was any. */
static bool
unlock_entry(int dir, const char *name)
{
	bool unlocked = unlock(dir);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return unlocked;
	FD_AUTO fd =
	    openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return (fd >= 0 && unlock(fd)) || unlocked;
}

/* unlinkat(2), of what may be locked, or gone by now. */
static int
remove_name(int dir, const char *name, int flags)
{
	int rc = unlinkat(dir, name, flags);
	int error = errno;

	if (rc != 0 && (error == EPERM || error == EACCES)) {
		if (unlock_entry(dir, name))
			rc = unlinkat(dir, name, flags);
		else
			errno = error;
	}
	return rc != 0 && errno == ENOENT ? 0 : rc;
}

static int
move_up(struct removal *r, const char *name)
{
	char to[64];

	(void)snprintf(to, sizeof(to), ".sbx-moved-%u", r->moved++);
	if (renameat(walk_fd(&r->w), name, dirfd(r->w.level[0].dir), to) == 0)
		r->progress = true;
	else if (!walk_vanished(errno))
		fail(r, name);
	return 0;
}

static int
enter(struct removal *r, const char *name, unsigned passes, struct err *e)
{
	struct stat st;

	if (r->w.depth > MOVE_DEPTH)
		return move_up(r, name);
	int fd = walk_open(&r->w, name, &st);
	if (fd < 0) {
		/* Swapped for what a later pass finds, or taken away. */
		if (!walk_vanished(errno))
			fail(r, name);
		return 0;
	}
	if (walk_enter(&r->w, name, fd, &st, -1, e) != 0)
		return -1;
	walk_top(&r->w)->passes = (unsigned short)passes;
	return 0;
}

static int
remove_entry(struct removal *r, const struct dirent *entry, struct err *e)
{
	const char *name = entry->d_name;

	if (entry->d_type == DT_DIR)
		return enter(r, name, 0, e);
	if (remove_name(walk_fd(&r->w), name, 0) == 0)
		r->progress = true;
	else if (errno == EISDIR)
		return enter(r, name, 0, e);
	else
		fail(r, name);
	return 0;
}

/* Once more over the root, for what came there meanwhile. */
static bool
again(struct removal *r)
{
	if (r->passes++ >= PASSES)
		return false;
	r->progress = false;
	rewinddir(walk_top(&r->w)->dir);
	return true;
}

static int
leave_root(struct removal *r)
{
	if (r->progress && again(r))
		return 0;
	(void)walk_leave(&r->w);
	if (r->name != NULL && !r->failed &&
	    remove_name(r->above, r->name, AT_REMOVEDIR) != 0)
		fail(r, NULL);
	return 0;
}

/* A pass over a directory has ended. */
static int
leave(struct removal *r, struct err *e)
{
	struct walk_level level = *walk_top(&r->w);
	char name[NAME_MAX + 1];

	if (r->w.depth == 1)
		return leave_root(r);
	(void)snprintf(name, sizeof(name), "%s", r->w.names.data + level.name);
	if (walk_leave(&r->w) != 0) {
		/* Somebody moved it: the root tells what is where now. */
		if (!again(r))
			fail(r, NULL);
		return 0;
	}
	if (level.failed) {
		walk_top(&r->w)->failed = true;
		return 0;
	}
	if (remove_name(walk_fd(&r->w), name, AT_REMOVEDIR) == 0)
		r->progress = true;
	else if ((errno == ENOTEMPTY || errno == EEXIST) &&
		 level.passes < PASSES)
		return enter(r, name, level.passes + 1u, e);
	else if (errno != ENOTDIR)
		fail(r, name);
	return 0;
}

static int
step(struct removal *r, struct err *e)
{
	const struct dirent *entry;

	if (walk_look(&r->w, e) != 0)
		return -1;
	entry = walk_next(&r->w);
	if (entry != NULL)
		return remove_entry(r, entry, e);
	if (errno != 0)
		fail(r, NULL);
	return leave(r, e);
}

static int
remove_below(
    struct removal *r, int dir, const struct tree_watch *watch, struct err *e)
{
	struct stat st;
	int rc = walk_begin(&r->w, dir, -1, watch, &st, e);

	while (rc == 0 && r->w.depth > 0)
		rc = step(r, e);
	walk_release(&r->w);
	if (rc != 0 || !r->failed)
		return rc;
	*e = r->first;
	return -1;
}

int
tree_remove(
    int dir, const char *name, const struct tree_watch *watch, struct err *e)
{
	struct removal r = {.above = dir, .name = name};

	if (remove_name(dir, name, 0) == 0)
		return 0;
	if (errno != EISDIR)
		return err_sys(e, ERR_INTERNAL, "cannot remove %s", name);
	FD_AUTO fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot read %s", name);
	return remove_below(&r, fd, watch, e);
}

int
tree_empty(int dir, const struct tree_watch *watch, struct err *e)
{
	struct removal r = {.name = NULL};

	return remove_below(&r, dir, watch, e);
}
