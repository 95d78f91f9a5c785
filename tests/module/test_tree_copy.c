/* lib/tree: what a copy keeps. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIB (1 << 20)

static int
copy(const char *from, const char *to, const struct tree_watch *watch,
    struct tree_sum *ret_sum, struct err *e)
{
	FD_AUTO source = tree_open(from);
	FD_AUTO target = tree_open(to);

	return tree_copy(source, target, watch, ret_sum, e);
}

/* The test's "from" to its "to", and both are the same. */
static struct tree_sum
copy_same(void)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	tree_dir(tree_path("to"), 0700);
	check_ok(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e), &e);
	tree_check_same(tree_path("from"), tree_path("to"));
	return sum;
}

static void
set_times(const char *path, time_t sec, long nsec)
{
	const struct timespec times[2] = {{sec - 7, 123456789}, {sec, nsec}};

	assert_int_equal(
	    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void
modes_owners_and_times_are_kept(void **state)
{
	static const mode_t modes[] = {
	    0, 0400, 0644, 0755, 04755, 02711, 06777, 01777};

	(void)state;
	tree_dir(tree_path("from"), 02751);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const char *file = tree_path("from/f%zu", i);
		const char *dir = tree_path("from/d%zu", i);

		tree_file(file, 0600, "#!/bin/sh\n");
		assert_int_equal(chown(file, 1000 + (uid_t)i, 65000), 0);
		assert_int_equal(chmod(file, modes[i]), 0);
		set_times(file, 1000000000 + (time_t)i, 1 + (long)i);
		tree_dir(dir, 0700);
		tree_file(tree_path("from/d%zu/inside", i), 0600, "x");
		assert_int_equal(chown(dir, 4000000000u - (uid_t)i, 7), 0);
		assert_int_equal(chmod(dir, modes[i]), 0);
		set_times(dir, -1000 + (time_t)i, 999999999);
	}
	tree_file(tree_path("from/empty"), 0640, "");
	set_times(tree_path("from/empty"), 4102444800, 5);
	assert_int_equal(chown(tree_path("from"), 33, 34), 0);
	assert_int_equal(chmod(tree_path("from"), 02751), 0);
	set_times(tree_path("from"), 1, 1);
	assert_int_equal(copy_same().entries, 25);
}

static void
links_are_copied_as_links(void **state)
{
	char longest[4096];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	tree_dir(tree_path("from"), 0755);
	assert_int_equal(symlink(longest, tree_path("from/longest")), 0);
	assert_int_equal(symlink("/etc/passwd", tree_path("from/out")), 0);
	assert_int_equal(symlink("from", tree_path("from/nowhere")), 0);
	assert_int_equal(symlink("..", tree_path("from/up")), 0);
	assert_int_equal(lchown(tree_path("from/out"), 12, 13), 0);
	set_times(tree_path("from/nowhere"), 86400, 42);
	assert_int_equal(copy_same().entries, 4);
}

static void
names_of_one_file_stay_names_of_one_file(void **state)
{
	struct tree_sum sum, seen;
	struct err e = ERR_INIT;
	char name[256];

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	tree_dir(tree_path("from"), 0755);
	tree_file(tree_path("from/a"), 0644, "shared");
	tree_file(tree_path("outside"), 0644, "a name is elsewhere");
	assert_int_equal(
	    link(tree_path("outside"), tree_path("from/outside")), 0);
	assert_int_equal(symlink("a", tree_path("from/link")), 0);
	assert_int_equal(linkat(AT_FDCWD, tree_path("from/link"), AT_FDCWD,
			     tree_path("from/link again"), 0),
	    0);
	/* A place that is longer than a path may be. */
	FD_AUTO at = tree_open(tree_path("from"));
	for (int i = 0; i < 40; i++) {
		assert_int_equal(mkdirat(at, name, 0755), 0);
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	assert_int_equal(
	    linkat(AT_FDCWD, tree_path("from/a"), at, "deep", 0), 0);
	int deep = openat(at, "own", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(linkat(at, "own", at, "own too", 0), 0);
	(void)close(deep);
	tree_dir(tree_path("to"), 0700);
	check_ok(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 4 + 40 + 3);

	struct stat a, b, c;
	FD_AUTO to = tree_open(tree_path("to"));
	assert_int_equal(fstatat(to, "a", &a, 0), 0);
	assert_int_equal(fstatat(to, "link", &b, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fstatat(to, "link again", &c, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(b.st_ino, c.st_ino);
	assert_int_equal(fstatat(to, "outside", &c, 0), 0);
	assert_int_equal(c.st_nlink, 1);
	for (int i = 0; i < 40; i++) {
		int next = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(to);
		to = next;
	}
	assert_int_equal(fstatat(to, "deep", &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(fstatat(to, "own", &b, 0), 0);
	assert_int_equal(fstatat(to, "own too", &c, 0), 0);
	assert_int_equal(b.st_ino, c.st_ino);
	/* Once each, whatever their names. */
	FD_AUTO whole = tree_open(tree_path("from"));
	check_ok(tree_measure(whole, NULL, &seen, &e), &e);
	assert_int_equal(seen.entries, sum.entries);
	assert_int_equal(seen.bytes, sum.bytes);
}

static void
names_may_hold_any_byte(void **state)
{
	char name[3] = "x";

	(void)state;
	tree_dir(tree_path("from"), 0755);
	for (int byte = 1; byte < 256; byte++) {
		name[0] = (char)byte;
		if (byte == '/' || byte == '.')
			continue;
		tree_file(tree_path("from/%s", name), 0644, name);
		tree_dir(tree_path("from/dir%s", name), 0755);
	}
	tree_file(tree_path("from/-rf"), 0644, "");
	tree_file(tree_path("from/..."), 0644, "");
	tree_dir(tree_path("from/.. "), 0755);
	assert_int_equal(copy_same().entries, 253 * 2 + 3);
}

static void
holes_stay_holes(void **state)
{
	static const off_t data[] = {
	    1, 5LL << 30, (5LL << 30) + 5000, (9LL << 30) - 7};
	struct stat st;

	(void)state;
	tree_dir(tree_path("from"), 0755);
	FD_AUTO fd =
	    open(tree_path("from/disk"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pwrite(fd, "here", 4, data[i]), 4);
	assert_int_equal(ftruncate(fd, 10LL << 30), 0);
	FD_AUTO hollow =
	    open(tree_path("from/hollow"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(hollow, 1LL << 40), 0);
	copy_same();
	FD_AUTO to = open(tree_path("to/disk"), O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < 4; i++) {
		char text[5] = "";

		assert_int_equal(pread(to, text, 4, data[i]), 4);
		assert_string_equal(text, "here");
	}
	assert_int_equal(fstat(to, &st), 0);
	assert_int_equal(st.st_size, 10LL << 30);
	assert_true(st.st_blocks * 512 < MIB);
	assert_int_equal(stat(tree_path("to/hollow"), &st), 0);
	assert_int_equal(st.st_blocks, 0);
}

static void
large_files_are_the_same_to_the_last_byte(void **state)
{
	static const size_t sizes[] = {1, 4095, 4097, 256 << 10,
	    (256 << 10) + 1, 8 * MIB, 8 * MIB + 3, 20 * MIB + 511};
	unsigned char *bytes = malloc(21 * MIB);

	(void)state;
	for (size_t i = 0; i < 21 * MIB; i++)
		bytes[i] = (unsigned char)(i * 2654435761u >> 13);
	tree_dir(tree_path("from"), 0755);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		FD_AUTO fd = open(tree_path("from/%zu", sizes[i]),
		    O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		assert_int_equal(write(fd, bytes, sizes[i]), sizes[i]);
	}
	free(bytes);
	copy_same();
}

/* capabilities(7), version 2: cap_net_raw=ep. */
static const unsigned char capability[20] = {
    1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
/* acl(5) as the kernel keeps it: u::rw-, u:1234:r--, g::r--, m::r--, o::--- */
static const unsigned char access_list[44] = {2, 0, 0, 0, 1, 0, 6, 0, 0xff,
    0xff, 0xff, 0xff, 2, 0, 4, 0, 0xd2, 4, 0, 0, 4, 0, 4, 0, 0xff, 0xff, 0xff,
    0xff, 0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 0xff, 0xff,
    0xff, 0xff};

static void
attributes_are_kept(void **state)
{
	char value[3000];

	(void)state;
	memset(value, 'v', sizeof(value));
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("from/dir"), 0755);
	tree_file(tree_path("from/dir/ping"), 0755, "elf");
	tree_file(tree_path("from/listed"), 0640, "x");
	const char *ping = tree_path("from/dir/ping");
	const char *listed = tree_path("from/listed");
	if (setxattr(ping, "user.long", value, sizeof(value), 0) != 0 &&
	    errno == EOPNOTSUPP)
		skip(); /* an old tmpfs */
	assert_int_equal(setxattr(ping, "user.none", "", 0, 0), 0);
	assert_int_equal(chown(ping, 55, 66), 0);
	assert_int_equal(setxattr(ping, "security.capability", capability,
			     sizeof(capability), 0),
	    0);
	assert_int_equal(setxattr(listed, "system.posix_acl_access",
			     access_list, sizeof(access_list), 0),
	    0);
	assert_int_equal(
	    setxattr(tree_path("from/dir"), "system.posix_acl_default",
		access_list, sizeof(access_list), 0),
	    0);
	assert_int_equal(
	    setxattr(tree_path("from"), "user.root", "yes", 3, 0), 0);
	assert_int_equal(
	    setxattr(listed, "trusted.overlay.opaque", "y", 1, 0), 0);
	copy_same();
	assert_int_equal(getxattr(tree_path("to/dir/ping"),
			     "security.capability", value, sizeof(value)),
	    sizeof(capability));
	assert_true(getxattr(tree_path("to/listed"), "trusted.overlay.opaque",
			value, sizeof(value)) < 0);
}

static void
what_is_no_file_is_skipped_and_counted(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct err e = ERR_INIT;
	struct tree_sum sum;
	FD_AUTO fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	tree_file(tree_path("from/file"), 0644, "x");
	assert_int_equal(mkfifo(tree_path("from/fifo"), 0666), 0);
	assert_int_equal(
	    mknod(tree_path("from/null"), S_IFCHR | 0666, makedev(1, 3)), 0);
	assert_int_equal(
	    mknod(tree_path("from/disk"), S_IFBLK | 0600, makedev(253, 0)), 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s",
	    tree_path("from/socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	check_ok(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 1);
	assert_int_equal(sum.skipped, 4);
	assert_true(tree_there(tree_path("to/file")));
	assert_false(tree_there(tree_path("to/fifo")));
	assert_false(tree_there(tree_path("to/null")));
}

static void
ten_thousand_files_are_copied(void **state)
{
	struct tree_sum sum, seen;
	struct err e = ERR_INIT;

	(void)state;
	tree_in_memory();
	tree_dir(tree_path("from"), 0755);
	FD_AUTO dir = tree_open(tree_path("from"));
	for (int i = 0; i < 10000; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", i);
		FD_AUTO fd =
		    openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
	}
	sum = copy_same();
	assert_int_equal(sum.entries, 10000);
	check_ok(tree_measure(dir, NULL, &seen, &e), &e);
	assert_int_equal(seen.entries, sum.entries);
	assert_int_equal(seen.bytes, sum.bytes);
}

/* With so few descriptors that not all levels can have one. */
static void
a_thousand_levels_need_few_descriptors(void **state)
{
	struct rlimit before, few;
	struct err e = ERR_INIT;
	struct tree_sum sum, seen;

	(void)state;
	tree_in_memory();
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	FD_AUTO from = tree_open(tree_path("from"));
	FD_AUTO deep = tree_chain(from, TREE_DEPTH);
	FD_AUTO fd =
	    openat(deep, "bottom", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	/* What is read after the way back up. */
	tree_file(tree_path("from/z"), 0644, "z");
	tree_file(tree_path("from/d/z"), 0644, "z");
	FD_AUTO last = tree_open(tree_path("from"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)last + 45;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	int rc = copy(tree_path("from"), tree_path("to"), NULL, &sum, &e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	check_ok(rc, &e);
	assert_int_equal(sum.entries, TREE_DEPTH + 3);
	FD_AUTO to = tree_open(tree_path("to"));
	check_ok(tree_measure(to, NULL, &seen, &e), &e);
	assert_int_equal(seen.entries, sum.entries);
	assert_true(tree_there(tree_path("to/d/z")));

	assert_int_equal(mkdirat(deep, "one more", 0700), 0);
	tree_dir(tree_path("again"), 0755);
	check_fails(copy(tree_path("from"), tree_path("again"), NULL, &sum, &e),
	    &e, ERR_TOO_LARGE);
}

/* Up and down again where levels have been closed. */
static void
deep_trees_with_many_branches_are_copied_whole(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	tree_in_memory();
	tree_dir(tree_path("from"), 0755);
	FD_AUTO at = tree_open(tree_path("from"));
	for (int depth = 0; depth < 60; depth++) {
		for (int i = 0; i < 3; i++) {
			char name[8];

			(void)snprintf(
			    name, sizeof(name), "%c%d", "ez"[i % 2], i);
			assert_int_equal(
			    mkdirat(at, name, 0700 | (mode_t)i), 0);
			FD_AUTO branch = openat(
			    at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			(void)close(tree_chain(branch, 20));
		}
		int next = tree_chain(at, 1);
		(void)close(at);
		at = next;
	}
	assert_int_equal(copy_same().entries, 60 * (3 * 21 + 1));
	FD_AUTO base = tree_open(tree_path("."));
	check_ok(tree_remove(base, "from", NULL, &e), &e);
}

static bool
count_down(void *arg)
{
	return (*(int *)arg)-- == 0;
}

static void
who_goes_away_ends_it(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;
	int left = 3;
	const struct tree_watch watch = {count_down, &left};

	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	for (int i = 0; i < 300; i++)
		tree_file(tree_path("from/%d", i), 0644, "x");
	check_fails(copy(tree_path("from"), tree_path("to"), &watch, &sum, &e),
	    &e, ERR_GONE_AWAY);
	tree_dir(tree_path("large"), 0755);
	tree_dir(tree_path("to2"), 0755);
	tree_file(tree_path("large/file"), 0644, "");
	FD_AUTO fd = open(tree_path("large/file"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(posix_fallocate(fd, 0, 64 * MIB), 0);
	left = 4;
	check_fails(
	    copy(tree_path("large"), tree_path("to2"), &watch, &sum, &e), &e,
	    ERR_GONE_AWAY);
}

static void
a_full_disk_is_told(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	tree_file(tree_path("from/file"), 0644, "");
	FD_AUTO fd = open(tree_path("from/file"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(posix_fallocate(fd, 0, 2 * MIB), 0);
	if (!tree_mount(tree_path("to"), "size=1m,mode=0700"))
		skip();
	check_fails(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e, ERR_FILE_SPACE);
	tree_unmount(tree_path("to"));
	assert_non_null(strstr(e.text, "file"));
	if (!tree_mount(tree_path("to"), "nr_inodes=20,mode=0700"))
		skip();
	for (int i = 0; i < 30; i++)
		tree_file(tree_path("from/%d", i), 0644, "");
	assert_int_equal(truncate(tree_path("from/file"), 0), 0);
	check_fails(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e, ERR_FILE_SPACE);
	tree_unmount(tree_path("to"));
}

static void
another_file_system_is_not_entered(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	tree_dir(tree_path("from/mounted"), 0755);
	if (!tree_mount(tree_path("from/mounted"), "mode=0700"))
		skip();
	tree_file(tree_path("from/mounted/foreign"), 0644, "x");
	check_ok(copy(tree_path("from"), tree_path("to"), NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 0);
	assert_int_equal(sum.skipped, 1);
	FD_AUTO from = tree_open(tree_path("from"));
	check_ok(tree_measure(from, NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 0);
	tree_unmount(tree_path("from/mounted"));
}

/* What copy_file_range(2) and hard links cannot do between them. */
static void
another_file_system_can_be_the_target(void **state)
{
	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_file(tree_path("from/a"), 04711, "one");
	assert_int_equal(link(tree_path("from/a"), tree_path("from/b")), 0);
	tree_file(tree_path("from/large"), 0600, "");
	FD_AUTO fd = open(tree_path("from/large"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, 3 * MIB), 0);
	assert_int_equal(pwrite(fd, "end", 3, 2 * MIB), 3);
	tree_dir(tree_path("mounted"), 0755);
	if (!tree_mount(tree_path("mounted"), "size=16m,mode=0700"))
		skip();
	tree_dir(tree_path("mounted/to"), 0700);
	struct err e = ERR_INIT;
	struct tree_sum sum;
	check_ok(
	    copy(tree_path("from"), tree_path("mounted/to"), NULL, &sum, &e),
	    &e);
	tree_check_same(tree_path("from"), tree_path("mounted/to"));
	tree_unmount(tree_path("mounted"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TREE_TEST(modes_owners_and_times_are_kept),
	    TREE_TEST(links_are_copied_as_links),
	    TREE_TEST(names_of_one_file_stay_names_of_one_file),
	    TREE_TEST(names_may_hold_any_byte),
	    TREE_TEST(holes_stay_holes),
	    TREE_TEST(large_files_are_the_same_to_the_last_byte),
	    TREE_TEST(attributes_are_kept),
	    TREE_TEST(what_is_no_file_is_skipped_and_counted),
	    TREE_TEST(ten_thousand_files_are_copied),
	    TREE_TEST(a_thousand_levels_need_few_descriptors),
	    TREE_TEST(deep_trees_with_many_branches_are_copied_whole),
	    TREE_TEST(who_goes_away_ends_it),
	    TREE_TEST(a_full_disk_is_told),
	    TREE_TEST(another_file_system_is_not_entered),
	    TREE_TEST(another_file_system_can_be_the_target),
	};

	return tree_run("tree_copy", tests);
}
