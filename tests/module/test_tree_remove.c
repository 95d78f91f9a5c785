/* lib/tree: what is removed, and measured, whatever it is and whoever has a
 * hand in it meanwhile. */
#include "../wait.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ioctl_iflags(2) */
#define GET_FLAGS _IOR('f', 1, long)
#define SET_FLAGS _IOW('f', 2, long)
#define IMMUTABLE 0x10
#define APPEND 0x20

static void
check_removed(const char *name)
{
	struct err e = ERR_INIT;
	FD_AUTO dir = tree_open(tree_path("."));

	check_ok(tree_remove(dir, name, NULL, &e), &e);
	assert_false(tree_there(tree_path("%s", name)));
}

static void
what_is_not_there_is_removed(void **state)
{
	(void)state;
	check_removed("nothing");
}

static void
links_and_what_is_no_file_go_and_their_targets_stay(void **state)
{
	(void)state;
	tree_dir(tree_path("kept"), 0755);
	tree_file(tree_path("kept/file"), 0644, "x");
	tree_dir(tree_path("gone"), 0755);
	assert_int_equal(symlink(tree_path("kept"), tree_path("gone/link")), 0);
	assert_int_equal(mkfifo(tree_path("gone/fifo"), 0), 0);
	assert_int_equal(mknod(tree_path("gone/whiteout"), S_IFCHR, 0), 0);
	tree_file(tree_path("gone/file"), 0, "x");
	check_removed("gone");
	assert_int_equal(symlink(tree_path("kept"), tree_path("link")), 0);
	check_removed("link");
	assert_true(tree_there(tree_path("kept/file")));
}

static void
the_root_stays_where_it_is_only_emptied(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	tree_dir(tree_path("root"), 0711);
	tree_dir(tree_path("root/unreadable"), 0);
	tree_file(tree_path("root/unreadable/file"), 0, "x");
	FD_AUTO root = tree_open(tree_path("root"));
	check_ok(tree_empty(root, NULL, &e), &e);
	assert_true(tree_there(tree_path("root")));
	assert_false(tree_there(tree_path("root/unreadable")));
	check_ok(tree_empty(root, NULL, &e), &e);
}

/* False where the file system has no such flags. */
static bool
set_flag(const char *path, int flag)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	int flags = 0;

	assert_true(fd >= 0);
	if (ioctl(fd, GET_FLAGS, &flags) != 0)
		return false;
	flags |= flag;
	return ioctl(fd, SET_FLAGS, &flags) == 0;
}

static void
immutable_files_and_directories_are_removed(void **state)
{
	(void)state;
	tree_dir(tree_path("gone"), 0755);
	tree_dir(tree_path("gone/dir"), 0755);
	tree_dir(tree_path("gone/empty"), 0755);
	tree_file(tree_path("gone/dir/file"), 0644, "x");
	tree_file(tree_path("gone/dir/log"), 0644, "x");
	tree_file(tree_path("gone/dir/plain"), 0644, "x");
	assert_int_equal(mkfifo(tree_path("gone/dir/fifo"), 0644), 0);
	if (!set_flag(tree_path("gone/dir/file"), IMMUTABLE) ||
	    !set_flag(tree_path("gone/dir/log"), APPEND) ||
	    !set_flag(tree_path("gone/empty"), IMMUTABLE) ||
	    !set_flag(tree_path("gone/dir"), IMMUTABLE) ||
	    !set_flag(tree_path("gone"), APPEND))
		skip();
	check_removed("gone");
	tree_file(tree_path("file"), 0644, "x");
	assert_true(set_flag(tree_path("file"), IMMUTABLE));
	check_removed("file");
}

/* Deeper than levels are remembered. */
static void
no_tree_is_too_deep(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	if (!tree_mount(tree_path("."), "mode=0700"))
		skip();
	tree_dir(tree_path("gone"), 0755);
	FD_AUTO dir = tree_open(tree_path("gone"));
	FD_AUTO deep = tree_chain(dir, 10200);
	FD_AUTO fd = openat(deep, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	check_ok(tree_measure(dir, NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 10201);
	check_removed("gone");
}

static void
what_cannot_be_removed_is_told_and_the_rest_goes(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	tree_dir(tree_path("gone"), 0755);
	tree_dir(tree_path("gone/a"), 0755);
	tree_dir(tree_path("gone/a/mounted"), 0755);
	tree_file(tree_path("gone/a/z"), 0644, "x");
	tree_file(tree_path("gone/z"), 0644, "x");
	if (!tree_mount(tree_path("gone/a/mounted"), "mode=0700"))
		skip();
	tree_file(tree_path("gone/a/mounted/foreign"), 0644, "x");
	FD_AUTO dir = tree_open(tree_path("."));
	check_fails(tree_remove(dir, "gone", NULL, &e), &e, ERR_INTERNAL);
	assert_non_null(strstr(e.text, "a/mounted"));
	assert_true(tree_there(tree_path("gone/a/mounted/foreign")));
	assert_false(tree_there(tree_path("gone/a/z")));
	assert_false(tree_there(tree_path("gone/z")));
	tree_unmount(tree_path("gone/a/mounted"));
	check_removed("gone");
}

static bool
at_once(void *arg)
{
	return ++*(int *)arg == 1;
}

static void
who_goes_away_ends_it(void **state)
{
	struct err e = ERR_INIT;
	int asked = 0;
	const struct tree_watch watch = {at_once, &asked};

	(void)state;
	tree_dir(tree_path("gone"), 0755);
	tree_file(tree_path("gone/file"), 0644, "x");
	FD_AUTO dir = tree_open(tree_path("."));
	check_fails(tree_remove(dir, "gone", &watch, &e), &e, ERR_GONE_AWAY);
	check_ok(tree_remove(dir, "gone", &watch, &e), &e);
}

/* Width and depth enough that all of them are at it for a while. */
static void
grow(int dir, int depth)
{
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "%d", i);
		FD_AUTO file =
		    openat(dir, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (mkdirat(dir, name, 0700) != 0 || depth == 0)
			continue;
		FD_AUTO next =
		    openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (next >= 0)
			grow(next, depth - 1);
	}
}

static void
several_can_remove_the_same(void **state)
{
	struct err e = ERR_INIT;
	pid_t child[4];
	int status;

	(void)state;
	tree_in_memory();
	tree_dir(tree_path("gone"), 0755);
	FD_AUTO dir = tree_open(tree_path("."));
	FD_AUTO gone = tree_open(tree_path("gone"));
	grow(gone, 5);
	FD_AUTO deep = tree_chain(gone, 200);
	for (int i = 0; i < 4; i++) {
		child[i] = fork();
		if (child[i] == 0)
			_exit(tree_remove(dir, "gone", NULL, &e) == 0 ? 0 : 1);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_false(tree_there(tree_path("gone")));
}

static void
somebody_may_fill_it_meanwhile(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	tree_in_memory();
	tree_dir(tree_path("gone"), 0755);
	FD_AUTO gone = tree_open(tree_path("gone"));
	pid_t child = fork();
	for (int i = 0; child == 0 && i < 40; i++)
		grow(gone, 2);
	if (child == 0)
		_exit(0);
	/* Both end, whatever they see of each other. */
	while (waitpid(child, NULL, WNOHANG) == 0) {
		check_ok(tree_measure(gone, NULL, &sum, &e), &e);
		(void)tree_empty(gone, NULL, &e);
	}
	check_ok(tree_empty(gone, NULL, &e), &e);
	check_ok(tree_measure(gone, NULL, &sum, &e), &e);
	assert_int_equal(sum.entries, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TREE_TEST(what_is_not_there_is_removed),
	    TREE_TEST(links_and_what_is_no_file_go_and_their_targets_stay),
	    TREE_TEST(the_root_stays_where_it_is_only_emptied),
	    TREE_TEST(immutable_files_and_directories_are_removed),
	    TREE_TEST(no_tree_is_too_deep),
	    TREE_TEST(what_cannot_be_removed_is_told_and_the_rest_goes),
	    TREE_TEST(who_goes_away_ends_it),
	    TREE_TEST(several_can_remove_the_same),
	    TREE_TEST(somebody_may_fill_it_meanwhile),
	};

	return tree_run("tree_remove", tests);
}
