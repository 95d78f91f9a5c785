/*
 * The way down and up a directory tree, for lib/tree alone: a stack of open
 * directories, of which only the deepest WALK_OPEN (and the root) keep
 * descriptors. One above those is opened again from below, as "..", and taken
 * only if it is the one that was left.
 */
#ifndef SBX_LIB_TREE_WALK_H
#define SBX_LIB_TREE_WALK_H

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define WALK_OPEN 16
#define WALK_DEPTH 1000000 /* deeper is ERR_TOO_LARGE */
#define WALK_TEXT 320	   /* of a path in an error's text */

struct walk_id {
	dev_t dev;
	ino_t ino;
};

struct walk_level {
	DIR *dir;	   /* NULL: closed for now */
	long at;	   /* where its reading goes on, while it is closed */
	struct walk_id id; /* its own */
	struct walk_id to; /* of the target, while that is closed */
	int beside;	   /* a copy's target, or -1: closed, or none */
	unsigned name;	   /* where its name begins in names */
	unsigned node;	   /* the user's, as what follows */
	unsigned short passes;
	bool failed;
};

struct walk {
	struct walk_level *level;
	size_t depth, room;
	struct buf names; /* each with its NUL */
	const struct tree_watch *watch;
	unsigned steps;
};

/* At the open directory dir, any flags; beside is a copy's target, taken over
 * also on failure, or -1. Ends with walk_release. */
int walk_begin(struct walk *w, int dir, int beside,
    const struct tree_watch *watch, struct stat *ret_st, struct err *e);
void walk_release(struct walk *w);

struct walk_level *walk_top(const struct walk *w);
int walk_fd(const struct walk *w); /* the deepest directory's */

/* Open a directory of the deepest one, without following a link, and look at
 * it. -1 with errno: EXDEV where another file system is mounted there. */
int walk_open(const struct walk *w, const char *name, struct stat *ret_st);

/* Go into it: both descriptors are taken over, also on failure. */
int walk_enter(struct walk *w, const char *name, int fd, const struct stat *st,
    int beside, struct err *e);

/* The next entry but "." and "..", NULL at the end, where reading fails too:
 * errno is 0 then, or not. */
const struct dirent *walk_next(struct walk *w);

/* Up one level: 0, or -1 where what is above is not what was left: then the
 * deepest one is the root again. The last level ends the walk. */
int walk_leave(struct walk *w);

/* Ask the watch, every so many calls. */
int walk_look(struct walk *w, struct err *e);

/* Where it is, with name if not NULL, for an error's text: cut at the front. */
const char *walk_path(
    const struct walk *w, const char *name, char to[WALK_TEXT]);

/* err_sys with the path: ERR_FILE_SPACE where errno says that the disk is full.
 */
int walk_fail(
    const struct walk *w, const char *name, const char *what, struct err *e);

/* What an entry turns out to be that was swapped or taken away meanwhile. */
bool walk_vanished(int error);

#endif
