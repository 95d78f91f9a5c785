/* The lock hash of a repository's tree. */
#include "run/lock_hash.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (256u << 10)

/* In the order of CONTRACT 7: the first twelve are everybody's. */
static const char *const lockfiles[] = {"Cargo.lock", "Gemfile.lock",
    "Pipfile.lock", "composer.lock", "flake.lock", "go.mod", "mix.lock",
    "npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml", "poetry.lock",
    "yarn.lock", "go.sum", "uv.lock", "bun.lock", "bun.lockb", "deno.lock",
    "gradle.lockfile", "pubspec.lock", "Package.resolved", "stack.yaml.lock"};

#define LOCKFILES (sizeof(lockfiles) / sizeof(lockfiles[0]))

static bool
is_lockfile(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size <= (off_t)LOCK_FILE_MAX;
}

static bool
holds_one(int dir)
{
	struct stat st;

	for (size_t i = 0; i < LOCKFILES; i++)
		if (fstatat(dir, lockfiles[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    is_lockfile(&st))
			return true;
	return false;
}

bool
lock_dir_valid(const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t size = strlen(name);

	return size > 0 && size < LOCK_DIR_SIZE && !str_eq(name, "..") &&
	       strspn(name, plain) == size;
}

static int
open_dir(int dir, const char *name)
{
	return openat(
	    dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool
could_be_root(int dir, const struct dirent *entry)
{
	if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
	    str_eq(entry->d_name, ".") || !lock_dir_valid(entry->d_name))
		return false;
	FD_AUTO sub = open_dir(dir, entry->d_name);
	return sub >= 0 && holds_one(sub);
}

/* The name of the only sub-directory that holds a lockfile, or ".". */
static int
find_root(int dir, char to[LOCK_DIR_SIZE], struct err *e)
{
	const struct dirent *entry;
	size_t found = 0, seen = 0;
	int fd = open_dir(dir, ".");
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL) {
		fd_close(&fd);
		return err_sys(e, ERR_INTERNAL, "cannot read the volume");
	}
	bool beyond = false;
	while (found < 2 && !beyond && (entry = readdir(d)) != NULL) {
		beyond = ++seen > LOCK_ENTRIES_MAX;
		if (could_be_root(fd, entry) && ++found == 1)
			memcpy(to, entry->d_name, strlen(entry->d_name) + 1);
	}
	(void)closedir(d);
	if (found != 1 || beyond)
		memcpy(to, ".", 2);
	return 0;
}

/* To its end, which may have moved since; beyond the limit, or gone, it is no
 * lockfile and ret_hex empty. */
static int
hash_file(int dir, const char *name, char *bytes, char *ret_hex, struct err *e)
{
	FD_AUTO fd = openat(dir, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct digest d;
	struct stat st;
	uint64_t size = 0;
	ssize_t n = -1;

	*ret_hex = '\0';
	if (fd < 0 || fstat(fd, &st) != 0 || !is_lockfile(&st))
		return 0;
	digest_begin(&d);
	while (size <= LOCK_FILE_MAX && (n = read(fd, bytes, CHUNK)) > 0) {
		digest_add(&d, bytes, (size_t)n);
		size += (uint64_t)n;
	}
	int error = errno;
	digest_end(&d, ret_hex);
	if (size > LOCK_FILE_MAX)
		*ret_hex = '\0';
	errno = error;
	return n < 0 ? err_sys(e, ERR_INTERNAL, "cannot read %s", name) : 0;
}

static int
hash_all(int dir, struct lock_hash *h, struct err *e)
{
	BUF_AUTO text = BUF_INIT(LOCK_DIR_SIZE + LOCKFILES * 128);
	char *bytes = mem_alloc(CHUNK), hex[DIGEST_HEX_SIZE];
	struct digest d;
	int rc = 0;

	buf_addf(&text, "dir %s\n", h->dir);
	for (size_t i = 0; i < LOCKFILES && rc == 0; i++) {
		rc = hash_file(dir, lockfiles[i], bytes, hex, e);
		if (rc == 0 && *hex != '\0')
			buf_addf(&text, "%s %s\n", lockfiles[i], hex);
	}
	free(bytes);
	if (rc != 0)
		return -1;
	digest_begin(&d);
	digest_add(&d, text.data, text.size);
	digest_end(&d, h->hash);
	return 0;
}

int
lock_hash(int dir, struct lock_hash *ret_hash, struct err *e)
{
	struct lock_hash h = {.dir = "."};

	if (!holds_one(dir) && find_root(dir, h.dir, e) != 0)
		return -1;
	FD_AUTO root = open_dir(dir, h.dir);
	if (root < 0) {
		/* It was taken away in between: the volume, then. */
		memcpy(h.dir, ".", 2);
		root = open_dir(dir, ".");
	}
	if (root < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open the volume");
	if (hash_all(root, &h, e) != 0)
		return -1;
	*ret_hash = h;
	return 0;
}
