/* lib/tree: copies of what is many, deep, large, or on two file systems. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1 << 20)

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
	sum = tree_copy_same();
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
	int rc =
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	check_ok(rc, &e);
	assert_int_equal(sum.entries, TREE_DEPTH + 3);
	FD_AUTO to = tree_open(tree_path("to"));
	check_ok(tree_measure(to, NULL, &seen, &e), &e);
	assert_int_equal(seen.entries, sum.entries);
	assert_true(tree_there(tree_path("to/d/z")));

	assert_int_equal(mkdirat(deep, "one more", 0700), 0);
	tree_dir(tree_path("again"), 0755);
	check_fails(tree_copy_path(
			tree_path("from"), tree_path("again"), NULL, &sum, &e),
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
	assert_int_equal(tree_copy_same().entries, 60 * (3 * 21 + 1));
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
	check_fails(tree_copy_path(
			tree_path("from"), tree_path("to"), &watch, &sum, &e),
	    &e, ERR_GONE_AWAY);
	tree_dir(tree_path("large"), 0755);
	tree_dir(tree_path("to2"), 0755);
	tree_file(tree_path("large/file"), 0644, "");
	FD_AUTO fd = open(tree_path("large/file"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(posix_fallocate(fd, 0, 64 * MIB), 0);
	left = 4;
	check_fails(tree_copy_path(
			tree_path("large"), tree_path("to2"), &watch, &sum, &e),
	    &e, ERR_GONE_AWAY);
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
	check_fails(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e, ERR_FILE_SPACE);
	tree_unmount(tree_path("to"));
	assert_non_null(strstr(e.text, "file"));
	if (!tree_mount(tree_path("to"), "nr_inodes=20,mode=0700"))
		skip();
	for (int i = 0; i < 30; i++)
		tree_file(tree_path("from/%d", i), 0644, "");
	assert_int_equal(truncate(tree_path("from/file"), 0), 0);
	check_fails(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
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
	check_ok(
	    tree_copy_path(tree_path("from"), tree_path("to"), NULL, &sum, &e),
	    &e);
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
	check_ok(tree_copy_path(tree_path("from"), tree_path("mounted/to"),
		     NULL, &sum, &e),
	    &e);
	tree_check_same(tree_path("from"), tree_path("mounted/to"));
	tree_unmount(tree_path("mounted"));
}

/* Layers and the overlay "from" of them; false where that cannot be. */
static bool
mount_overlay(void)
{
	char options[4096];

	tree_dir(tree_path("layers"), 0755);
	tree_dir(tree_path("from"), 0755);
	if (!tree_mount(tree_path("layers"), "mode=0700"))
		return false;
	tree_dir(tree_path("layers/lower"), 0750);
	tree_dir(tree_path("layers/upper"), 0750);
	tree_dir(tree_path("layers/work"), 0700);
	tree_dir(tree_path("layers/lower/dir"), 0755);
	tree_dir(tree_path("layers/lower/gone"), 0755);
	tree_file(tree_path("layers/lower/gone/file"), 0644, "x");
	tree_file(tree_path("layers/lower/dir/a"), 0644, "lower");
	tree_file(tree_path("layers/lower/dir/b"), 0644, "lower");
	assert_int_equal(link(tree_path("layers/lower/dir/a"),
			     tree_path("layers/lower/linked")),
	    0);
	(void)snprintf(options, sizeof(options),
	    "lowerdir=%s,upperdir=%s,workdir=%s,index=on,redirect_dir=on",
	    tree_path("layers/lower"), tree_path("layers/upper"),
	    tree_path("layers/work"));
	return mount("overlay", tree_path("from"), "overlay", 0, options) == 0;
}

/* What a warm commit copies: layers, of which the copy shows nothing. */
static void
what_is_seen_of_an_overlay_is_copied(void **state)
{
	(void)state;
	if (!mount_overlay()) {
		(void)umount2(tree_path("layers"), MNT_DETACH);
		skip();
	}
	assert_int_equal(unlink(tree_path("from/dir/b")), 0);
	assert_int_equal(unlink(tree_path("from/gone/file")), 0);
	assert_int_equal(rmdir(tree_path("from/gone")), 0);
	tree_dir(tree_path("from/gone"), 0711);
	assert_int_equal(
	    rename(tree_path("from/dir"), tree_path("from/moved")), 0);
	/* Both names are the changed file's. */
	FD_AUTO fd = open(tree_path("from/linked"), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "upper", 5, 0), 5);
	assert_int_equal(tree_copy_same().entries, 4);
	char *text = tree_text(tree_path("to/moved/a"));
	assert_string_equal(text, "upper");
	free(text);
	tree_unmount(tree_path("from"));
	tree_unmount(tree_path("layers"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TREE_TEST(ten_thousand_files_are_copied),
	    TREE_TEST(a_thousand_levels_need_few_descriptors),
	    TREE_TEST(deep_trees_with_many_branches_are_copied_whole),
	    TREE_TEST(who_goes_away_ends_it),
	    TREE_TEST(a_full_disk_is_told),
	    TREE_TEST(another_file_system_is_not_entered),
	    TREE_TEST(another_file_system_can_be_the_target),
	    TREE_TEST(what_is_seen_of_an_overlay_is_copied),
	};

	return tree_run("tree_bounds", tests);
}
