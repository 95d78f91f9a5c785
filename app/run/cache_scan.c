/* Looking over the cache's directories. */
#include "run/cache_scan.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache_manifest.h"
#include "run/cache_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* -- directories ----------------------------------------------------------- */

/* A directory of the root, to be listed; *ret_dir NULL where there is none. */
static int
open_part(
    const struct config *config, const char *name, DIR **ret_dir, struct err *e)
{
	FD_AUTO fd = cache_open(config, name, e);

	*ret_dir = NULL;
	if (fd < 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	*ret_dir = fdopendir(fd);
	if (*ret_dir == NULL)
		return err_sys(
		    e, ERR_INTERNAL, "cannot list %s of the warm cache", name);
	(void)fd_take(&fd);
	return 0;
}

static bool
is_dots(const char *name)
{
	return str_eq(name, ".") || str_eq(name, "..");
}

static int64_t
changed_ms(int dir, const char *name)
{
	struct stat st;

	/* What is gone already is old. */
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		   ? (int64_t)st.st_mtim.tv_sec * 1000 +
			 st.st_mtim.tv_nsec / 1000000
		   : 0;
}

/* One more of an array in the arena, which grows as it must. */
static void *
more(struct arena *a, void *array, size_t count, size_t size)
{
	if (count == 0)
		return arena_alloc(a, size * 4);
	if (count < 4 || (count & (count - 1)) != 0)
		return array;
	void *larger = arena_alloc(a, size * count * 2);
	memcpy(larger, array, size * count);
	return larger;
}

/* -- a repository ---------------------------------------------------------- */

static void
take_part(struct arena *a, int dir, const char *name, struct cache_part **list,
    size_t *count)
{
	const char *ulid = strchr(name, '-') + 1;
	struct cache_part part = {.made_ms = changed_ms(dir, name)};

	if (!ulid_parse(ulid, part.gen))
		return;
	*list = more(a, *list, *count, sizeof(**list));
	(*list)[(*count)++] = part;
}

static void
take_current(const struct config *config, struct arena *a, struct cache_repo *r)
{
	struct cache_manifest m;
	struct err ignored = ERR_INIT;

	if (cache_current(config, r->repo, &m, &ignored) != 0)
		return;
	r->current = arena_alloc(a, sizeof(m));
	*r->current = m;
}

static int64_t
bytes_of(int repo, const char *gen)
{
	char name[CACHE_NAME_SIZE];
	struct cache_manifest m;
	struct err ignored = ERR_INIT;
	FD_AUTO dir =
	    cache_gen_name("g-", gen, name) ? openat(repo, name, OPEN_DIR) : -1;

	return dir >= 0 && cache_manifest_load(dir, &m, &ignored) == 0 ? m.bytes
								       : 0;
}

/* The current one goes from the list, of the others the sizes come in. */
static void
settle(struct cache_repo *r, int repo, int64_t *bytes)
{
	size_t count = 0;

	if (r->current != NULL)
		*bytes += r->current->bytes;
	for (size_t i = 0; i < r->old_count; i++) {
		struct cache_part *part = &r->old[i];

		if (r->current != NULL && str_eq(part->gen, r->current->gen))
			continue;
		part->bytes = bytes_of(repo, part->gen);
		*bytes += part->bytes;
		r->old[count++] = *part;
	}
	r->old_count = count;
}

/* In this order: what is published meanwhile is current, and not old. */
static void
scan_repo(const struct config *config, struct arena *a, DIR *dir,
    struct cache_repo *r, int64_t *bytes)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (str_starts(entry->d_name, "g-"))
			take_part(a, dirfd(dir), entry->d_name, &r->old,
			    &r->old_count);
		else if (str_starts(entry->d_name, "new-"))
			take_part(a, dirfd(dir), entry->d_name, &r->copy,
			    &r->copy_count);
	}
	take_current(config, a, r);
	settle(r, dirfd(dir), bytes);
}

/* -- all of them ----------------------------------------------------------- */

static int
by_repo(const void *a, const void *b)
{
	const struct cache_repo *one = a, *other = b;

	return strcmp(one->repo, other->repo);
}

static void
take_repo(const struct config *config, struct arena *a, int repos,
    const char *file, struct cache_scan *scan)
{
	char name[WARM_REPO_SIZE];
	FD_AUTO fd = openat(repos, file, OPEN_DIR);
	DIR *dir = NULL;

	if (fd >= 0 && warm_repo_of_file(file, name) == 0)
		dir = fdopendir(fd);
	if (dir == NULL)
		return;
	(void)fd_take(&fd);
	scan->item = more(a, scan->item, scan->count, sizeof(*scan->item));
	struct cache_repo *r = &scan->item[scan->count++];
	memset(r, 0, sizeof(*r));
	r->repo = arena_strdup(a, name);
	scan_repo(config, a, dir, r, &scan->bytes);
	(void)closedir(dir);
}

int
cache_scan(const struct config *config, struct arena *a,
    struct cache_scan *ret_scan, struct err *e)
{
	struct cache_scan scan = {NULL, 0, 0};
	const struct dirent *entry;
	DIR *repos;

	if (open_part(config, "repos", &repos, e) != 0)
		return -1;
	while (repos != NULL && (entry = readdir(repos)) != NULL)
		if (!is_dots(entry->d_name))
			take_repo(
			    config, a, dirfd(repos), entry->d_name, &scan);
	if (repos != NULL)
		(void)closedir(repos);
	if (scan.count > 0)
		qsort(scan.item, scan.count, sizeof(*scan.item), by_repo);
	*ret_scan = scan;
	return 0;
}

/* -- runs and trash -------------------------------------------------------- */

static int
list_names(const struct config *config, const char *part, struct arena *a,
    struct cache_names *ret_names, struct err *e)
{
	struct cache_names names = {NULL, 0};
	const struct dirent *entry;
	DIR *dir;

	if (open_part(config, part, &dir, e) != 0)
		return -1;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (is_dots(entry->d_name))
			continue;
		names.item =
		    more(a, names.item, names.count, sizeof(*names.item));
		names.item[names.count++] =
		    (struct cache_name){arena_strdup(a, entry->d_name),
			changed_ms(dirfd(dir), entry->d_name)};
	}
	if (dir != NULL)
		(void)closedir(dir);
	*ret_names = names;
	return 0;
}

int
cache_runs(const struct config *config, struct arena *a,
    struct cache_names *ret_runs, struct err *e)
{
	return list_names(config, "runs", a, ret_runs, e);
}

int
cache_trash(const struct config *config, struct arena *a,
    struct cache_names *ret_trash, struct err *e)
{
	return list_names(config, "trash", a, ret_trash, e);
}

int
cache_trash_remove(const struct config *config, const char *name,
    const struct tree_watch *watch, struct err *e)
{
	FD_AUTO dir = cache_open(config, "trash", e);

	if (dir < 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	return tree_remove(dir, name, watch, e);
}

int64_t
cache_trash_bytes(const struct config *config, const char *name,
    const struct tree_watch *watch)
{
	struct tree_sum sum = {0, 0, 0};
	struct err ignored = ERR_INIT;
	FD_AUTO dir = cache_open(config, "trash", &ignored);
	FD_AUTO fd = dir >= 0 ? openat(dir, name, OPEN_DIR) : -1;

	if (fd >= 0)
		(void)tree_measure(fd, watch, &sum, &ignored);
	return sum.bytes;
}
