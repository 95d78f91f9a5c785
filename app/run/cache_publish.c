/* The warm cache on disk: generations come and go. */
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache.h"
#include "run/cache_manifest.h"
#include "run/cache_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LOCK "lock"
#define LOOK_MS 5 /* between two tries at a lock */
#define RACES 20  /* with who removes an empty directory */

/* -- the lock -------------------------------------------------------------- */

/* Not one whose file was removed meanwhile, with its empty directory. */
static bool
is_there(int dir, int lock)
{
	struct stat own, there;

	return fstat(lock, &own) == 0 &&
	       fstatat(dir, LOCK, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

/* A lock that is held, -1 where somebody else has it, or with *e. */
static int
try_lock(const struct config *config, const char *repo, struct err *e)
{
	FD_AUTO dir = cache_open_repo(config, repo, true, e);

	if (dir < 0)
		return -1;
	FD_AUTO lock =
	    openat(dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 && errno != ENOENT)
		return cache_fail(e, "cannot make a repository's lock");
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 ||
	    !is_there(dir, lock))
		return err_set(e, ERR_BUSY,
		    "the template of %s is being changed by somebody else",
		    repo);
	return fd_take(&lock);
}

int
cache_lock(const struct config *config, const char *repo, int timeout_ms,
    int *ret_lock, struct err *e)
{
	int64_t deadline = clock_mono_ms() + timeout_ms;
	struct err why = ERR_INIT;
	int lock;

	/* flock(2) knows no deadline. */
	while ((lock = try_lock(config, repo, &why)) < 0 &&
	       (why.kind == ERR_BUSY || why.kind == ERR_ABSENT) &&
	       clock_left(deadline) > 0)
		(void)poll(NULL, 0, LOOK_MS);
	if (lock < 0) {
		*e = why;
		return -1;
	}
	*ret_lock = lock;
	return 0;
}

void
cache_unlock(int lock)
{
	fd_close(&lock);
}

/* -- a new generation ------------------------------------------------------ */

static int
no_gen(const char *gen, struct err *e)
{
	return err_set(e, ERR_INTERNAL, "%s is not a generation's name", gen);
}

/* new-<gen> in the repository's directory, which may vanish while it is empty.
 */
static int
make_new(const struct config *config, const char *repo, const char *name,
    struct err *e)
{
	for (int i = 0; i < RACES; i++) {
		FD_AUTO dir = cache_open_repo(config, repo, true, e);

		if (dir < 0 && e->kind != ERR_ABSENT)
			return -1;
		if (dir < 0)
			continue;
		if (mkdirat(dir, name, 0700) == 0)
			return openat(dir, name, OPEN_DIR);
		if (errno != ENOENT)
			break;
	}
	return cache_fail(e, "cannot make a generation's directory");
}

int
cache_begin(const struct config *config, const char *repo, const char *gen,
    int *ret_tree, struct err *e)
{
	char name[CACHE_NAME_SIZE];

	if (!cache_gen_name("new-", gen, name))
		return no_gen(gen, e);
	FD_AUTO dir = make_new(config, repo, name, e);
	if (dir < 0)
		return -1;
	int tree = mkdirat(dir, "tree", 0700) == 0
		       ? openat(dir, "tree", OPEN_DIR)
		       : -1;
	if (tree < 0)
		return cache_fail(e, "cannot make a generation's tree");
	*ret_tree = tree;
	return 0;
}

/* Generations are in the order of their names: one that was begun before the
 * current one was takes a new name. */
static int
name_gen(const struct config *config, struct cache_manifest *m, struct err *e)
{
	struct cache_manifest current;
	struct err why = ERR_INIT;
	unsigned char random[10];

	if (cache_current(config, m->repo, &current, &why) != 0) {
		if (why.kind == ERR_ABSENT)
			return 0;
		*e = why;
		return -1;
	}
	if (strcmp(m->gen, current.gen) > 0)
		return 0;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, ERR_INTERNAL, "no random bytes");
	ulid_format(ulid_time(current.gen) + 1, random, m->gen);
	return 0;
}

/* What new-<gen> is, with all of its bytes on disk. */
static int
seal(int dir, const char *name, const struct cache_manifest *m, struct err *e)
{
	FD_AUTO fresh = openat(dir, name, OPEN_DIR);

	if (fresh < 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot open a copy on its way");
	if (syncfs(fresh) != 0)
		return cache_fail(e, "cannot flush a generation");
	return cache_manifest_store(fresh, m, e);
}

int
cache_publish(
    const struct config *config, struct cache_manifest *manifest, struct err *e)
{
	struct cache_manifest m = *manifest;
	char from[CACHE_NAME_SIZE], to[CACHE_NAME_SIZE];
	FD_AUTO dir = cache_open_repo(config, m.repo, false, e);

	if (dir < 0)
		return -1;
	if (!cache_gen_name("new-", m.gen, from))
		return no_gen(m.gen, e);
	if (name_gen(config, &m, e) != 0 || seal(dir, from, &m, e) != 0)
		return -1;
	(void)cache_gen_name("g-", m.gen, to);
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) != 0 ||
	    fsync(dir) != 0)
		return cache_fail(e, "cannot put a generation in place");
	if (cache_manifest_store(dir, &m, e) != 0)
		return -1;
	*manifest = m;
	return 0;
}

/* -- the end of one -------------------------------------------------------- */

void
cache_abandon(const struct config *config, const char *repo, const char *gen)
{
	struct err ignored = ERR_INIT;
	char name[CACHE_NAME_SIZE], trashed[ULID_SIZE] = "";
	FD_AUTO dir = cache_open_repo(config, repo, false, &ignored);

	if (dir < 0 || !cache_gen_name("new-", gen, name) ||
	    cache_trash_move(config, dir, name, trashed, &ignored) != 0 ||
	    *trashed == '\0')
		return;
	/* At once, since the disk may be full; else the reaper does. */
	FD_AUTO trash = cache_open(config, "trash", &ignored);
	if (trash >= 0)
		(void)tree_remove(trash, trashed, NULL, &ignored);
}

static int
forget(int dir, struct err *e)
{
	if (unlinkat(dir, CACHE_MANIFEST, 0) == 0)
		return 0;
	return err_sys(e, errno == ENOENT ? ERR_ABSENT : ERR_INTERNAL,
	    "cannot take a manifest away");
}

int
cache_drop(const struct config *config, const char *repo, struct err *e)
{
	FD_AUTO dir = cache_open_repo(config, repo, false, e);

	if (dir < 0 || forget(dir, e) != 0)
		return -1;
	if (fsync(dir) != 0)
		return cache_fail(e, "cannot flush a repository's directory");
	return 0;
}

int
cache_discard(const struct config *config, const char *repo, const char *gen,
    struct err *e)
{
	struct cache_manifest m;
	struct err why = ERR_INIT;
	char name[CACHE_NAME_SIZE], trashed[ULID_SIZE];
	FD_AUTO dir = cache_open_repo(config, repo, false, &why);

	if (dir < 0 && why.kind == ERR_ABSENT)
		return 0;
	if (dir < 0) {
		*e = why;
		return -1;
	}
	if (!cache_gen_name("g-", gen, name))
		return no_gen(gen, e);
	/* A manifest never names what is not there; after a crash of the box it
	 * may, and counts for none. */
	if (cache_manifest_load(dir, &m, &why) == 0 && str_eq(m.gen, gen) &&
	    forget(dir, e) != 0)
		return -1;
	if (cache_trash_move(config, dir, name, trashed, e) != 0)
		return -1;
	(void)cache_gen_name("new-", gen, name);
	return cache_trash_move(config, dir, name, trashed, e);
}

int
cache_discard_run(const struct config *config, const char *id, struct err *e)
{
	struct err why = ERR_INIT;
	char name[ULID_SIZE], trashed[ULID_SIZE];

	if (!ulid_parse(id, name) || !str_eq(id, name))
		return err_set(e, ERR_INTERNAL, "%s is not a run's id", id);
	FD_AUTO dir = cache_open(config, "runs", &why);
	if (dir < 0 && why.kind == ERR_ABSENT)
		return 0;
	if (dir < 0) {
		*e = why;
		return -1;
	}
	return cache_trash_move(config, dir, name, trashed, e);
}

int
cache_trash_move(const struct config *config, int dir, const char *name,
    char ret_name[ULID_SIZE], struct err *e)
{
	char to[ULID_SIZE];

	*ret_name = '\0';
	if (ulid_new(to, e) != 0)
		return -1;
	FD_AUTO trash = cache_open(config, "trash", e);
	if (trash < 0)
		return -1;
	if (renameat(dir, name, trash, to) != 0)
		return errno == ENOENT ? 0
				       : err_sys(e, ERR_INTERNAL,
					     "cannot discard %s", name);
	memcpy(ret_name, to, sizeof(to));
	return 0;
}

/* Only the lock is in it, or what a crash left of a manifest. */
static bool
is_bare(int dir)
{
	const struct dirent *entry;
	int fd = openat(dir, ".", OPEN_DIR);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	bool bare = d != NULL;

	if (d == NULL)
		fd_close(&fd);
	while (bare && (entry = readdir(d)) != NULL)
		bare = str_eq(entry->d_name, ".") ||
		       str_eq(entry->d_name, "..") ||
		       str_eq(entry->d_name, CACHE_MANIFEST_NEW) ||
		       str_eq(entry->d_name, LOCK);
	if (d != NULL)
		(void)closedir(d);
	return bare;
}

void
cache_tidy(const struct config *config, const char *repo)
{
	struct err ignored = ERR_INIT;
	char name[WARM_REPO_SIZE];
	FD_AUTO dir = cache_open_repo(config, repo, false, &ignored);
	FD_AUTO repos = cache_open(config, "repos", &ignored);

	if (dir < 0 || repos < 0 || !is_bare(dir))
		return;
	(void)unlinkat(dir, CACHE_MANIFEST_NEW, 0);
	(void)unlinkat(dir, LOCK, 0);
	warm_repo_file(repo, name);
	/* Somebody may have begun a generation since. */
	(void)unlinkat(repos, name, AT_REMOVEDIR);
}
