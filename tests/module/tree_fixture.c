/* Directory trees: made, and compared. */
#include "tree_fixture.h"
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VALUE_MAX 65536
#define PAIRS 4096

static char group[64], base[96];
static int serial;
static bool may_mount;

int
tree_begin_group(void **state)
{
	(void)state;
	(void)snprintf(group, sizeof(group), "/tmp/sbx-tree-XXXXXX");
	if (mkdtemp(group) == NULL)
		return -1;
	may_mount = unshare(CLONE_NEWNS) == 0 &&
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return 0;
}

int
tree_end_group(void **state)
{
	(void)state;
	return rmdir(group);
}

int
tree_begin_test(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "%s/%d", group, serial++);
	return mkdir(base, 0700);
}

int
tree_end_test(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)umount2(base, MNT_DETACH | UMOUNT_NOFOLLOW);
	if (tree_remove(AT_FDCWD, base, NULL, &e) == 0)
		return 0;
	fprintf(stderr, "%s\n", e.text);
	return -1;
}

const char *
tree_path(const char *format, ...)
{
	static char path[8][PATH_MAX];
	static size_t next;
	char *to = path[next++ % 8];
	int size = snprintf(to, PATH_MAX, "%s/", base);
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(to + size, PATH_MAX - (size_t)size, format, ap);
	va_end(ap);
	return to;
}

int
tree_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

void
tree_dir(const char *path, mode_t mode)
{
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

void
tree_file(const char *path, mode_t mode, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

bool
tree_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

char *
tree_text(const char *path)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(path, 64u << 20, NULL, &e);

	if (text == NULL)
		fail_msg("%s", e.text);
	return text;
}

bool
tree_is_root(void)
{
	if (geteuid() == 0)
		return true;
	fprintf(stderr, "trees have many owners: this test needs root\n");
	return false;
}

void
tree_in_memory(void)
{
	(void)tree_mount(base, "mode=0700");
}

bool
tree_mount(const char *path, const char *options)
{
	if (!may_mount)
		return false;
	assert_int_equal(mount("none", path, "tmpfs", 0, options), 0);
	return true;
}

void
tree_unmount(const char *path)
{
	assert_int_equal(umount2(path, MNT_DETACH), 0);
}

int
tree_chain(int dir, size_t depth)
{
	int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < depth; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	return at;
}

/* -- the same -------------------------------------------------------------- */

/* Which file of b is which of a: its links are that one's. */
static struct {
	ino_t a, b;
} pairs[PAIRS];
static size_t pair_count;

static void
check_links(const char *path, const struct stat *a, const struct stat *b)
{
	for (size_t i = 0; i < pair_count; i++) {
		if (pairs[i].a != a->st_ino && pairs[i].b != b->st_ino)
			continue;
		if (pairs[i].a != a->st_ino || pairs[i].b != b->st_ino)
			fail_msg("%s is not linked like that", path);
		return;
	}
	assert_true(pair_count < PAIRS);
	pairs[pair_count].a = a->st_ino;
	pairs[pair_count++].b = b->st_ino;
}

static void
check_same_time(
    const char *path, const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec)
		fail_msg("%s: %lld.%09ld became %lld.%09ld", path,
		    (long long)a->tv_sec, a->tv_nsec, (long long)b->tv_sec,
		    b->tv_nsec);
}

static void
check_same_stat(const char *path, const struct stat *a, const struct stat *b)
{
	if (a->st_mode != b->st_mode || a->st_uid != b->st_uid ||
	    a->st_gid != b->st_gid)
		fail_msg("%s: %o %u:%u became %o %u:%u", path, a->st_mode,
		    a->st_uid, a->st_gid, b->st_mode, b->st_uid, b->st_gid);
	check_same_time(path, &a->st_mtim, &b->st_mtim);
	/* Reading a link was a use of it; there is no way around that. */
	if (!S_ISLNK(a->st_mode))
		check_same_time(path, &a->st_atim, &b->st_atim);
	if (S_ISDIR(a->st_mode))
		return;
	if (a->st_size != b->st_size)
		fail_msg("%s: %lld bytes became %lld", path,
		    (long long)a->st_size, (long long)b->st_size);
	if (a->st_nlink > 1 || b->st_nlink > 1)
		check_links(path, a, b);
}

static void
check_same_xattrs(const char *a, const char *b)
{
	static char names[2][VALUE_MAX], value[2][VALUE_MAX];
	ssize_t size[2] = {llistxattr(a, names[0], VALUE_MAX),
	    llistxattr(b, names[1], VALUE_MAX)};

	for (int i = 0; i < 2; i++)
		for (const char *name = names[i]; name < names[i] + size[i];
		     name += strlen(name) + 1) {
			if (strncmp(name, "trusted.", 8) == 0)
				continue;
			ssize_t is[2] = {
			    lgetxattr(a, name, value[0], VALUE_MAX),
			    lgetxattr(b, name, value[1], VALUE_MAX)};
			if (is[0] < 0 || is[0] != is[1] ||
			    memcmp(value[0], value[1], (size_t)is[0]) != 0)
				fail_msg("%s: %s is another", a, name);
		}
}

static void
check_same_bytes(const char *a, const char *b, const struct stat *st)
{
	static char bytes[2][1 << 20];
	FD_AUTO from = open(a, O_RDONLY | O_CLOEXEC | O_NOATIME);
	FD_AUTO to = open(b, O_RDONLY | O_CLOEXEC | O_NOATIME);
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	/* What is vast is for the most part a hole: the test looks itself. */
	if (st->st_size > (64 << 20))
		return;
	while ((n = read(from, bytes[0], sizeof(bytes[0]))) > 0) {
		assert_int_equal(read(to, bytes[1], (size_t)n), n);
		if (memcmp(bytes[0], bytes[1], (size_t)n) != 0)
			fail_msg("%s has other bytes", b);
	}
	assert_int_equal(read(to, bytes[1], 1), 0);
}

static void check_same_entry(const char *a, const char *b);

static size_t
count_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count;
}

static void
check_same_dir(const char *a, const char *b)
{
	const struct dirent *entry;
	DIR *d = opendir(a);

	assert_non_null(d);
	assert_int_equal(count_entries(a), count_entries(b));
	while ((entry = readdir(d)) != NULL) {
		char from[PATH_MAX], to[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(from, sizeof(from), "%s/%s", a, entry->d_name);
		(void)snprintf(to, sizeof(to), "%s/%s", b, entry->d_name);
		check_same_entry(from, to);
	}
	(void)closedir(d);
}

static void
check_same_entry(const char *a, const char *b)
{
	char target[2][PATH_MAX] = {"", ""};
	struct stat from, to;

	assert_int_equal(lstat(a, &from), 0);
	if (lstat(b, &to) != 0)
		fail_msg("%s is not there", b);
	check_same_stat(a, &from, &to);
	check_same_xattrs(a, b);
	if (S_ISREG(from.st_mode))
		check_same_bytes(a, b, &from);
	if (S_ISDIR(from.st_mode))
		check_same_dir(a, b);
	if (!S_ISLNK(from.st_mode))
		return;
	assert_true(readlink(a, target[0], PATH_MAX - 1) >= 0);
	assert_true(readlink(b, target[1], PATH_MAX - 1) >= 0);
	assert_string_equal(target[0], target[1]);
}

void
tree_check_same(const char *a, const char *b)
{
	pair_count = 0;
	check_same_entry(a, b);
}

int
tree_copy_path(const char *from, const char *to, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e)
{
	FD_AUTO source = tree_open(from);
	FD_AUTO target = tree_open(to);

	return tree_copy(source, target, watch, ret_sum, e);
}

struct tree_sum
tree_copy_same(void)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	tree_dir(tree_path("to"), 0700);
	check_ok(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e);
	tree_check_same(tree_path("from"), tree_path("to"));
	return sum;
}
