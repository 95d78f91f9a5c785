/* The way down and up a directory tree. */
#include "lib/tree_walk.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A level's directory is closed by pop(); gcc 12 loses it in the array. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

#define LOOK_EVERY 64
#define NAMES_MAX (WALK_DEPTH * 256u)
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

static struct walk_id
id_of(const struct stat *st)
{
	return (struct walk_id){st->st_dev, st->st_ino};
}

struct walk_level *
walk_top(const struct walk *w)
{
	return &w->level[w->depth - 1];
}

int
walk_fd(const struct walk *w)
{
	return dirfd(walk_top(w)->dir);
}

bool
walk_vanished(int error)
{
	return error == ENOENT || error == ELOOP || error == ENOTDIR ||
	       error == ENXIO || error == ESTALE;
}

/* Reading does not change when it was last read, where we may say so. */
static int
open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, OPEN_DIR | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(dir, name, OPEN_DIR);
	return fd;
}

int
walk_open(const struct walk *w, const char *name, struct stat *ret_st)
{
	FD_AUTO fd = open_dir(walk_fd(w), name);

	if (fd < 0 || fstat(fd, ret_st) != 0)
		return -1;
	if (ret_st->st_dev != w->level[0].id.dev) {
		errno = EXDEV;
		return -1;
	}
	return fd_take(&fd);
}

/* Keep the place of the level that is now too far up. */
static void
close_far_level(struct walk *w)
{
	struct stat st;

	if (w->depth <= WALK_OPEN + 1)
		return;
	struct walk_level *level = &w->level[w->depth - 1 - WALK_OPEN];
	if (level->dir == NULL) /* down again, after a way up */
		return;
	level->at = telldir(level->dir);
	(void)closedir(level->dir);
	level->dir = NULL;
	if (level->beside >= 0 && fstat(level->beside, &st) == 0)
		level->to = id_of(&st);
	fd_close(&level->beside);
}

static void
grow(struct walk *w)
{
	w->room = w->room == 0 ? 64 : w->room * 2;
	w->level = mem_realloc(w->level, mem_array(w->room, sizeof(*w->level)));
}

int
walk_enter(struct walk *w, const char *name, int fd, const struct stat *st,
    int beside, struct err *e)
{
	FD_AUTO own = fd;
	FD_AUTO target = beside;

	if (w->depth == WALK_DEPTH)
		return err_set(e, ERR_TOO_LARGE,
		    "the tree is more than %d directories deep", WALK_DEPTH);
	if (w->depth == w->room)
		grow(w);
	struct walk_level *level = &w->level[w->depth];
	*level = (struct walk_level){.dir = fdopendir(own),
	    .id = id_of(st),
	    .beside = target,
	    .name = (unsigned)w->names.size};
	if (level->dir == NULL)
		return walk_fail(w, name, "cannot read", e);
	(void)fd_take(&own);
	(void)fd_take(&target);
	w->depth++;
	buf_add(&w->names, name, strlen(name) + 1);
	close_far_level(w);
	return 0;
}

int
walk_begin(struct walk *w, int dir, int beside, const struct tree_watch *watch,
    struct stat *ret_st, struct err *e)
{
	*w = (struct walk){.names = BUF_INIT(NAMES_MAX), .watch = watch};
	int fd = open_dir(dir, ".");

	if (fd >= 0 && fstat(fd, ret_st) == 0)
		return walk_enter(w, "", fd, ret_st, beside, e);
	(void)err_sys(e, ERR_INTERNAL, "cannot read the tree's root");
	fd_close(&fd);
	fd_close(&beside);
	return -1;
}

static void
pop(struct walk *w)
{
	struct walk_level *level = walk_top(w);

	if (level->dir != NULL)
		(void)closedir(level->dir);
	fd_close(&level->beside);
	w->names.size = level->name;
	w->depth--;
}

void
walk_release(struct walk *w)
{
	while (w->depth > 0)
		pop(w);
	free(w->level);
	w->level = NULL;
	buf_release(&w->names);
}

const struct dirent *
walk_next(struct walk *w)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(walk_top(w)->dir);
	} while (entry != NULL &&
		 (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..")));
	/* A directory that was removed meanwhile has no entries. */
	if (entry == NULL && walk_vanished(errno))
		errno = 0;
	return entry;
}

/* The directory above this one, if it is that one; or -1. */
static int
open_above(int below, const struct walk_id *id)
{
	FD_AUTO fd = open_dir(below, "..");
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != id->dev ||
	    st.st_ino != id->ino)
		return -1;
	return fd_take(&fd);
}

/* Open again what is above the deepest level. */
static int
open_again(const struct walk *w, struct walk_level *above)
{
	const struct walk_level *below = walk_top(w);
	FD_AUTO fd = open_above(dirfd(below->dir), &above->id);
	FD_AUTO beside = -1;

	if (below->beside >= 0)
		beside = open_above(below->beside, &above->to);
	if (fd < 0 || (below->beside >= 0 && beside < 0))
		return -1;
	above->dir = fdopendir(fd);
	if (above->dir == NULL)
		return -1;
	(void)fd_take(&fd);
	seekdir(above->dir, above->at);
	above->beside = fd_take(&beside);
	return 0;
}

int
walk_leave(struct walk *w)
{
	struct walk_level *above = w->depth > 1 ? walk_top(w) - 1 : NULL;
	bool lost =
	    above != NULL && above->dir == NULL && open_again(w, above) != 0;

	pop(w);
	while (lost && w->depth > 1)
		pop(w);
	return lost ? -1 : 0;
}

int
walk_look(struct walk *w, struct err *e)
{
	if (w->watch == NULL || w->steps++ % LOOK_EVERY != 0 ||
	    !w->watch->gone(w->watch->arg))
		return 0;
	return err_set(e, ERR_GONE_AWAY, "nobody waits for the tree any more");
}

const char *
walk_path(const struct walk *w, const char *name, char to[WALK_TEXT])
{
	/* The last few names are longer than the text in any case. */
	size_t from = w->depth > WALK_TEXT ? w->depth - WALK_TEXT : 1;
	BUF_AUTO path = BUF_INIT(WALK_TEXT * 512);

	for (size_t i = from; i < w->depth; i++)
		buf_addf(&path, "%s/", w->names.data + w->level[i].name);
	buf_adds(&path, name != NULL ? name : ".");
	size_t skip = path.size < WALK_TEXT - 4 ? 0 : path.size - WALK_TEXT + 4;
	(void)snprintf(
	    to, WALK_TEXT, "%s%s", skip > 0 ? "..." : "", path.data + skip);
	return to;
}

int
walk_fail(
    const struct walk *w, const char *name, const char *what, struct err *e)
{
	int error = errno;
	bool full = error == ENOSPC || error == EDQUOT;
	char path[WALK_TEXT];

	(void)walk_path(w, name, path);
	errno = error;
	return err_sys(
	    e, full ? ERR_FILE_SPACE : ERR_INTERNAL, "%s %s", what, path);
}
