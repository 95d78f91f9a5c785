/* Changing the tree of a run: MKDIR, MOVE and REMOVE. Needs root. */
#include "../wait.h"
#include "file_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define DEEP 3000

static int
move(const char *from, const char *to)
{
	return file_do_x(&(struct wire_file){
	    .what = WIRE_FILE_MOVE, .path = from, .to = to});
}

static int
remove_all(const char *path)
{
	return file_do_x(&(struct wire_file){
	    .what = WIRE_FILE_REMOVE, .path = path, .recursive = true});
}

static void
make_tree(void)
{
	if (mkdir("/work/d", 0755) != 0 || mkdir("/work/d/e", 0755) != 0 ||
	    mkdir("/work/empty", 0755) != 0 ||
	    mkdir("/work/locked", 0755) != 0 ||
	    mkdir("/work/locked/in", 0755) != 0 ||
	    symlink("d", "/work/to-d") != 0 ||
	    symlink("/outside", "/work/d/out") != 0 ||
	    symlink("../../outside/dir", "/work/d/e/out") != 0 ||
	    mkfifo("/work/d/fifo", 0644) != 0)
		_exit(1);
	for (int i = 0; i < 3; i++)
		if (mknod((const char *[]){"/work/a", "/work/d/b",
			      "/work/d/e/\n\xff"}[i],
			S_IFREG | 0644, 0) != 0)
			_exit(2);
	if (chmod("/work/locked", 0555) != 0)
		_exit(3);
}

/* -- MKDIR ----------------------------------------------------------------- */

static void
directories_are_made_with_their_parents(void **state)
{
	struct wire_stat x;

	(void)state;
	file_need_root();
	file_inside(make_tree);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "x/y/z"), 0);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "x/y/z"), 0);
	assert_int_equal(file_stat("x/y/z", &x), 0);
	assert_int_equal(x.type, WIRE_TYPE_DIRECTORY);
	assert_int_equal(x.mode, 0755);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, ""), 0);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "to-d"), 0);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "to-d/new"), 0);
	assert_true(file_is_there("/work/d/new"));
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "a"), WIRE_FAIL_EXISTS);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "d/fifo"), WIRE_FAIL_EXISTS);
	assert_int_equal(
	    file_do(WIRE_FILE_MKDIR, "a/b"), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(
	    file_do(WIRE_FILE_MKDIR, "locked/x"), WIRE_FAIL_DENIED);
	assert_int_equal(
	    file_do(WIRE_FILE_MKDIR, "d/out/x"), WIRE_FAIL_ESCAPES);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "d/out"), WIRE_FAIL_ESCAPES);
}

/* -- MOVE ------------------------------------------------------------------ */

static void
things_are_moved(void **state)
{
	struct wire_stat x;

	(void)state;
	file_need_root();
	file_inside(make_tree);
	assert_int_equal(file_put("a", "text", 4), 0);
	assert_int_equal(move("a", "new/b/c"), 0);
	file_has("new/b/c", "text");
	assert_int_equal(file_get("a", NULL), WIRE_FAIL_ABSENT);
	assert_int_equal(file_put("old", "old", 3), 0);
	assert_int_equal(move("new/b/c", "old"), 0);
	file_has("old", "text");
	assert_int_equal(move("d", "new/d"), 0);
	assert_true(file_is_there("/work/new/d/e/\n\xff"));
	/* A link itself, not what it names. */
	assert_int_equal(move("to-d", "new/link"), 0);
	assert_int_equal(file_stat("new/link", &x), 0);
	assert_string_equal(x.target, "d");
	assert_int_equal(move("new/d/out", "out"), 0);
	assert_int_equal(move("old", "out"), 0);
	file_has("out", "text");
	assert_int_equal(move("out", "out"), 0);
	file_has("out", "text");
	assert_int_equal(move("new/d/fifo", "fifo"), 0);
}

static void
moves_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_tree);
	assert_int_equal(move("no", "new/x"), WIRE_FAIL_ABSENT);
	assert_false(file_is_there("/work/new"));
	assert_int_equal(move("d", "d/x"), WIRE_FAIL_INSIDE);
	assert_int_equal(move("d", "d/x/y"), WIRE_FAIL_INSIDE);
	assert_false(file_is_there("/work/d/x"));
	assert_int_equal(move("d", "to-d/y"), WIRE_FAIL_INSIDE);
	assert_int_equal(move("", "x"), WIRE_FAIL_INSIDE);
	assert_int_equal(move("a", ""), WIRE_FAIL_EXISTS);
	assert_int_equal(move("a", "d"), WIRE_FAIL_EXISTS);
	assert_int_equal(move("a", "empty"), WIRE_FAIL_EXISTS);
	assert_int_equal(move("d", "empty"), WIRE_FAIL_EXISTS);
	assert_int_equal(move("d", "a"), WIRE_FAIL_EXISTS);
	assert_int_equal(move("a", "d/b/c"), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(move("a", "locked/x"), WIRE_FAIL_DENIED);
	assert_int_equal(move("locked/in", "x"), WIRE_FAIL_DENIED);
	assert_int_equal(move("a", "d/out/x"), WIRE_FAIL_ESCAPES);
	assert_int_equal(move("d/out/secret", "x"), WIRE_FAIL_ESCAPES);
	assert_true(file_is_there("/work/a"));
	assert_true(file_is_there("/work/d/e/out"));
}

static void
make_hard_links(void)
{
	make_tree();
	if (link("/work/a", "/work/same") != 0)
		_exit(1);
}

static void
one_name_of_a_file_moves_onto_another(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_hard_links);
	assert_int_equal(move("a", "same"), 0);
	assert_false(file_is_there("/work/a"));
	assert_true(file_is_there("/work/same"));
}

static void
what_rename_cannot_move_is_moved_all_the_same(void **state)
{
	struct wire_stat x;

	(void)state;
	file_need_root();
	assert_int_equal(move("lower", "new/upper"), 0);
	assert_false(file_is_there("/work/lower"));
	file_has("new/upper/a", "a");
	file_has("new/upper/link", "a");
	file_has("new/upper/d/b", "d/b");
	file_has("new/upper/d/e/c", "d/e/c");
	/* To another file system, and back. */
	assert_int_equal(move("new/upper", "mount/there"), 0);
	assert_false(file_is_there("/work/new/upper"));
	file_has("mount/there/link", "a");
	file_has("mount/there/d/e/c", "d/e/c");
	assert_int_equal(file_stat("mount/there/a", &x), 0);
	assert_int_equal(x.mode, 0640);
	assert_int_equal(move("mount/there/a", "a"), 0);
	file_has("a", "a");
	assert_int_equal(file_put("mount/b", "new", 3), 0);
	assert_int_equal(move("mount/b", "a"), 0);
	file_has("a", "new");
	assert_int_equal(move("mount", "x"), WIRE_FAIL_DENIED);
}

static void
a_full_disk_ends_a_move_without_loss(void **state)
{
	char *bytes = calloc(1, 2 << 20);

	(void)state;
	file_need_root();
	assert_int_equal(file_put("lower/big", bytes, 2 << 20), 0);
	assert_int_equal(move("lower/big", "mount/big"), WIRE_FAIL_SPACE);
	assert_false(file_is_there("/work/mount/big"));
	assert_int_equal(move("lower", "mount/all"), WIRE_FAIL_SPACE);
	assert_true(file_is_there("/work/lower/big"));
	free(bytes);
}

static void
an_image_s_files_are_changed_as_others(void **state)
{
	BUF_AUTO names = BUF_INIT(10000);
	struct wire_stat x;
	size_t count;

	(void)state;
	file_need_root();
	assert_int_equal(file_put("lower/link", "new", 3), 0);
	file_has("lower/a", "new");
	assert_int_equal(file_put("lower/d/n", "n", 1), 0);
	assert_int_equal(file_list("lower/d", &names, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(file_stat("lower/a", &x), 0);
	assert_int_equal(x.mode, 0640);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "lower/d/b"), 0);
	assert_int_equal(file_get("lower/d/b", NULL), WIRE_FAIL_ABSENT);
	assert_int_equal(remove_all("lower"), 0);
	assert_int_equal(file_list("", &names, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(file_do(WIRE_FILE_MKDIR, "lower/d"), 0);
	assert_int_equal(file_list("lower/d", &names, &count), 0);
	assert_int_equal(count, 0);
}

/* -- REMOVE ---------------------------------------------------------------- */

static void
files_and_trees_are_removed(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_tree);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "a"), 0);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "a"), WIRE_FAIL_ABSENT);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "empty"), 0);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "d"), WIRE_FAIL_NOT_EMPTY);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, "d/fifo"), 0);
	assert_int_equal(file_do(WIRE_FILE_REMOVE, ""), WIRE_FAIL_NAME);
	assert_int_equal(remove_all(""), WIRE_FAIL_NAME);
	assert_int_equal(remove_all("d/out/dir"), WIRE_FAIL_ESCAPES);
	assert_int_equal(remove_all("d/b/c"), WIRE_FAIL_NOT_DIRECTORY);
	assert_int_equal(remove_all("d/out"), 0);
	/* A link, not the tree behind it. */
	assert_int_equal(remove_all("to-d"), 0);
	assert_true(file_is_there("/work/d/e/out"));
	assert_int_equal(remove_all("d"), 0);
	assert_false(file_is_there("/work/d"));
	assert_int_equal(remove_all("d"), WIRE_FAIL_ABSENT);
	assert_int_equal(remove_all("locked/in"), WIRE_FAIL_DENIED);
	assert_int_equal(remove_all("locked"), WIRE_FAIL_DENIED);
	assert_string_equal(file_text, "The image's user may not: locked/in");
}

static void
make_deep(void)
{
	if (mkdir("/work/deep", 0755) != 0 || chdir("/work/deep") != 0)
		_exit(1);
	for (int i = 0; i < DEEP; i++)
		if (mknod("file", S_IFREG | 0644, 0) != 0 ||
		    mkdir("a-name-of-some-length", 0755) != 0 ||
		    mkdir("other", 0755) != 0 ||
		    chdir("a-name-of-some-length") != 0)
			_exit(2);
}

static void
a_tree_deeper_than_any_path_is_removed(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_deep);
	assert_int_equal(remove_all("deep"), 0);
	assert_false(file_is_there("/work/deep"));
}

static void
make_wide(void)
{
	char name[60];

	for (int i = 0; i < 100; i++) {
		(void)snprintf(
		    name, sizeof(name), "/work/wide%s%d", i > 0 ? "/d" : "", i);
		if (mkdir(i > 0 ? name : "/work/wide", 0755) != 0)
			_exit(1);
		for (int k = 0; k < 300; k++) {
			(void)snprintf(name, sizeof(name),
			    "/work/wide%s%.0d/%d", i > 0 ? "/d" : "", i, k);
			if (mknod(name, S_IFREG | 0644, 0) != 0)
				_exit(2);
		}
	}
}

static void
a_wide_tree_is_removed(void **state)
{
	(void)state;
	file_need_root();
	file_inside(make_wide);
	assert_int_equal(remove_all("wide"), 0);
	assert_false(file_is_there("/work/wide"));
}

static void
refill(void)
{
	char name[60];

	for (unsigned i = 0;; i++) {
		(void)mkdir("/work/full", 0755);
		(void)mkdir("/work/full/d", 0755);
		(void)snprintf(name, sizeof(name), "/work/full/%s%u",
		    i % 2 ? "d/" : "", i);
		(void)mknod(name, S_IFREG | 0644, 0);
	}
}

static void
removing_what_is_filled_meanwhile_ends(void **state)
{
	(void)state;
	file_need_root();
	pid_t filler = file_background(refill);
	wait_until(file_is_there("/work/full/d"), PATIENCE_MS);
	for (int i = 0; i < 20; i++) {
		int rc = remove_all("full");

		assert_true(rc == 0 || rc == WIRE_FAIL_NOT_EMPTY ||
			    rc == WIRE_FAIL_ABSENT);
	}
	file_stop(filler);
	(void)remove_all("full");
	assert_false(file_is_there("/work/full"));
}

static void
removing_ends_with_its_connection(void **state)
{
	const struct wire_file x = {
	    .what = WIRE_FILE_REMOVE, .path = "full", .recursive = true};
	struct file_call c;

	(void)state;
	file_need_root();
	pid_t filler = file_background(refill);
	wait_until(file_is_there("/work/full/d"), PATIENCE_MS);
	for (int i = 0; i < 20; i++) {
		file_start(&c, &x);
		file_leave(&c);
		wait_until(file_handlers() == 0, PATIENCE_MS);
	}
	file_stop(filler);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, file_open_run, file_close_run)

#define OVERLAY(f)                       \
	cmocka_unit_test_setup_teardown( \
	    f, file_open_overlay, file_close_overlay)
#define SMALL(f) \
	cmocka_unit_test_setup_teardown(f, file_open_small, file_close_small)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(directories_are_made_with_their_parents),
	    TEST(things_are_moved),
	    TEST(moves_that_make_no_sense_are_refused),
	    TEST(one_name_of_a_file_moves_onto_another),
	    OVERLAY(what_rename_cannot_move_is_moved_all_the_same),
	    OVERLAY(a_full_disk_ends_a_move_without_loss),
	    OVERLAY(an_image_s_files_are_changed_as_others),
	    TEST(files_and_trees_are_removed),
	    SMALL(a_tree_deeper_than_any_path_is_removed),
	    SMALL(a_wide_tree_is_removed),
	    TEST(removing_what_is_filled_meanwhile_ends),
	    TEST(removing_ends_with_its_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
