/* Finding files of a run that has ended. */
#include "run/archive_find.h"
#include "docker/container.h"
#include "guest/refusal.h"
#include "lib/arena.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/files.h"
#include "store/run.h"

#include <poll.h>
#include <string.h>

#define LINKS_MAX 40	 /* followed for one path, as in a run */
#define FIND_MS 180000	 /* for all of a path */
#define SEARCH_MS 120000 /* for an entry: much may come before it */
#define LOOK_MS 30000	 /* somebody else may be reading: that is waited for */
#define LOOK_AGAIN_MS 1000 /* whether the run is being destroyed */
#define REST_MAX 16384	   /* of what is still to be walked, links put in */

void
archive_file_release(struct archive_file *f)
{
	buf_release(&f->path);
	buf_release(&f->target);
}

int
archive_refused(const struct archive_of *of, enum wire_fail why, struct err *e)
{
	return refusal_of_file(why, &of->request, "", 0, e);
}

static bool
is_destroyed(const struct archive_of *of)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct run run;
	bool destroyed;

	if (run_get(of->ctx->redis, of->run, true, &a, &run, &e) == 0)
		destroyed = str_eq(run.state, "destroying");
	else
		destroyed = e.kind == ERR_RUN_ABSENT;
	arena_release(&a);
	return destroyed;
}

static bool
must_stop(void *arg)
{
	struct archive_of *of = arg;
	struct pollfd p = {of->other_fd, POLLIN | POLLRDHUP, 0};
	int64_t now = clock_mono_ms();

	if (of->other_fd >= 0 && poll(&p, 1, 0) > 0)
		return true;
	if (now >= of->look_at) {
		of->destroyed = is_destroyed(of);
		of->look_at = now + LOOK_AGAIN_MS;
	}
	return of->destroyed;
}

struct container_wait
archive_wait(struct archive_of *of, int timeout_ms, int idle_ms)
{
	return (struct container_wait){timeout_ms, idle_ms, must_stop, of};
}

/* -- one path -------------------------------------------------------------- */

static void
take_entry(struct archive_file *f, const struct tar_entry *entry)
{
	static const enum container_file types[] = {
	    [TAR_FILE] = CONTAINER_FILE,
	    [TAR_HARDLINK] = CONTAINER_FILE,
	    [TAR_SYMLINK] = CONTAINER_SYMLINK,
	    [TAR_DIRECTORY] = CONTAINER_DIRECTORY,
	    [TAR_OTHER] = CONTAINER_DEVICE,
	};

	f->stat = (struct container_stat){
	    types[entry->type], entry->mode, entry->size, entry->mtime_ns};
	if (entry->type == TAR_SYMLINK)
		buf_adds(&f->target, entry->link);
}

/* What the archive of path tells of that name below it; "" is path itself. */
static int
look_in(struct archive_of *of, const char *path, const char *name,
    struct archive_file *f, struct err *e)
{
	const struct container_wait wait = archive_wait(of, SEARCH_MS, LOOK_MS);
	struct container_archive *a = container_archive_open(
	    of->ctx->engine, of->container, path, &wait, e);
	struct tar_entry entry;
	const char *bytes;
	size_t size;
	int rc = -1;

	if (a == NULL)
		return -1;
	while ((rc = container_archive_next(a, &entry, &bytes, &size, e)) > 0) {
		if (rc == TAR_END)
			rc = err_set(e, ERR_ENGINE,
			    "Docker's archive lacks what it was asked for");
		if (rc < 0)
			break;
		if (rc != TAR_HEADER || !str_eq(entry.name, name))
			continue;
		take_entry(f, &entry);
		break;
	}
	container_archive_free(a);
	return rc < 0 ? -1 : 0;
}

static const char *
base_name(const char *path)
{
	return strrchr(path, '/') + 1; /* absolute */
}

/*
 * Of a link whose target it cannot make out (it leads in a circle, or below a
 * file) the engine tells nothing, nor of what has a time that it cannot write:
 * the archive of the directory does.
 */
static int
look_in_parent(struct archive_of *of, struct archive_file *f, struct err *e)
{
	BUF_AUTO parent = BUF_INIT(WIRE_PATH_MAX);
	const char *base = base_name(f->path.data);
	size_t size = (size_t)(base - f->path.data) - 1;

	if (size == 0)
		return -1; /* the root's parent is not ours to read */
	buf_add(&parent, f->path.data, size);
	return look_in(of, parent.data, base, f, e);
}

/* Which of the two is absent? */
static int
absent(struct archive_of *of, struct err *e)
{
	struct container_info info;

	if (container_inspect(of->ctx->engine, of->container, &info, e) == 0) {
		container_info_release(&info);
		return archive_refused(of, WIRE_FAIL_ABSENT, e);
	}
	if (e->kind == ERR_ABSENT)
		return err_set(
		    e, ERR_RUN_ABSENT, "The run is gone, and its files.");
	return -1;
}

int
archive_look(struct archive_of *of, struct archive_file *f, struct err *e)
{
	const struct container_wait wait = archive_wait(of, LOOK_MS, 0);
	const char *path = f->path.data;
	struct err first = ERR_INIT;

	buf_reset(&f->target);
	if (f->path.over || strlen(base_name(path)) > WIRE_NAME_MAX)
		return archive_refused(of, WIRE_FAIL_NAME, e);
	if (container_archive_stat(of->ctx->engine, of->container, path, &wait,
		&f->stat, &first) == 0) {
		if (f->stat.type != CONTAINER_SYMLINK)
			return 0;
		return look_in(of, path, "", f, e);
	}
	if (first.kind == ERR_ABSENT)
		return absent(of, e);
	struct err second = ERR_INIT;
	if (first.kind == ERR_ENGINE && look_in_parent(of, f, &second) == 0)
		return 0;
	*e = first;
	return -1;
}

/* -- the way there --------------------------------------------------------- */

struct walk {
	struct archive_of *of;
	struct archive_file *f; /* where we are, links followed */
	struct buf rest;	/* what is still to be walked */
	bool follow;
	bool known; /* f tells of where we are: it was looked at */
	int links;
	int64_t deadline;
};

static int
look(struct walk *w, struct err *e)
{
	if (clock_mono_ms() >= w->deadline)
		return err_set(e, ERR_ENGINE_TIMEOUT,
		    "Docker did not answer in time: too long a path");
	w->known = true;
	return archive_look(w->of, w->f, e);
}

/* Back to the directory that we came from. */
static void
leave(struct walk *w)
{
	struct buf *path = &w->f->path;

	path->size = (size_t)(strrchr(path->data, '/') - path->data);
	path->data[path->size] = '\0';
	w->known = false;
}

static bool
at_root(const struct walk *w)
{
	return str_eq(w->f->path.data, FILES_ROOT);
}

/* Take the first name off the rest, onto the path; false where there is none.
 * Names of "." are none. */
static bool
enter(struct walk *w)
{
	size_t at = 0, size;

	for (;; at += size) {
		at += strspn(w->rest.data + at, "/");
		size = strcspn(w->rest.data + at, "/");
		if (size != 1 || w->rest.data[at] != '.')
			break;
	}
	if (size > 0) {
		buf_addc(&w->f->path, '/');
		buf_add(&w->f->path, w->rest.data + at, size);
		at += size;
		at += strspn(w->rest.data + at, "/");
	}
	buf_drop(&w->rest, at);
	return size > 0;
}

/* The target of a link comes before the rest, seen from its directory. */
static int
follow(struct walk *w, struct err *e)
{
	BUF_AUTO rest = BUF_INIT(REST_MAX);
	const char *target = w->f->target.data;

	if (++w->links > LINKS_MAX)
		return archive_refused(w->of, WIRE_FAIL_NAME, e);
	leave(w);
	if (target[0] == '/') {
		target += strspn(target, "/");
		size_t size = strcspn(target, "/");

		if (size != sizeof(FILES_ROOT) - 2 ||
		    memcmp(target, &FILES_ROOT[1], size) != 0)
			return archive_refused(w->of, WIRE_FAIL_ESCAPES, e);
		target += size;
		buf_reset(&w->f->path);
		buf_adds(&w->f->path, FILES_ROOT);
	}
	buf_addf(&rest, "%s/%s", target, w->rest.data);
	if (rest.over)
		return archive_refused(w->of, WIRE_FAIL_NAME, e);
	buf_reset(&w->rest);
	buf_add(&w->rest, rest.data, rest.size);
	return 0;
}

/* One name. */
static int
step(struct walk *w, struct err *e)
{
	bool last = w->rest.size == 0;

	if (str_eq(base_name(w->f->path.data), "..")) {
		leave(w);
		if (at_root(w))
			return archive_refused(w->of, WIRE_FAIL_ESCAPES, e);
		leave(w);
		return 0;
	}
	if (look(w, e) != 0)
		return -1;
	if (w->f->stat.type == CONTAINER_SYMLINK && (!last || w->follow))
		return follow(w, e);
	if (w->f->stat.type != CONTAINER_DIRECTORY && !last)
		return archive_refused(w->of, WIRE_FAIL_NOT_DIRECTORY, e);
	return 0;
}

static int
walk(struct walk *w, struct err *e)
{
	/* Root of the run may have made it something else. */
	buf_adds(&w->f->path, FILES_ROOT);
	if (look(w, e) != 0)
		return -1;
	if (w->f->stat.type == CONTAINER_SYMLINK)
		return archive_refused(w->of, WIRE_FAIL_ESCAPES, e);
	if (w->f->stat.type != CONTAINER_DIRECTORY)
		return archive_refused(w->of, WIRE_FAIL_NOT_DIRECTORY, e);
	while (enter(w))
		if (step(w, e) != 0)
			return -1;
	return w->known ? 0 : look(w, e);
}

int
archive_find(struct archive_of *of, bool follow_last, struct archive_file *f,
    struct err *e)
{
	struct walk w = {of, f, BUF_INIT(REST_MAX), follow_last, false, 0,
	    clock_mono_ms() + FIND_MS};

	of->look_at = clock_mono_ms() + LOOK_AGAIN_MS; /* it was just read */
	buf_adds(&w.rest, of->request.path);
	int rc =
	    w.rest.over ? archive_refused(of, WIRE_FAIL_NAME, e) : walk(&w, e);
	buf_release(&w.rest);
	return rc;
}
