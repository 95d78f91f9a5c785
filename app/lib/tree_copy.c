/* A directory tree, copied exactly. */
#include "lib/fd.h"
#include "lib/tree_file.h"
#include "lib/tree_links.h"
#include "lib/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512 /* of st_blocks */

struct copy {
	struct walk w;
	struct links links;
	struct tree_file file;
	struct tree_sum sum;
	int to; /* the root of what is made */
};

static int
beside(const struct copy *c)
{
	return walk_top(&c->w)->beside;
}

/* What happened to name, from errno. */
static int
fail(const struct copy *c, const char *name, struct err *e)
{
	char path[WALK_TEXT];

	if (errno == ECANCELED)
		return err_set(
		    e, ERR_GONE_AWAY, "nobody waits for the copy any more");
	/* It ends now, by who holds it or after /proc/sys/fs/lease-break-time.
	 */
	if (errno == EAGAIN)
		return err_set(e, ERR_CONFLICT,
		    "a process has a lease on %s (fcntl, F_SETLEASE); try "
		    "again in a minute",
		    walk_path(&c->w, name, path));
	return walk_fail(&c->w, name, "cannot copy", e);
}

static void
count(struct copy *c, const struct stat *st)
{
	c->sum.entries++;
	c->sum.bytes += (int64_t)st->st_blocks * BLOCK;
}

/* The place of the deepest directory among those that links lead to. */
static int
node_here(struct copy *c, unsigned *ret_node)
{
	for (size_t i = 1; i < c->w.depth; i++) {
		struct walk_level *level = &c->w.level[i];

		if (level->node == 0)
			level->node = links_place(&c->links, level[-1].node,
			    c->w.names.data + level->name);
		if (level->node == 0)
			return -1;
	}
	*ret_node = walk_top(&c->w)->node;
	return 0;
}

/* This is the first name of several: it is linked to later. */
static int
remember(struct copy *c, const char *name, const struct stat *st, struct err *e)
{
	unsigned dir, place;

	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return 0;
	if (node_here(c, &dir) != 0 ||
	    (place = links_place(&c->links, dir, name)) == 0 ||
	    !links_add(&c->links, st->st_dev, st->st_ino, place))
		return err_set(e, ERR_TOO_LARGE,
		    "more than %u files of the tree have several names",
		    LINKS_MAX);
	return 0;
}

/* 1: it is a further name of what is there already, and is made; 0: copy it. */
static int
link_again(struct copy *c, const char *name, const struct stat *st)
{
	unsigned place;

	if (st->st_nlink < 2 ||
	    !links_find(&c->links, st->st_dev, st->st_ino, &place))
		return 0;
	if (links_make(&c->links, c->to, place, beside(c), name) == 0) {
		c->sum.entries++;
		return 1;
	}
	if (errno == EEXIST)
		return 1;
	/* No more names than that, or than one, are possible there. */
	return errno == EMLINK || errno == EPERM || errno == EOPNOTSUPP ? 0
									: -1;
}

static int
fill_file(struct copy *c, int to, int from, const struct stat *st)
{
	int rc = tree_file_bytes(&c->file, from, to, st);

	if (rc == 0)
		rc = tree_file_attributes(&c->file, from, to, st);
	int error = errno;
	/* Some file systems tell only now that the disk is full. */
	if (close(to) != 0 && rc == 0)
		return -1;
	errno = error;
	return rc;
}

static int
make_file(struct copy *c, const char *name, int from, const struct stat *st,
    struct err *e)
{
	int to = openat(beside(c), name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to < 0 && errno == EEXIST) /* a name that is read a second time */
		return 0;
	if (to < 0 || fill_file(c, to, from, st) != 0)
		return fail(c, name, e);
	count(c, st);
	return remember(c, name, st, e);
}

static int
open_file(const struct copy *c, const char *name)
{
	const int flags =
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(walk_fd(&c->w), name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(walk_fd(&c->w), name, flags);
	return fd;
}

static int
copy_file(struct copy *c, const char *name, struct err *e)
{
	FD_AUTO from = open_file(c, name);
	struct stat st;

	if (from < 0 && walk_vanished(errno))
		return 0;
	if (from < 0 || fstat(from, &st) != 0)
		return fail(c, name, e);
	if (!S_ISREG(st.st_mode)) { /* swapped meanwhile */
		c->sum.skipped++;
		return 0;
	}
	int linked = link_again(c, name, &st);
	if (linked == 0)
		return make_file(c, name, from, &st, e);
	return linked < 0 ? fail(c, name, e) : 0;
}

/* 0: made; 1: it is there already. */
static int
make_link(
    struct copy *c, const char *target, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	int to = beside(c);

	if (symlinkat(target, to, name) != 0)
		return errno == EEXIST ? 1 : -1;
	if (fchownat(to, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) !=
	    0)
		return -1;
	return utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
}

static int
copy_link(struct copy *c, const char *name, struct err *e)
{
	char target[PATH_MAX];
	struct stat st;
	int from = walk_fd(&c->w);

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return walk_vanished(errno) ? 0 : fail(c, name, e);
	ssize_t size = readlinkat(from, name, target, sizeof(target) - 1);
	if (size < 0 && (walk_vanished(errno) || errno == EINVAL))
		return 0;
	if (size < 0)
		return fail(c, name, e);
	target[size] = '\0';
	int linked = link_again(c, name, &st);
	int made = linked == 0 ? make_link(c, target, name, &st) : 1;
	if (linked < 0 || made < 0)
		return fail(c, name, e);
	if (made == 1)
		return 0;
	count(c, &st);
	return remember(c, name, &st, e);
}

static int
copy_dir(struct copy *c, const char *name, struct err *e)
{
	struct stat st;

	if (c->w.depth > TREE_DEPTH)
		return err_set(e, ERR_TOO_LARGE,
		    "the tree is more than %d directories deep", TREE_DEPTH);
	FD_AUTO from = walk_open(&c->w, name, &st);
	if (from < 0 && errno == EXDEV)
		c->sum.skipped++;
	if (from < 0)
		return errno == EXDEV || walk_vanished(errno)
			   ? 0
			   : fail(c, name, e);
	if (mkdirat(beside(c), name, 0700) != 0)
		return errno == EEXIST ? 0 : fail(c, name, e);
	int to = openat(
	    beside(c), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return fail(c, name, e);
	count(c, &st);
	return walk_enter(&c->w, name, fd_take(&from), &st, to, e);
}

static int
type_of(const struct copy *c, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(walk_fd(&c->w), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) !=
	    0)
		return DT_UNKNOWN;
	return (int)IFTODT(st.st_mode);
}

static int
copy_entry(struct copy *c, const struct dirent *entry, struct err *e)
{
	switch (type_of(c, entry)) {
	case DT_REG:
		return copy_file(c, entry->d_name, e);
	case DT_DIR:
		return copy_dir(c, entry->d_name, e);
	case DT_LNK:
		return copy_link(c, entry->d_name, e);
	case DT_UNKNOWN: /* it vanished */
		return 0;
	default:
		c->sum.skipped++;
		return 0;
	}
}

/* All of a directory is there: now what it is itself. */
static int
finish_dir(struct copy *c, struct err *e)
{
	struct stat st;

	if (fstat(walk_fd(&c->w), &st) != 0 ||
	    tree_file_attributes(&c->file, walk_fd(&c->w), beside(c), &st) != 0)
		return fail(c, NULL, e);
	if (walk_leave(&c->w) == 0)
		return 0;
	return err_set(
	    e, ERR_CONFLICT, "a directory was moved while its tree was copied");
}

static int
step(struct copy *c, struct err *e)
{
	const struct dirent *entry;

	if (walk_look(&c->w, e) != 0)
		return -1;
	entry = walk_next(&c->w);
	if (entry != NULL)
		return copy_entry(c, entry, e);
	return errno == 0 ? finish_dir(c, e) : fail(c, NULL, e);
}

int
tree_dress(int from, int to, struct err *e)
{
	struct tree_file f;
	struct stat st;

	tree_file_init(&f, NULL);
	int rc = fstat(from, &st);
	if (rc == 0)
		rc = tree_file_attributes(&f, from, to, &st);
	if (rc != 0)
		(void)err_sys(
		    e, ERR_INTERNAL, "cannot copy a directory's attributes");
	tree_file_release(&f);
	return rc;
}

int
tree_copy(int from, int to, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e)
{
	struct copy c = {.links = LINKS_INIT, .to = to};
	int root = openat(to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (root < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open a copy's target");
	if (walk_begin(&c.w, from, root, watch, &st, e) != 0) {
		walk_release(&c.w);
		return -1;
	}
	c.sum.bytes = (int64_t)st.st_blocks * BLOCK;
	tree_file_init(&c.file, watch);
	int rc = 0;
	while (rc == 0 && c.w.depth > 0)
		rc = step(&c, e);
	tree_file_release(&c.file);
	links_release(&c.links);
	walk_release(&c.w);
	if (rc == 0)
		*ret_sum = c.sum;
	return rc;
}
