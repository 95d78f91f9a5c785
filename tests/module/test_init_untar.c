/* Archives unpacked in a run: what becomes of good ones. Needs root. */
#include "../wait.h"
#include "lib/fd.h"
#include "tar_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static struct stat
look(const char *path)
{
	struct stat st;

	if (lstat(file_at(path), &st) != 0)
		fail_msg("%s is not there", path);
	return st;
}

static void
is_absent(const char *path)
{
	struct stat st;

	if (lstat(file_at(path), &st) == 0)
		fail_msg("%s is there", path);
}

static void
has(const char *path, const char *text)
{
	struct err e = ERR_INIT;
	size_t size;
	char *bytes = fd_read_file(file_at(path), 100000, &size, &e);

	if (bytes == NULL)
		fail_msg("%s", e.text);
	assert_string_equal(bytes, text);
	free(bytes);
}

/* -- what is kept ---------------------------------------------------------- */

static void
modes_and_times_are_kept_and_the_owner_is_the_user(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	archive_add(&a,
	    &(struct tar_entry){.name = "f",
		.mode = 04751,
		.uid = 0,
		.mtime_ns = -3 * SECOND / 2},
	    "x");
	archive_add(&a,
	    &(struct tar_entry){.type = TAR_DIRECTORY,
		.name = "d",
		.mode = 01777,
		.mtime_ns = 5 * SECOND + 1},
	    NULL);
	archive_add(&a,
	    &(struct tar_entry){.type = TAR_SYMLINK,
		.name = "l",
		.link = "f",
		.mtime_ns = 7 * SECOND},
	    NULL);
	tar_put_end(&a);
	assert_int_equal(archive_unpack("", &a), 0);
	struct stat f = look("/work/f"), d = look("/work/d");
	assert_int_equal(f.st_mode, S_IFREG | 0751);
	assert_int_equal(f.st_uid, FILE_USER);
	assert_int_equal(f.st_gid, FILE_USER);
	assert_int_equal(f.st_mtim.tv_sec, -2);
	assert_int_equal(f.st_mtim.tv_nsec, 500000000);
	assert_int_equal(d.st_mode, S_IFDIR | 0777);
	assert_int_equal(d.st_uid, FILE_USER);
	assert_int_equal(d.st_mtim.tv_sec, 5);
	assert_int_equal(d.st_mtim.tv_nsec, 1);
	assert_int_equal(look("/work/l").st_mtim.tv_sec, 7);
	/* Where the run's user is root, it is as root would have it. */
	assert_int_equal(
	    archive_unpack_x(
		&(struct wire_file){.path = "root", .user = "0"}, &a),
	    0);
	assert_int_equal(look("/work/root/f").st_mode, S_IFREG | 04751);
	assert_int_equal(look("/work/root/f").st_uid, 0);
	assert_int_equal(look("/work/root/d").st_mode, S_IFDIR | 01777);
}

static void
a_read_only_directory_gets_its_content_and_its_time(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	archive_add(&a,
	    &(struct tar_entry){.type = TAR_DIRECTORY,
		.name = "d",
		.mode = 0555,
		.mtime_ns = 5 * SECOND},
	    NULL);
	archive_file(&a, "d/f", "one");
	archive_add(&a,
	    &(struct tar_entry){.type = TAR_DIRECTORY,
		.name = "d/e",
		.mode = 0500,
		.mtime_ns = 6 * SECOND},
	    NULL);
	archive_file(&a, "d/e/f", "two");
	tar_put_end(&a);
	/* Also where it is there already. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(archive_unpack("", &a), 0);
		has("/work/d/f", "one");
		has("/work/d/e/f", "two");
		assert_int_equal(look("/work/d").st_mode, S_IFDIR | 0555);
		assert_int_equal(look("/work/d").st_mtim.tv_sec, 5);
		assert_int_equal(look("/work/d/e").st_mode, S_IFDIR | 0500);
		assert_int_equal(look("/work/d/e").st_mtim.tv_sec, 6);
	}
}

static void
the_path_is_made_and_keeps_its_own_mode(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	archive_add(&a,
	    &(struct tar_entry){
		.type = TAR_DIRECTORY, .name = ".", .mode = 0700},
	    NULL);
	archive_file(&a, "./x//./y", "deep");
	tar_put_end(&a);
	assert_int_equal(archive_unpack("new/path", &a), 0);
	has("/work/new/path/x/y", "deep");
	assert_int_equal(look("/work/new/path").st_mode, S_IFDIR | 0755);
	assert_int_equal(look("/work/new/path/x").st_uid, FILE_USER);
}

static void
links_are_made_as_they_are(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	char target[100] = "";

	(void)state;
	need_root();
	archive_file(&a, "d/f", "once");
	archive_link(&a, TAR_HARDLINK, "d/e/twin", "./d/f");
	archive_link(&a, TAR_SYMLINK, "d/up", "../d/e/../f");
	archive_link(&a, TAR_SYMLINK, "d/abs", "/work/t/d/f");
	archive_link(&a, TAR_SYMLINK, "d/none", "nothing");
	archive_link(&a, TAR_SYMLINK, "way", "d/e");
	archive_file(&a, "way/through", "inside");
	archive_link(&a, TAR_HARDLINK, "twin of a link", "d/none");
	tar_put_end(&a);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(archive_unpack("t", &a), 0);
		assert_int_equal(look("/work/t/d/f").st_ino,
		    look("/work/t/d/e/twin").st_ino);
		has("/work/t/d/up", "once");
		has("/work/t/d/e/through", "inside");
		assert_true(S_ISLNK(look("/work/t/twin of a link").st_mode));
		assert_int_equal(
		    readlink(file_at("/work/t/d/abs"), target, sizeof(target)),
		    11);
		assert_string_equal(target, "/work/t/d/f");
	}
}

/* -- what was there before ------------------------------------------------- */

static void
files_replace_files_and_links_at_once(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	char bytes[10] = "";

	(void)state;
	need_root();
	assert_int_equal(file_put("f", "old", 3), 0);
	FD_AUTO old = open(file_at("/work/f"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(symlink("/outside/secret", file_at("/work/l")), 0);
	assert_int_equal(mkfifo(file_at("/work/p"), 0666), 0);
	archive_file(&a, "f", "new");
	archive_file(&a, "l", "not through it");
	archive_file(&a, "p", "no wait");
	archive_link(&a, TAR_SYMLINK, "f2", "f");
	archive_link(&a, TAR_SYMLINK, "f", "p");
	tar_put_end(&a);
	assert_int_equal(archive_unpack("", &a), 0);
	assert_int_equal(read(old, bytes, sizeof(bytes)), 3);
	assert_string_equal(bytes, "old");
	assert_true(S_ISLNK(look("/work/f").st_mode));
	assert_int_equal(look("/work/l").st_mode, S_IFREG | 0644);
	has("/work/l", "not through it");
	has("/work/p", "no wait");
}

static void
directories_are_not_replaced_and_nothing_replaces_them(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	assert_int_equal(file_put("d/kept", "kept", 4), 0);
	assert_int_equal(file_put("f", "file", 4), 0);
	archive_file(&a, "d/new", "new");
	archive_add(
	    &a, &(struct tar_entry){.type = TAR_DIRECTORY, .name = "d"}, NULL);
	archive_file(&a, "d", "a file");
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_DIRECTORY);
	has("/work/d/kept", "kept");
	has("/work/d/new", "new");
	buf_reset(&a);
	archive_link(&a, TAR_SYMLINK, "d", "f");
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_DIRECTORY);
	buf_reset(&a);
	archive_add(
	    &a, &(struct tar_entry){.type = TAR_DIRECTORY, .name = "f"}, NULL);
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_NOT_DIRECTORY);
	buf_reset(&a);
	archive_file(&a, "f/below", "x");
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_NOT_DIRECTORY);
	assert_non_null(strstr(file_text, "f/below"));
	assert_int_equal(archive_unpack("f", &a), WIRE_FAIL_NOT_DIRECTORY);
	has("/work/f", "file");
}

/* -- archives that end too early ------------------------------------------- */

static void
what_is_no_archive_is_refused(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_ARCHIVE);
	for (int i = 0; i < 1000; i++)
		buf_adds(&a, "\x1f\x8b no tar at all");
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_ARCHIVE);
	assert_non_null(strstr(file_text, "checksum"));
	buf_reset(&a);
	archive_file(&a, "f", "whole");
	archive_file(&a, "g", "in its padding, this one ends");
	a.size -= 100;
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_ARCHIVE);
	buf_reset(&a);
	tar_put_end(&a);
	assert_int_equal(archive_unpack("", &a), 0);
	/* Nobody has to write end blocks, and what is behind them is nothing.
	 */
	buf_reset(&a);
	archive_file(&a, "h", "no end");
	assert_int_equal(archive_unpack("", &a), 0);
	has("/work/h", "no end");
	tar_put_end(&a);
	buf_adds(&a, "junk");
	assert_int_equal(archive_unpack("", &a), 0);
}

/* Start to unpack: a whole file, and the half of another. */
static void
start_half(struct file_call *c, uint64_t generation)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_UNPACK, .path = "", .generation = generation};
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	const char *payload;
	size_t size;

	archive_file(&a, "whole", "whole");
	archive_file(&a, "half", "not all of this will come");
	file_start(c, &x);
	assert_int_equal(file_next(c, &payload, &size), WIRE_STARTED);
	assert_true(file_tell(c, WIRE_DATA, a.data, a.size - 512 + 3));
	wait_until(access(file_at("/work/whole"), F_OK) == 0, 30000);
}

static void
a_cut_upload_leaves_whole_files_only(void **state)
{
	struct file_call c;

	(void)state;
	need_root();
	start_half(&c, 0);
	file_leave(&c);
	wait_until(file_handlers() == 0, 30000);
	has("/work/whole", "whole");
	is_absent("/work/half");
}

static void
a_fence_ends_it_before_the_file_under_way(void **state)
{
	struct file_call c;

	(void)state;
	need_root();
	start_half(&c, 3);
	file_fence(4);
	assert_int_equal(file_handlers(), 0);
	assert_int_equal(file_finish(&c), WIRE_FAIL_FENCED);
	has("/work/whole", "whole");
	is_absent("/work/half");
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	archive_file(&a, "late", "late");
	assert_int_equal(
	    archive_unpack_x(
		&(struct wire_file){.path = "", .generation = 3}, &a),
	    WIRE_FAIL_FENCED);
	is_absent("/work/late");
	assert_int_equal(
	    archive_unpack_x(
		&(struct wire_file){.path = "", .generation = 4}, &a),
	    0);
	has("/work/late", "late");
}

/* -- room ------------------------------------------------------------------ */

static void
a_full_disk_is_told_and_leaves_no_half_file(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);
	char *big = calloc(1, 2u << 20);

	(void)state;
	need_root();
	memset(big, 'x', (2u << 20) - 1);
	archive_file(&a, "small", "small");
	archive_file(&a, "big", big);
	free(big);
	assert_int_equal(archive_unpack("", &a), WIRE_FAIL_SPACE);
	assert_non_null(strstr(file_text, "big"));
	has("/work/small", "small");
	is_absent("/work/big");
}

static void
archives_are_unpacked_without_a_proc(void **state)
{
	BUF_AUTO a = BUF_INIT(ARCHIVE_MAX);

	(void)state;
	need_root();
	file_without_proc();
	archive_file(&a, "d/f", "x");
	archive_file(&a, "d/f", "y");
	assert_int_equal(archive_unpack("", &a), 0);
	has("/work/d/f", "y");
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, file_open_run, file_close_run)
	const struct CMUnitTest tests[] = {
	    TEST(modes_and_times_are_kept_and_the_owner_is_the_user),
	    TEST(a_read_only_directory_gets_its_content_and_its_time),
	    TEST(the_path_is_made_and_keeps_its_own_mode),
	    TEST(links_are_made_as_they_are),
	    TEST(files_replace_files_and_links_at_once),
	    TEST(directories_are_not_replaced_and_nothing_replaces_them),
	    TEST(what_is_no_archive_is_refused),
	    TEST(a_cut_upload_leaves_whole_files_only),
	    TEST(a_fence_ends_it_before_the_file_under_way),
	    TEST(archives_are_unpacked_without_a_proc),
	    cmocka_unit_test_setup_teardown(
		a_full_disk_is_told_and_leaves_no_half_file, file_open_small,
		file_close_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
