/* sbx-init copy: one directory becomes what another one is. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/tree.h"
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID "stderr"

/* Its exit status. */
static int
run(const char *from, const char *to)
{
	char program[4096];
	int status;

	(void)snprintf(
	    program, sizeof(program), "%s/sbx-init", getenv("SBX_TEST_BUILD"));
	(void)unlink(tree_path(SAID));
	pid_t child = fork();
	if (child == 0) {
		int fd = open(tree_path(SAID), O_CREAT | O_WRONLY, 0600);

		if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
			_exit(99);
		(void)execl(program, "sbx-init", "copy", "--from", from, "--to",
		    to, (char *)NULL);
		_exit(98);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* It said this, in one line. */
static void
check_said(const char *text)
{
	char *said = tree_text(tree_path(SAID));

	if (strstr(said, text) == NULL ||
	    strchr(said, '\n') != said + strlen(said) - 1)
		fail_msg("%s", said);
	free(said);
}

static void
make_volume(void)
{
	tree_dir(tree_path("vol"), 02775);
	assert_int_equal(chown(tree_path("vol"), 1000, 1000), 0);
	tree_dir(tree_path("vol/node_modules"), 0700);
	tree_file(tree_path("vol/node_modules/a.js"), 0644, "a");
	assert_int_equal(
	    link(tree_path("vol/node_modules/a.js"), tree_path("vol/b.js")), 0);
	assert_int_equal(symlink("b.js", tree_path("vol/link")), 0);
	tree_file(tree_path("vol/tool"), 04755, "#!/bin/sh\n");
	assert_int_equal(mkfifo(tree_path("vol/fifo"), 0600), 0);
}

static void
what_is_there_is_replaced_not_merged(void **state)
{
	(void)state;
	make_volume();
	tree_dir(tree_path("work"), 0755);
	tree_dir(tree_path("work/node_modules"), 0755);
	tree_file(tree_path("work/node_modules/removed.js"), 0644, "old");
	tree_file(tree_path("work/b.js"), 0644, "other");
	assert_int_equal(symlink("/etc", tree_path("work/tool")), 0);
	assert_int_equal(run(tree_path("vol"), tree_path("work")), 0);
	assert_int_equal(unlink(tree_path("vol/fifo")), 0);
	/* That was a change of the directory. */
	struct stat st;
	assert_int_equal(stat(tree_path("work"), &st), 0);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, tree_path("vol"), times, 0), 0);
	tree_check_same(tree_path("vol"), tree_path("work"));
	char *said = tree_text(tree_path(SAID));
	assert_string_equal(said, "");
	free(said);
}

static void
a_path_that_is_not_there_is_made(void **state)
{
	(void)state;
	make_volume();
	assert_int_equal(run(tree_path("vol"), tree_path("home/dev/repo")), 0);
	assert_true(tree_there(tree_path("home/dev/repo/node_modules/a.js")));
	/* Where the image has a link, the engine followed it. */
	assert_int_equal(symlink("home/dev/repo", tree_path("work")), 0);
	tree_file(tree_path("home/dev/repo/stale"), 0644, "x");
	assert_int_equal(run(tree_path("vol"), tree_path("work")), 0);
	assert_false(tree_there(tree_path("home/dev/repo/stale")));
	assert_true(tree_there(tree_path("work/node_modules/a.js")));
}

static void
what_cannot_be_done_is_said_in_a_line(void **state)
{
	(void)state;
	make_volume();
	tree_file(tree_path("file"), 0644, "x");
	assert_int_equal(run(tree_path("none"), tree_path("work")), 1);
	check_said("none: No such file");
	assert_false(tree_there(tree_path("work")));
	assert_int_equal(run(tree_path("vol"), tree_path("file")), 1);
	check_said("file: Not a directory");
	assert_int_equal(run(tree_path("vol"), tree_path("file/below")), 1);
	check_said("Not a directory");
}

static void
a_full_disk_has_a_status_of_its_own(void **state)
{
	(void)state;
	make_volume();
	tree_dir(tree_path("work"), 0755);
	if (!tree_mount(tree_path("work"), "nr_inodes=3,mode=0700"))
		skip();
	int status = run(tree_path("vol"), tree_path("work"));
	tree_unmount(tree_path("work"));
	assert_int_equal(status, ENOSPC);
	check_said("No space left");
}

static void
an_empty_path_is_none(void **state)
{
	(void)state;
	assert_int_equal(run("", ""), 1);
	check_said("No such file");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TREE_TEST(what_is_there_is_replaced_not_merged),
	    TREE_TEST(a_path_that_is_not_there_is_made),
	    TREE_TEST(what_cannot_be_done_is_said_in_a_line),
	    TREE_TEST(a_full_disk_has_a_status_of_its_own),
	    TREE_TEST(an_empty_path_is_none),
	};

	return tree_run("init_copy", tests);
}
