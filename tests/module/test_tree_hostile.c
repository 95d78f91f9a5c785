/*
 * lib/tree, while somebody swaps what is in the tree for other things, all the
 * time: whatever comes of it, nothing outside is read, written or removed.
 */
#include "../wait.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 80
#define DEPTH 40 /* more than levels have descriptors */

static pid_t mischief_pid;

/* Names that are now a file, now a link out of the tree, a fifo, a directory.
 */
static void
swap_kinds(int dir, unsigned turn, const char *outside)
{
	for (unsigned i = 0; i < 4; i++) {
		char name[8], spare[8];

		(void)snprintf(name, sizeof(name), "s%u", i);
		(void)snprintf(spare, sizeof(spare), "t%u", i);
		(void)unlinkat(dir, spare, 0);
		(void)unlinkat(dir, spare, AT_REMOVEDIR);
		switch ((turn + i) % 4) {
		case 0:
			(void)!symlinkat(outside, dir, spare);
			break;
		case 1:
			(void)mkfifoat(dir, spare, 0600);
			break;
		case 2:
			(void)mkdirat(dir, spare, 0700);
			break;
		default:
			(void)close(openat(
			    dir, spare, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		}
		if (renameat2(dir, spare, dir, name, RENAME_EXCHANGE) != 0)
			(void)renameat(dir, spare, dir, name);
	}
}

static void
change_sizes(int dir, unsigned turn)
{
	static const char bytes[70000] = "grows";
	FD_AUTO fd = openat(
	    dir, "size", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (turn % 7 == 0)
		(void)!ftruncate(fd, 0);
	(void)!write(fd, bytes, sizeof(bytes));
}

/* A part of the long chain goes elsewhere, and comes back. */
static void
move_chain(int dir, int middle, unsigned turn)
{
	if (turn % 2 == 0)
		(void)renameat(middle, "d", dir, "moved");
	else
		(void)renameat(dir, "moved", middle, "d");
}

static _Noreturn void
make_mischief(int dir, const char *outside)
{
	int middle = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < DEPTH / 2; i++) {
		int next =
		    openat(middle, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (next >= 0) {
			(void)close(middle);
			middle = next;
		}
	}
	for (unsigned turn = 0;; turn++) {
		swap_kinds(dir, turn, outside);
		swap_kinds(middle, turn + 1, outside);
		change_sizes(dir, turn);
		move_chain(dir, middle, turn);
	}
}

static int
begin(void **state)
{
	if (tree_begin_test(state) != 0)
		return -1;
	tree_in_memory();
	tree_dir(tree_path("outside"), 0755);
	tree_file(tree_path("outside/secret"), 0600, "secret");
	tree_dir(tree_path("tree"), 0755);
	FD_AUTO dir = tree_open(tree_path("tree"));
	FD_AUTO deep = tree_chain(dir, DEPTH);
	mischief_pid = fork();
	if (mischief_pid == 0)
		make_mischief(dir, tree_path("outside"));
	return mischief_pid > 0 ? 0 : -1;
}

static int
end(void **state)
{
	(void)kill(mischief_pid, SIGKILL);
	(void)waitpid(mischief_pid, NULL, 0);
	return tree_end_test(state);
}

static void
check_outside(void)
{
	char *text = tree_text(tree_path("outside/secret"));

	assert_string_equal(text, "secret");
	free(text);
}

/* No name of what is outside came in: links were copied as links. */
static void
check_inside(int dir)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(own);
	const struct dirent *entry;

	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		assert_string_not_equal(entry->d_name, "secret");
		assert_int_not_equal(entry->d_type, DT_FIFO);
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		FD_AUTO below = openat(own, entry->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		assert_true(below >= 0);
		check_inside(below);
	}
	(void)closedir(d);
}

static void
a_copy_holds_nothing_from_outside(void **state)
{
	struct tree_sum sum;
	int whole = 0;

	(void)state;
	FD_AUTO from = tree_open(tree_path("tree"));
	FD_AUTO base = tree_open(tree_path("."));
	for (int i = 0; i < ROUNDS; i++) {
		struct err e = ERR_INIT;

		tree_dir(tree_path("copy"), 0700);
		FD_AUTO to = tree_open(tree_path("copy"));
		if (tree_copy(from, to, NULL, &sum, &e) == 0)
			whole++;
		else if (e.kind != ERR_CONFLICT)
			fail_msg("kind %d: %s", e.kind, e.text);
		check_inside(to);
		check_ok(tree_remove(base, "copy", NULL, &e), &e);
	}
	check_outside();
	print_message("%d of %d copies came through\n", whole, ROUNDS);
}

static void
measuring_comes_to_an_end(void **state)
{
	struct err e = ERR_INIT;
	struct tree_sum sum;

	(void)state;
	FD_AUTO dir = tree_open(tree_path("tree"));
	for (int i = 0; i < ROUNDS * 4; i++)
		check_ok(tree_measure(dir, NULL, &sum, &e), &e);
	check_outside();
}

static void
a_removal_removes_nothing_outside(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	FD_AUTO dir = tree_open(tree_path("tree"));
	for (int i = 0; i < ROUNDS * 4; i++) {
		/* It may end with somebody still at it. */
		(void)tree_empty(dir, NULL, &e);
		check_outside();
	}
	(void)kill(mischief_pid, SIGSTOP);
	FD_AUTO base = tree_open(tree_path("."));
	check_ok(tree_remove(base, "tree", NULL, &e), &e);
	assert_false(tree_there(tree_path("tree")));
	check_outside();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		a_copy_holds_nothing_from_outside, begin, end),
	    cmocka_unit_test_setup_teardown(
		measuring_comes_to_an_end, begin, end),
	    cmocka_unit_test_setup_teardown(
		a_removal_removes_nothing_outside, begin, end),
	};

	return tree_run("tree_hostile", tests);
}
