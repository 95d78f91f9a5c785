/* Finding what a path below a root names. */
#include "init/beneath.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN 300	 /* bytes of a path in a sentence */
#define MAKE_TRIES 10	 /* of a directory that somebody removes again */
#define DEPTH_STEP 16	 /* descriptors that the stack grows by */
#define TEXT_MAX (16384) /* of what is still to be walked, links put in */

struct walk {
	const struct beneath_root *root;
	const char *path; /* the whole of it, for sentences */
	int how, links;
	/* The directories from below the root to the one that we are in: a
	 * ".." goes back to the one that we came from, wherever somebody may
	 * have moved things meanwhile. */
	int *dirs;
	size_t depth, room;
	char rest[TEXT_MAX]; /* what is still to be walked */
	int last; /* what the last name is, where links are followed; or -1 */
	enum wire_fail why;
	struct err *e;
};

static int
fail(struct walk *w, enum wire_fail why, const char *what)
{
	w->why = why;
	return err_set(w->e, ERR_INPUT, "%s: %.*s", what, SHOWN, w->path);
}

int
beneath_errno(
    const char *path, int error, enum wire_fail *ret_why, struct err *e)
{
	static const struct {
		int error;
		enum wire_fail why;
		const char *text;
	} known[] = {
	    {ENOENT, WIRE_FAIL_ABSENT, "No such file"},
	    {ENOTDIR, WIRE_FAIL_NOT_DIRECTORY, "Not a directory"},
	    {EISDIR, WIRE_FAIL_DIRECTORY, "Is a directory"},
	    {EACCES, WIRE_FAIL_DENIED, "The image's user may not"},
	    {EPERM, WIRE_FAIL_DENIED, "The image's user may not"},
	    {EROFS, WIRE_FAIL_DENIED, "Read-only file system"},
	    {EBUSY, WIRE_FAIL_DENIED, "In use, as a mount point perhaps"},
	    {ETXTBSY, WIRE_FAIL_DENIED, "In use, as a program that runs"},
	    {ENXIO, WIRE_FAIL_NOT_FILE, "Not a regular file"},
	    {ENOTEMPTY, WIRE_FAIL_NOT_EMPTY, "Directory not empty"},
	    {EEXIST, WIRE_FAIL_EXISTS, "Already there"},
	    {ENOSPC, WIRE_FAIL_SPACE, "No space left in the run"},
	    {EDQUOT, WIRE_FAIL_SPACE, "No space left in the run"},
	    {EFBIG, WIRE_FAIL_SPACE, "Larger than the run's disk takes"},
	    {ENAMETOOLONG, WIRE_FAIL_NAME, "A name is too long"},
	    {ELOOP, WIRE_FAIL_NAME, "Too many links on the way"},
	    {EMFILE, WIRE_FAIL_NAME, "Too deep a directory"},
	    {EINVAL, WIRE_FAIL_NAME, "Not a name that can be had there"},
	    {EILSEQ, WIRE_FAIL_NAME, "Not a name that can be had there"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].error != error)
			continue;
		*ret_why = known[i].why;
		return err_set(
		    e, ERR_INPUT, "%s: %.*s", known[i].text, SHOWN, path);
	}
	*ret_why = WIRE_FAIL_INTERNAL;
	return err_set(
	    e, ERR_INTERNAL, "%s: %.*s", strerror(error), SHOWN, path);
}

static int
fail_errno(struct walk *w)
{
	return beneath_errno(w->path, errno, &w->why, w->e);
}

/* -- where we are ---------------------------------------------------------- */

static int
here(const struct walk *w)
{
	return w->depth > 0 ? w->dirs[w->depth - 1] : w->root->fd;
}

static void
enter(struct walk *w, int dir)
{
	if (w->depth == w->room) {
		w->room += DEPTH_STEP;
		w->dirs =
		    mem_realloc(w->dirs, mem_array(w->room, sizeof(*w->dirs)));
	}
	w->dirs[w->depth++] = dir;
}

static void
leave(struct walk *w)
{
	fd_close(&w->dirs[--w->depth]);
}

/* -- what is still to be walked -------------------------------------------- */

/* Take the first component off; "" where there is none. */
static int
take_name(struct walk *w, char to[WIRE_NAME_MAX + 1])
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t size = strcspn(from, "/");

	if (size > WIRE_NAME_MAX)
		return fail(w, WIRE_FAIL_NAME, "A name is too long");
	memcpy(to, from, size);
	to[size] = '\0';
	from += size;
	from += strspn(from, "/");
	memmove(w->rest, from, strlen(from) + 1);
	return 0;
}

/* What follows the root's own path in an absolute one, or NULL where that does
 * not lead there. Both are compared by their components. */
static const char *
below_root(const char *root, const char *target)
{
	for (;;) {
		root += strspn(root, "/");
		target += strspn(target, "/");
		size_t size = strcspn(root, "/");

		if (size == 0)
			return target;
		if (strcspn(target, "/") != size ||
		    memcmp(root, target, size) != 0)
			return NULL;
		root += size;
		target += size;
	}
}

/* A link of the directory that we are in: its target comes before the rest. */
static int
follow(struct walk *w, const char *target)
{
	size_t rest = strlen(w->rest);

	if (++w->links > BENEATH_LINKS) {
		errno = ELOOP;
		return fail_errno(w);
	}
	if (target[0] == '/') {
		target = below_root(w->root->path, target);
		if (target == NULL)
			return fail(w, WIRE_FAIL_ESCAPES,
			    "A link leads out of the directory");
		while (w->depth > 0)
			leave(w);
	}
	size_t size = strlen(target);
	if (size + 1 + rest >= sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return fail_errno(w);
	}
	memmove(w->rest + size + 1, w->rest, rest + 1);
	memcpy(w->rest, target, size);
	w->rest[size] = '/';
	return 0;
}

/* -- a step ---------------------------------------------------------------- */

static int
open_name(struct walk *w, const char *name)
{
	for (int tries = 0;; tries++) {
		int fd = openat(here(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 || errno != ENOENT || !(w->how & BENEATH_MAKE) ||
		    tries == MAKE_TRIES)
			return fd;
		if (mkdirat(here(w), name, 0755) != 0 && errno != EEXIST)
			return -1;
	}
}

/* The target of the link that is open as fd. */
static int
follow_open(struct walk *w, int fd)
{
	char target[WIRE_PATH_MAX + 1];
	ssize_t n = readlinkat(fd, "", target, sizeof(target));

	if (n < 0 || (size_t)n == sizeof(target)) {
		errno = n < 0 ? errno : ENAMETOOLONG;
		return fail_errno(w);
	}
	target[n] = '\0';
	return follow(w, target);
}

/* Into a directory on the way, or through a link to one. */
static int
step(struct walk *w, const char *name)
{
	FD_AUTO fd = open_name(w, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return fail_errno(w);
	if (S_ISLNK(st.st_mode))
		return follow_open(w, fd);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return fail_errno(w);
	}
	enter(w, fd_take(&fd));
	return 0;
}

/* 1 where the last name was a link, which is now to be walked; 0 where it is
 * what was looked for, if it is there. */
static int
step_last(struct walk *w, const char *name)
{
	FD_AUTO fd = openat(here(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		return fail_errno(w);
	if (S_ISLNK(st.st_mode))
		return follow_open(w, fd) == 0 ? 1 : -1;
	w->last = fd_take(&fd);
	return 0;
}

static int
walk(struct walk *w, char name[WIRE_NAME_MAX + 1])
{
	for (;;) {
		int rc = 0;

		if (take_name(w, name) != 0)
			return -1;
		bool up = strcmp(name, "..") == 0;
		if (name[0] == '\0') {
			strncpy(name, ".", 2);
			return 0;
		}
		if (strcmp(name, ".") == 0)
			continue;
		if (up && w->depth == 0)
			return fail(w, WIRE_FAIL_ESCAPES,
			    "A link leads out of the directory");
		if (up)
			leave(w);
		else if (w->rest[0] != '\0')
			rc = step(w, name);
		else if (!(w->how & BENEATH_FOLLOW) ||
			 (rc = step_last(w, name)) == 0)
			return 0;
		if (rc < 0)
			return -1;
	}
}

static int
find(struct walk *w, struct beneath *ret_b)
{
	size_t size = strlen(w->path);

	w->last = -1;
	if (size >= sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return fail_errno(w);
	}
	memcpy(w->rest, w->path, size + 1);
	int rc = walk(w, ret_b->name);
	if (rc == 0) {
		ret_b->dir = fcntl(here(w), F_DUPFD_CLOEXEC, 0);
		rc = ret_b->dir >= 0 ? 0 : fail_errno(w);
	}
	while (w->depth > 0)
		leave(w);
	free(w->dirs);
	return rc;
}

int
beneath_find(const struct beneath_root *root, const char *path, int how,
    struct beneath *ret_b, enum wire_fail *ret_why, struct err *e)
{
	for (int tries = 1;; tries++) {
		struct walk w = {
		    .root = root, .path = path, .how = how, .e = e};
		struct beneath b;
		int rc = find(&w, &b);

		fd_close(&w.last);
		if (rc == 0) {
			*ret_b = b;
			return 0;
		}
		*ret_why = w.why;
		if (w.why != WIRE_FAIL_ABSENT || !(how & BENEATH_MAKE) ||
		    tries == BENEATH_AGAIN)
			return -1;
	}
}

int
beneath_open(const struct beneath_root *root, const char *path,
    struct beneath *ret_b, int *ret_fd, enum wire_fail *ret_why, struct err *e)
{
	struct walk w = {
	    .root = root, .path = path, .how = BENEATH_FOLLOW, .e = e};
	struct beneath b = {.dir = -1};
	int rc = find(&w, &b);

	if (rc == 0 && w.last < 0) {
		if (strcmp(b.name, ".") == 0)
			w.last = fcntl(b.dir, F_DUPFD_CLOEXEC, 0);
		else
			errno = ENOENT;
		rc = w.last >= 0 ? 0 : fail_errno(&w);
	}
	if (rc != 0) {
		fd_close(&b.dir);
		fd_close(&w.last);
		*ret_why = w.why;
		return -1;
	}
	*ret_b = b;
	*ret_fd = w.last;
	return 0;
}
