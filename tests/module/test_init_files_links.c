/*
 * Links in a run against operations on its files: nothing outside of /work is
 * read, listed, written or removed, whoever swaps what meanwhile. Needs root.
 */
#include "../wait.h"
#include "file_fixture.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SWAPS 10000 /* operations in a race */
#define TEXT "inside"

static void
put_text(const char *path)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, TEXT, strlen(TEXT)) != (ssize_t)strlen(TEXT))
		_exit(10);
}

static void
put_link(const char *target, const char *path)
{
	if (symlink(target, path) != 0)
		_exit(11);
}

/* -- one after the other --------------------------------------------------- */

static void
make_inside(void)
{
	if (mkdir("d", 0755) != 0 || mkdir("d/e", 0755) != 0)
		_exit(1);
	put_text("file");
	put_text("d/e/file");
	put_link("file", "relative");
	put_link("/work/file", "absolute");
	put_link("//work/./d//../file", "odd");
	put_link("/work", "root");
	put_link("../../file", "d/e/up");
	put_link("e/../..", "d/above");
	put_link(".", "here");
	put_link("d/e/", "slash");
	put_link("new", "dangling");
	put_link("/work/x/new", "dangling-deep");
	put_link("relative", "second");
}

static void
links_that_stay_inside_are_followed(void **state)
{
	static const char *const all[] = {"relative", "absolute", "odd",
	    "root/file", "d/e/up", "d/above/file", "here/here/file",
	    "slash/file", "second", "root/root/d/e/../e/up"};
	struct stat st;

	(void)state;
	file_need_root();
	file_inside(make_inside);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		file_has(all[i], TEXT);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(file_put(all[i], all[i], strlen(all[i])), 0);
		file_has(i == 7 ? "d/e/file" : "file", all[i]);
	}
	assert_int_equal(lstat(file_at("/work/second"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(file_put("dangling", "1", 1), 0);
	file_has("new", "1");
	assert_int_equal(file_put("dangling-deep", "2", 1), 0);
	file_has("x/new", "2");
	assert_int_equal(lstat(file_at("/work/dangling-deep"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(file_do(WIRE_FILE_LIST, "root"), 0);
	assert_int_equal(file_do(WIRE_FILE_LIST, "d/above"), 0);
}

static void
make_outside(void)
{
	if (mkdir("d", 0755) != 0)
		_exit(1);
	put_link("/outside/secret", "absolute");
	put_link("../outside/secret", "relative");
	put_link("/outside", "directory");
	put_link("..", "up");
	put_link("d/../../outside", "d-up");
	put_link("/", "slash");
	put_link("/workspace", "longer");
	put_link("/wor", "shorter");
	put_link("/work/../outside/secret", "through");
	put_link("/proc/self/root/outside/secret", "magic");
	put_link("/outside/new", "dangling");
	put_link("../../work", "d/around");
	put_link("absolute", "second");
	put_link("../../../../outside/secret", "d/far");
}

/* Each with all operations that follow links. */
static void
links_that_lead_out_are_refused(void **state)
{
	static const char *const all[] = {"absolute", "relative",
	    "directory/secret", "directory", "up", "up/outside/secret",
	    "d-up/secret", "slash/outside/secret", "slash", "slash/work/d",
	    "longer", "shorter", "through", "magic", "dangling",
	    "directory/new", "d/around", "d/around/d", "second", "d/far"};

	(void)state;
	file_need_root();
	file_inside(make_outside);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		BUF_AUTO out = BUF_INIT(1000);

		assert_int_equal(file_get(all[i], &out), WIRE_FAIL_ESCAPES);
		assert_int_equal(out.size, 0);
		assert_int_equal(file_put(all[i], "bad", 3), WIRE_FAIL_ESCAPES);
		assert_int_equal(
		    file_do(WIRE_FILE_LIST, all[i]), WIRE_FAIL_ESCAPES);
		assert_int_equal(
		    file_do(WIRE_FILE_MKDIR, all[i]), WIRE_FAIL_ESCAPES);
	}
	assert_int_equal(access(file_at("/outside/new"), F_OK), -1);
}

static void
make_chains(void)
{
	char from[20], to[20];

	put_text("0");
	for (int i = 0; i < 50; i++) {
		(void)snprintf(from, sizeof(from), "%d", i);
		(void)snprintf(to, sizeof(to), "%d", i + 1);
		put_link(from, to);
	}
	put_link("loop", "loop");
	put_link("pong", "ping");
	put_link("/work/ping", "pong");
	put_link("inner/loop", "inner");
}

static void
chains_of_links_end_at_forty(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_chains);
	file_has("1", TEXT);
	file_has("40", TEXT);
	assert_int_equal(file_get("41", NULL), WIRE_FAIL_NAME);
	assert_int_equal(file_get("loop", NULL), WIRE_FAIL_NAME);
	assert_int_equal(file_get("loop/x", NULL), WIRE_FAIL_NAME);
	assert_int_equal(file_get("ping", NULL), WIRE_FAIL_NAME);
	assert_int_equal(file_get("inner", NULL), WIRE_FAIL_NAME);
	assert_int_equal(file_put("loop", "x", 1), WIRE_FAIL_NAME);
	assert_int_equal(file_put("41", "x", 1), WIRE_FAIL_NAME);
	assert_int_equal(file_put("40", "x", 1), 0);
	file_has("0", "x");
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "loop"), 0);
}

static void
make_long(void)
{
	char target[4000];

	for (size_t i = 0; i + 2 < sizeof(target); i += 2)
		memcpy(target + i, "./", 3);
	put_text("file");
	put_link(target, "long");
	for (size_t i = 0; i + 2 < sizeof(target); i += 2)
		memcpy(target + i, "d/", 3);
	put_link(target, "deep");
	if (mkdir("d", 0755) != 0)
		_exit(1);
	put_link("..", "d/d");
}

static void
long_targets_and_paths_are_walked(void **state)
{
	char path[WIRE_PATH_MAX + 1];

	(void)state;
	file_need_root();
	file_inside(make_long);
	file_has("long/file", TEXT);
	file_has("long/long/long/file", TEXT);
	assert_int_equal(file_get("deep/file", NULL), WIRE_FAIL_NAME);
	for (size_t i = 0; i < WIRE_PATH_MAX; i++)
		path[i] = i % 2 ? '/' : 'p';
	path[WIRE_PATH_MAX] = '\0';
	assert_int_equal(file_get(path, NULL), WIRE_FAIL_ABSENT);
	assert_int_equal(file_put(path, "deep", 4), 0);
	file_has(path, "deep");
	assert_int_equal(
	    file_do_x(&(struct wire_file){
		.what = WIRE_FILE_REMOVE, .path = "p", .recursive = true}),
	    0);
}

static void
another_root_is_as_tight(void **state)
{
	struct wire_file x = {
	    .what = WIRE_FILE_LIST, .root = "/work/d", .path = ""};

	(void)state;
	file_need_root();
	file_inside(make_inside);
	assert_int_equal(file_do_x(&x), 0);
	x.path = "above";
	assert_int_equal(file_do_x(&x), WIRE_FAIL_ESCAPES);
	x.root = "/";
	x.path = "work/root/d/above/d";
	assert_int_equal(file_do_x(&x), 0);
	x.root = "/work/file";
	assert_int_equal(file_do_x(&x), WIRE_FAIL_NOT_DIRECTORY);
	x.root = "/nowhere";
	assert_int_equal(file_do_x(&x), WIRE_FAIL_ABSENT);
}

/* -- swapped meanwhile ----------------------------------------------------- */

/* "swap" is now a directory of the user's, now a link to one outside with the
 * same names; at once, by renameat2(2). */
static void
swap_directory(void)
{
	if (mkdir("swap", 0755) != 0)
		_exit(1);
	put_text("swap/secret");
	put_link("/outside/dir", "other");
	for (;;)
		if (syscall(SYS_renameat2, AT_FDCWD, "swap", AT_FDCWD, "other",
			2u /* RENAME_EXCHANGE */) != 0)
			_exit(2);
}

/* The same with the last name of a path; an upload may replace either. */
static void
swap_file(void)
{
	for (;;) {
		put_text("file");
		put_link("/outside/secret", "link");
		if (rename("link", "last") != 0 || rename("file", "last") != 0)
			_exit(2);
	}
}

/* A tree that is removed has a directory that becomes a link and back. */
static void
swap_in_tree(void)
{
	put_link("/outside/dir", "link");
	for (;;) {
		(void)mkdir("tree", 0755);
		(void)mkdir("tree/in", 0755);
		(void)mknod("tree/in/secret", S_IFREG | 0644, 0);
		(void)syscall(
		    SYS_renameat2, AT_FDCWD, "tree/in", AT_FDCWD, "link", 2u);
		(void)syscall(
		    SYS_renameat2, AT_FDCWD, "tree/in", AT_FDCWD, "link", 2u);
	}
}

/* What came of an operation whose path was swapped: it was done inside, or
 * refused. Counted, so that a test sees both happen. */
static void
judge(int rc, size_t count[2])
{
	if (rc == WIRE_FAIL_ESCAPES)
		count[1]++;
	else if (rc == 0 || rc == WIRE_FAIL_ABSENT)
		count[0]++;
	else
		fail_msg("failure %d: %s", rc, file_text);
}

static void
race(const char *path, int rounds, size_t count[2])
{
	BUF_AUTO out = BUF_INIT(10000);
	char sub[100];
	size_t entries;

	for (int i = 0; i < rounds; i++) {
		int rc = file_get(path, &out);

		judge(rc, count);
		if (rc == 0 && out.size > 0)
			assert_memory_equal(out.data, TEXT, strlen(TEXT));
		judge(file_put(path, TEXT, strlen(TEXT)), count);
		(void)snprintf(sub, sizeof(sub), "%.*s/new-%d",
		    (int)strcspn(path, "/"), path, i % 8);
		if (strchr(path, '/') == NULL)
			continue;
		judge(file_put(sub, "bad", 3), count);
		judge(file_do(WIRE_FILE_REMOVE, sub), count);
		judge(file_do(WIRE_FILE_REMOVE, path), count);
		rc = file_list("swap", &out, &entries);
		judge(rc, count);
	}
}

static void
wait_for(const char *path)
{
	struct stat st;

	wait_until(lstat(file_at(path), &st) == 0, 30000);
}

static void
a_directory_swapped_for_a_link_is_never_left(void **state)
{
	size_t count[2] = {0, 0};

	(void)state;
	file_need_root();
	pid_t swapper = file_background(swap_directory);
	wait_for("/work/other");
	wait_for("/work/swap/secret");
	race("swap/secret", SWAPS / 6, count);
	file_stop(swapper);
	assert_true(count[0] > 100 && count[1] > 100);
}

static void
a_file_swapped_for_a_link_is_never_followed_out(void **state)
{
	size_t count[2] = {0, 0};

	(void)state;
	file_need_root();
	pid_t swapper = file_background(swap_file);
	wait_for("/work/last");
	race("last", SWAPS / 2, count);
	file_stop(swapper);
	assert_true(count[0] > 100 && count[1] > 100);
}

static void
a_tree_is_removed_without_following_what_is_swapped(void **state)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_REMOVE, .path = "tree", .recursive = true};

	(void)state;
	file_need_root();
	pid_t swapper = file_background(swap_in_tree);
	wait_for("/work/tree");
	for (int i = 0; i < SWAPS; i++) {
		int rc = file_do_x(&x);

		assert_true(rc == 0 || rc == WIRE_FAIL_NOT_EMPTY ||
			    rc == WIRE_FAIL_ABSENT);
		assert_int_equal(
		    access(file_at("/outside/dir/secret"), F_OK), 0);
	}
	file_stop(swapper);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)
#define SMALL(f) \
	cmocka_unit_test_setup_teardown(f, file_open_small, file_close_small)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(links_that_stay_inside_are_followed),
	    TEST(links_that_lead_out_are_refused),
	    TEST(chains_of_links_end_at_forty),
	    TEST(long_targets_and_paths_are_walked),
	    TEST(another_root_is_as_tight),
	    SMALL(a_directory_swapped_for_a_link_is_never_left),
	    SMALL(a_file_swapped_for_a_link_is_never_followed_out),
	    SMALL(a_tree_is_removed_without_following_what_is_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
