/*
 * What is removed, with all that is in it.
 *
 * By descriptors: a directory that is swapped for a link is not followed. As
 * deep as can be with a bounded number of them: what lies deeper than that is
 * first moved up to the directory that is removed as a whole.
 */
#include "init/file_part.h"
#include "init/upload.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEVELS 32      /* directories that are open at once */
#define PASSES 20      /* over a directory that others fill meanwhile */
#define MOVES 1000000  /* up from the deepest level */
#define LOOK_AFTER 256 /* entries: is anybody still waiting for this? */
#define MOST_MS 600000 /* a tree that others fill meanwhile has no end */
#define MOVED_PREFIX ".sbx-remove-"

struct level {
	DIR *dir;
	char name[WIRE_NAME_MAX + 1]; /* in the directory above */
	int passes;
};

struct removal {
	struct file_op *f;
	int above; /* the directory that the whole is in */
	struct level level[LEVELS];
	int depth;
	unsigned moves, entries;
	bool moved; /* up to the first level, since its last pass began */
	int64_t until;
};

/* Tell the host which one it was: all the names on the way to it. */
static int
fail(struct removal *r, const char *name, int error)
{
	BUF_AUTO path = BUF_INIT((LEVELS + 3) * (WIRE_NAME_MAX + 1));

	buf_adds(&path, r->f->x.path);
	for (int i = 1; i < r->depth; i++)
		buf_addf(&path, "/%s", r->level[i].name);
	if (name != NULL)
		buf_addf(&path, "/%s", name);
	return file_fail_errno(r->f, path.data, error);
}

static int
here(const struct removal *r)
{
	return r->depth > 0 ? dirfd(r->level[r->depth - 1].dir) : r->above;
}

/* -1: end it. */
static int
look_around(struct removal *r)
{
	if (!file_may_finish(r->f))
		return file_fail_fenced(r->f);
	if (++r->entries % LOOK_AFTER != 0)
		return 0;
	if (file_is_alone(r->f))
		return -1;
	if (clock_left(r->until) == 0)
		return fail(r, NULL, ENOTEMPTY);
	return 0;
}

/* 0: it is gone, whoever did it, or somebody put another thing in its place; 1:
 * it is a directory, and not empty; -1 with errno. */
static int
try_remove(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return -1;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ||
	    errno == ENOTDIR)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;
}

/* What is too deep comes up to the first level, for a later pass there. */
static int
move_up(struct removal *r, const char *name)
{
	char moved[UPLOAD_NAME];

	upload_random_name(MOVED_PREFIX, moved);
	if (r->moves++ == MOVES ||
	    renameat(here(r), name, dirfd(r->level[0].dir), moved) != 0)
		return errno == ENOENT ? 0 : fail(r, name, errno);
	r->moved = true;
	return 0;
}

static int
enter(struct removal *r, const char *name)
{
	if (r->depth == LEVELS)
		return move_up(r, name);
	int fd = openat(
	    here(r), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		int error = errno;

		fd_close(&fd);
		/* Another thing is in its place now: a later pass's. */
		return error == ENOENT || error == ENOTDIR || error == ELOOP
			   ? 0
			   : fail(r, name, error);
	}
	struct level *level = &r->level[r->depth++];
	*level = (struct level){.dir = dir};
	memcpy(level->name, name, strlen(name) + 1);
	return 0;
}

/* A pass over the deepest directory has ended. */
static int
leave(struct removal *r)
{
	struct level *level = &r->level[r->depth - 1];
	int above = r->depth > 1 ? dirfd(r->level[r->depth - 2].dir) : r->above;
	bool again = r->depth == 1 && r->moved;
	int error = 0;

	if (unlinkat(above, level->name, AT_REMOVEDIR) != 0)
		error = errno;
	if (error == ENOTEMPTY || error == EEXIST) {
		if (!again && ++level->passes == PASSES)
			return fail(r, NULL, ENOTEMPTY);
		r->moved = r->moved && r->depth > 1;
		rewinddir(level->dir);
		return 0;
	}
	if (error != 0 && error != ENOENT && error != ENOTDIR)
		return fail(r, NULL, error);
	(void)closedir(level->dir);
	r->depth--;
	return 0;
}

static int
step(struct removal *r)
{
	const struct dirent *entry = readdir(r->level[r->depth - 1].dir);

	if (look_around(r) != 0)
		return -1;
	if (entry == NULL)
		return leave(r);
	if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."))
		return 0;
	int rc = try_remove(here(r), entry->d_name);
	if (rc < 0)
		return fail(r, entry->d_name, errno);
	return rc == 1 ? enter(r, entry->d_name) : 0;
}

static int
remove_tree(struct file_op *f, const struct beneath *b)
{
	struct removal r = {
	    .f = f, .above = b->dir, .until = clock_mono_ms() + MOST_MS};
	int rc = enter(&r, b->name);

	while (rc == 0 && r.depth > 0)
		rc = step(&r);
	while (r.depth > 0)
		(void)closedir(r.level[--r.depth].dir);
	return rc;
}

static int
remove_it(struct file_op *f, const struct beneath *b)
{
	struct stat st;

	if (str_eq(b->name, "."))
		return file_fail(f, WIRE_FAIL_NAME,
		    "The directory itself cannot be removed");
	if (fstatat(b->dir, b->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return file_fail_errno(f, f->x.path, errno);
	if (!file_may_finish(f))
		return file_fail_fenced(f);
	int rc = try_remove(b->dir, b->name);
	if (rc < 0)
		return file_fail_errno(f, f->x.path, errno);
	if (rc == 1 && !f->x.recursive)
		return file_fail_errno(f, f->x.path, ENOTEMPTY);
	return rc == 1 ? remove_tree(f, b) : 0;
}

int
file_remove(struct file_op *f)
{
	struct beneath b;

	if (file_find(f, f->x.path, 0, &b) != 0)
		return -1;
	int rc = remove_it(f, &b);
	fd_close(&b.dir);
	return rc == 0 ? file_say(f, WIRE_DONE) : -1;
}
