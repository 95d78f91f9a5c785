/* Trees of a run as archives, and what the box's own tar makes of them. Needs
 * root. */
#include "../wait.h"
#include "lib/fd.h"
#include "tar_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKS 300
#define DEEP 400
#define HUGE_SIZE (INT64_C(1) << 40)

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

/* -- trees ----------------------------------------------------------------- */

static void
must(bool holds)
{
	if (!holds)
		_exit(1);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	must(fchmod(fd, mode) == 0 && close(fd) == 0);
}

static void
set_time(const char *path, time_t s, long ns)
{
	const struct timespec times[2] = {{s, ns}, {s, ns}};

	must(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0);
}

/* What a tree may have in it. */
static void
make_tree(void)
{
	char name[300], path[700];

	must(mkdir("t", 0755) == 0 && mkdir("t/dir", 0750) == 0);
	write_file("t/dir/file", "hello\n", 0640);
	write_file("t/empty", "", 0444);
	write_file("t/tool", "#!/bin/sh\n", 06755);
	write_file("t/caf\xc3\xa9", "unicode", 0644);
	write_file("t/odd \xff\n\\name", "odd", 0644);
	must(link("t/dir/file", "t/twin") == 0);
	must(symlink("dir/file", "t/link") == 0);
	must(symlink("/etc/passwd", "t/far") == 0);
	memset(name, 'n', 250);
	name[250] = '\0';
	(void)snprintf(path, sizeof(path), "t/%s", name);
	must(mkdir(path, 0700) == 0);
	(void)snprintf(path, sizeof(path), "t/%s/%s", name, name);
	write_file(path, "long", 0644);
	(void)snprintf(path, sizeof(path), "t/%s/link", name);
	must(symlink(path, path) == 0);
	set_time("t/dir/file", 1700000000, 123456789);
	set_time("t/empty", -2, 500000000);
	set_time("t/tool", 0, 0);
	must(mkdir("t/locked", 0755) == 0);
	write_file("t/locked/in", "x", 0400);
	must(chmod("t/locked", 0555) == 0);
	set_time("t/locked", 1600000000, 1);
	set_time("t/dir", 1600000000, 0);
}

static void
make_specials(void)
{
	must(mkfifo("t/fifo", 0644) == 0);
}

/* -- out ------------------------------------------------------------------- */

static void
a_tree_is_what_tar_finds_in_its_archive(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_tree);
	assert_int_equal(archive_pack("t", NULL, &archive), 0);
	archive_is_at(&archive, file_at("/work/t"));
	assert_int_equal(archive_count(&archive), 14);
	/* All of the root, too. */
	assert_int_equal(archive_pack("", NULL, &archive), 0);
	archive_is_at(&archive, file_at("/work"));
	assert_int_equal(archive_count(&archive), 15);
}

static void
tar_unpacks_what_was_packed(void **state)
{
	char to[] = "/tmp/sbx-tar-XXXXXX";
	const char *const argv[] = {"-xp", "-C", to, "-f", "-", NULL};
	const char *const removal[] = {
	    "-c", "--remove-files", "-C", to, "-f", "-", ".", NULL};
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_tree);
	assert_int_equal(archive_pack("t", NULL, &archive), 0);
	assert_non_null(mkdtemp(to));
	assert_int_equal(archive_tar(argv, &archive, NULL), 0);
	archive_is_at(&archive, to);
	(void)archive_tar(removal, NULL, NULL);
	(void)rmdir(to);
}

static void
a_file_is_packed_under_its_own_name(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_tree);
	assert_int_equal(archive_pack("t/dir/file", NULL, &archive), 0);
	assert_int_equal(archive_count(&archive), 1);
	archive_is_at(&archive, file_at("/work/t/dir"));
	/* A link is followed, and gives its name. */
	assert_int_equal(archive_pack("t/link", NULL, &archive), 0);
	assert_int_equal(archive_count(&archive), 1);
	assert_non_null(memmem(archive.data, archive.size, "link", 5));
}

static void
fifos_are_left_out_and_do_not_block(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_tree);
	file_inside(make_specials);
	assert_int_equal(archive_pack("t", NULL, &archive), 0);
	assert_int_equal(archive_count(&archive), 14);
	assert_int_equal(
	    archive_pack("t/fifo", NULL, &archive), WIRE_FAIL_NOT_FILE);
	assert_int_equal(
	    archive_pack("t/nothing", NULL, &archive), WIRE_FAIL_ABSENT);
	assert_int_equal(
	    archive_pack("t/far", NULL, &archive), WIRE_FAIL_ESCAPES);
}

static void
an_empty_directory_is_an_empty_archive(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	assert_int_equal(archive_pack("", NULL, &archive), 0);
	assert_int_equal(archive.size, 2 * TAR_BLOCK);
	assert_int_equal(archive_count(&archive), 0);
}

static void
make_unreadable(void)
{
	must(mkdir("u", 0755) == 0);
	write_file("u/secret", "x", 0000);
	must(mkdir("v", 0755) == 0 && mkdir("v/closed", 0000) == 0);
}

static void
what_cannot_be_read_cuts_the_archive(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_unreadable);
	assert_int_equal(archive_pack("u", NULL, &archive), WIRE_FAIL_DENIED);
	assert_non_null(strstr(file_text, "u/secret"));
	assert_int_equal(archive_count(&archive), -1);
	assert_int_equal(archive_pack("", NULL, &archive), WIRE_FAIL_DENIED);
	assert_int_equal(archive_pack("v", NULL, &archive), WIRE_FAIL_DENIED);
	assert_non_null(strstr(file_text, "v/closed"));
	assert_int_equal(archive_pack("u", "0", &archive), 0);
	assert_int_equal(archive_count(&archive), 1);
}

static void
make_huge(void)
{
	must(mkdir("h", 0755) == 0);
	int fd = open("h/huge", O_WRONLY | O_CREAT, 0644);
	must(fd >= 0 && ftruncate(fd, HUGE_SIZE) == 0);
}

/* How much the one process that handles files has ever had in memory. */
static long
peak_kb(void)
{
	char path[64], text[4096];
	long kb = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)file_run.pid, (int)file_run.pid);
	FD_AUTO children = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(children, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	(void)snprintf(
	    path, sizeof(path), "/proc/%ld/status", strtol(text, NULL, 10));
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, "VmHWM:");
	if (at != NULL)
		kb = strtol(at + 6, NULL, 10);
	return kb;
}

static void
a_huge_file_takes_no_memory(void **state)
{
	const struct wire_file x = {.what = WIRE_FILE_PACK, .path = "h"};
	struct file_call c;
	const char *payload;
	size_t n, total = 0;

	(void)state;
	need_root();
	file_inside(make_huge);
	file_start(&c, &x);
	assert_int_equal(file_next(&c, &payload, &n), WIRE_STARTED);
	while (total < (64u << 20)) {
		assert_int_equal(file_next(&c, &payload, &n), WIRE_DATA);
		total += n;
	}
	assert_in_range(peak_kb(), 1, 1500);
	file_leave(&c);
	wait_until(file_handlers() == 0, 30000);
}

static void
make_deep(void)
{
	for (int i = 0; i < DEEP; i++)
		must(mkdir("d", 0755) == 0 && chdir("d") == 0);
	write_file("bottom", "deep", 0644);
}

static void
a_deep_tree_goes_out_and_in(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	BUF_AUTO again = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_inside(make_deep);
	assert_int_equal(archive_pack("", NULL, &archive), 0);
	assert_int_equal(archive_count(&archive), DEEP + 1);
	assert_int_equal(archive_unpack("copy", &archive), 0);
	assert_int_equal(archive_pack("copy", NULL, &again), 0);
	assert_int_equal(again.size, archive.size);
	assert_memory_equal(again.data, archive.data, again.size);
}

/* -- while somebody changes it --------------------------------------------- */

/* A test that fails does not stop these. */
static void
end_with_test(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		_exit(1);
}

static void
swap_for_ever(void)
{
	end_with_test();
	must(mkdir("s", 0755) == 0 && mkdir("s/dir", 0755) == 0);
	write_file("s/file", "harmless", 0644);
	must(symlink("/outside/secret", "other") == 0);
	must(symlink("/outside/dir", "s/z") == 0);
	for (;;) {
		must(renameat2(AT_FDCWD, "s/file", AT_FDCWD, "other",
			 RENAME_EXCHANGE) == 0);
		must(renameat2(AT_FDCWD, "s/dir", AT_FDCWD, "s/z",
			 RENAME_EXCHANGE) == 0);
	}
}

static void
nothing_outside_is_packed_whatever_is_swapped(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	int whole = 0;

	(void)state;
	need_root();
	pid_t other = file_background(swap_for_ever);
	wait_until(faccessat(AT_FDCWD, file_at("/work/s/z"), F_OK,
		       AT_SYMLINK_NOFOLLOW) == 0,
	    30000);
	for (int i = 0; i < 10 * PACKS; i++) {
		int rc = archive_pack("s", NULL, &archive);

		whole += rc == 0;
		if (rc == 0)
			assert_true(archive_count(&archive) >= 0);
		assert_null(memmem(archive.data, archive.size, FILE_SECRET,
		    strlen(FILE_SECRET)));
	}
	file_stop(other);
	assert_true(whole > 0);
}

static void
resize_for_ever(void)
{
	int fd = open("r", O_WRONLY | O_CREAT, 0644);

	end_with_test();
	for (off_t size = 1; ftruncate(fd, size) == 0;)
		size = (size * 7 + 4321) % 500000;
	_exit(1);
}

static void
a_file_that_changes_its_size_keeps_the_archive_whole(void **state)
{
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	pid_t other = file_background(resize_for_ever);
	wait_until(access(file_at("/work/r"), F_OK) == 0, 30000);
	for (int i = 0; i < PACKS; i++) {
		assert_int_equal(archive_pack("", NULL, &archive), 0);
		assert_int_equal(archive_count(&archive), 1);
	}
	file_stop(other);
}

/* -- in -------------------------------------------------------------------- */

static void
archives_of_tar_are_unpacked_as_they_are(void **state)
{
	static const char *const formats[] = {"--format=v7", "--format=ustar",
	    "--format=gnu", "--format=posix", "--format=oldgnu"};
	BUF_AUTO archive = BUF_INIT(ARCHIVE_MAX);
	char path[100];

	(void)state;
	need_root();
	file_inside(make_tree);
	assert_int_equal(unlink(file_at("/work/t/far")), 0);
	assert_int_equal(chmod(file_at("/work/t/tool"), 0755), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		/* The older formats have neither long names nor times before
		 * 1970. */
		bool is_old = i < 2;
		const char *const argv[] = {"-c", formats[i], "-C",
		    file_at("/work/t"),
		    is_old ? "--exclude=./nnn*" : "--exclude=-",
		    is_old ? "--exclude=./empty" : "--exclude=-", "-f", "-",
		    ".", NULL};

		(void)snprintf(path, sizeof(path), "in/%s", formats[i]);
		assert_int_equal(archive_tar(argv, NULL, &archive), 0);
		if (archive_unpack(path, &archive) != 0)
			fail_msg("%s: %s", formats[i], file_text);
		(void)snprintf(path, sizeof(path), "/work/in/%s", formats[i]);
		archive_is_at(&archive, file_at(path));
	}
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, file_open_run, file_close_run)
	const struct CMUnitTest tests[] = {
	    TEST(a_tree_is_what_tar_finds_in_its_archive),
	    TEST(tar_unpacks_what_was_packed),
	    TEST(a_file_is_packed_under_its_own_name),
	    TEST(fifos_are_left_out_and_do_not_block),
	    TEST(an_empty_directory_is_an_empty_archive),
	    TEST(what_cannot_be_read_cuts_the_archive),
	    TEST(a_huge_file_takes_no_memory),
	    TEST(a_deep_tree_goes_out_and_in),
	    TEST(nothing_outside_is_packed_whatever_is_swapped),
	    TEST(a_file_that_changes_its_size_keeps_the_archive_whole),
	    TEST(archives_of_tar_are_unpacked_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
