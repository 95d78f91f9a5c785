/* lib/tree: what a copy keeps. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIB (1 << 20)

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
	assert_int_equal(tree_copy_same().entries, 25);
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
	assert_int_equal(tree_copy_same().entries, 4);
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
	check_ok(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e);
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
	assert_int_equal(tree_copy_same().entries, 253 * 2 + 3);
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
	tree_copy_same();
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
	tree_copy_same();
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
	tree_copy_same();
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
	check_ok(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e);
	assert_int_equal(sum.entries, 1);
	assert_int_equal(sum.skipped, 4);
	assert_true(tree_there(tree_path("to/file")));
	assert_false(tree_there(tree_path("to/fifo")));
	assert_false(tree_there(tree_path("to/null")));
}

/* Opening it would wait for whoever has it, who may be frozen. */
static void
a_file_that_is_leased_is_a_conflict(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	tree_dir(tree_path("from"), 0755);
	tree_dir(tree_path("to"), 0755);
	tree_file(tree_path("from/leased"), 0644, "x");
	FD_AUTO fd = open(tree_path("from/leased"), O_RDWR | O_CLOEXEC);
	(void)signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
		skip();
	check_fails(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "leased"));
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	check_ok(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e);
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
	    TREE_TEST(a_file_that_is_leased_is_a_conflict),
	};

	return tree_run("tree_copy", tests);
}
