/* The warm cache on disk: where things are, and what is current. */
#include "run/cache.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache_manifest.h"
#include "run/cache_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* -- the layout ------------------------------------------------------------ */

bool
cache_on(const struct config *config)
{
	return *config->cache_root != '\0';
}

int
cache_fail(struct err *e, const char *what)
{
	bool full = errno == ENOSPC || errno == EDQUOT;

	return err_sys(e, full ? ERR_FILE_SPACE : ERR_INTERNAL, "%s", what);
}

/* mkdir -p, of an absolute path. */
static int
make_all(char *path)
{
	for (char *at = path + 1;; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		bool last = *at == '\0';

		*at = '\0';
		if (mkdir(path, last ? 0700 : 0755) != 0 && errno != EEXIST)
			return -1;
		if (last)
			return 0;
		*at = '/';
	}
}

int
cache_setup(const struct config *config, struct err *e)
{
	static const char *const parts[] = {"repos", "runs", "trash"};
	char path[CACHE_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s", config->cache_root);
	int fd = open(path, OPEN_DIR);
	if (fd < 0 && errno == ENOENT && make_all(path) == 0)
		fd = open(path, OPEN_DIR);
	FD_AUTO root = fd;
	if (root < 0)
		return err_sys(e, ERR_INTERNAL,
		    "cannot open the warm cache's directory, SBX_CACHE_ROOT");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (mkdirat(root, parts[i], 0700) != 0 && errno != EEXIST)
			return cache_fail(
			    e, "cannot make the warm cache's directories");
	return 0;
}

int
cache_open(const struct config *config, const char *name, struct err *e)
{
	char path[CACHE_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/%s", config->cache_root, name);
	int fd = open(path, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, errno == ENOENT ? ERR_ABSENT : ERR_INTERNAL,
		    "cannot open %s of the warm cache", name);
	return fd;
}

/* The repository's directory has its form. */
static int
repo_name(const char *repo, char to[WARM_REPO_SIZE], struct err *e)
{
	char back[WARM_REPO_SIZE];

	warm_repo_file(repo, to);
	if (warm_repo_of_file(to, back) != 0 || !str_eq(back, repo))
		return err_set(
		    e, ERR_INTERNAL, "%s is not a repository's name", repo);
	return 0;
}

int
cache_open_repo(
    const struct config *config, const char *repo, bool make, struct err *e)
{
	char name[WARM_REPO_SIZE];

	if (repo_name(repo, name, e) != 0)
		return -1;
	FD_AUTO repos = cache_open(config, "repos", e);
	if (repos < 0)
		return -1;
	if (make && mkdirat(repos, name, 0700) != 0 && errno != EEXIST)
		return cache_fail(e, "cannot make a repository's directory");
	int fd = openat(repos, name, OPEN_DIR | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, errno == ENOENT ? ERR_ABSENT : ERR_INTERNAL,
		    "cannot open the repository's directory of %s", repo);
	return fd;
}

bool
cache_gen_name(const char *prefix, const char *gen, char to[CACHE_NAME_SIZE])
{
	char good[ULID_SIZE];

	if (!ulid_parse(gen, good) || !str_eq(good, gen))
		return false;
	(void)snprintf(to, CACHE_NAME_SIZE, "%s%s", prefix, gen);
	return true;
}

void
cache_tree_path(const struct config *config, const char *repo, const char *gen,
    char to[CACHE_PATH_SIZE])
{
	char name[WARM_REPO_SIZE];

	warm_repo_file(repo, name);
	(void)snprintf(to, CACHE_PATH_SIZE, "%s/repos/%s/g-%s/tree",
	    config->cache_root, name, gen);
}

void
cache_run_path(const struct config *config, const char *id, const char *part,
    char to[CACHE_PATH_SIZE])
{
	(void)snprintf(to, CACHE_PATH_SIZE, "%s/runs/%s%s%s",
	    config->cache_root, id, *part != '\0' ? "/" : "", part);
}

/* -- what is current ------------------------------------------------------- */

static bool
has_tree(int dir, const char *gen)
{
	char path[CACHE_NAME_SIZE + 8];
	struct stat st;

	(void)snprintf(path, sizeof(path), "g-%s/tree", gen);
	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

int
cache_current(const struct config *config, const char *repo,
    struct cache_manifest *ret_manifest, struct err *e)
{
	FD_AUTO dir = cache_open_repo(config, repo, false, e);
	char before[ULID_SIZE] = "";
	struct cache_manifest m;

	if (dir < 0)
		return -1;
	for (;;) {
		if (cache_manifest_load(dir, &m, e) != 0)
			return -1;
		if (!str_eq(m.repo, repo) || str_eq(m.gen, before))
			return err_set(e, ERR_ABSENT,
			    "the current generation of %s is not whole", repo);
		if (has_tree(dir, m.gen))
			break;
		/* It was replaced, and removed, since that was read? */
		memcpy(before, m.gen, sizeof(before));
	}
	*ret_manifest = m;
	return 0;
}

void
cache_touch(const struct config *config, const char *repo)
{
	struct err ignored = ERR_INIT;
	FD_AUTO dir = cache_open_repo(config, repo, false, &ignored);

	/* What was dropped meanwhile needs it no more. */
	if (dir >= 0)
		(void)utimensat(dir, CACHE_MANIFEST, NULL, AT_SYMLINK_NOFOLLOW);
}

static int
by_repo(const void *a, const void *b)
{
	const struct cache_manifest *x = a, *y = b;

	return strcmp(x->repo, y->repo);
}

static int
read_list(const struct config *config, DIR *dir, struct arena *a,
    struct cache_list *list, struct err *e)
{
	const struct dirent *entry;
	size_t room = 0;
	char repo[WARM_REPO_SIZE];

	while (readdir(dir) != NULL)
		room++;
	rewinddir(dir);
	list->item = arena_alloc(a, (room + 1) * sizeof(*list->item));
	while (list->count < room && (entry = readdir(dir)) != NULL) {
		struct err why = ERR_INIT;

		if (warm_repo_of_file(entry->d_name, repo) != 0)
			continue;
		if (cache_current(
			config, repo, &list->item[list->count], &why) == 0)
			list->count++;
		else if (why.kind != ERR_ABSENT) {
			*e = why;
			return -1;
		}
	}
	qsort(list->item, list->count, sizeof(*list->item), by_repo);
	return 0;
}

int
cache_list(const struct config *config, struct arena *a,
    struct cache_list *ret_list, struct err *e)
{
	struct cache_list list = {NULL, 0};
	struct err why = ERR_INIT;
	int fd = cache_open(config, "repos", &why);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int rc = 0;

	if (dir != NULL) {
		rc = read_list(config, dir, a, &list, e);
		(void)closedir(dir);
	} else if (fd >= 0) {
		rc = err_sys(e, ERR_INTERNAL, "cannot list the warm cache");
		fd_close(&fd);
	} else if (why.kind != ERR_ABSENT) {
		*e = why;
		rc = -1;
	}
	if (rc == 0)
		*ret_list = list;
	return rc;
}
