/* tests/run, which runs this too: what reaches the programs that it runs. */
#include "../check.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A test program, and what cmocka would say of it. */
static const char program[] = "#!/bin/sh\n"
			      "env\n"
			      "echo '[       OK ] it'\n";

static void
run_it(const char *dir, const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		(void)dup2(null, STDOUT_FILENO);
		(void)setenv("SBX_CACHE_ROOT", "/of/a/developer", 1);
		(void)setenv("SBX_TEST_SEED", "7", 1);
		(void)execl("tests/run", "tests/run", dir, path, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
a_developers_variables_do_not_reach_a_test(void **state)
{
	char dir[] = "/tmp/test_runner.XXXXXX";
	char path[64], logs[64], log[96];
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/program", dir);
	(void)snprintf(logs, sizeof(logs), "%s/test-logs", dir);
	check_ok(fd_write_file(path, 0700, program, strlen(program), &e), &e);
	run_it(dir, path);
	/* Its name has the whole path, for it is not in BUILD/tests. */
	(void)snprintf(log, sizeof(log), "%s/-tmp-%s-program.log", logs,
	    strrchr(dir, '/') + 1);
	char *said = fd_read_file(log, 1 << 16, NULL, &e);
	if (said == NULL)
		fail_msg("%s", e.text);
	assert_null(strstr(said, "SBX_CACHE_ROOT"));
	assert_non_null(strstr(said, "SBX_TEST_SEED=7\n"));
	assert_non_null(strstr(said, "SBX_TEST_BUILD="));
	free(said);
	assert_int_equal(unlink(log), 0);
	assert_int_equal(rmdir(logs), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_developers_variables_do_not_reach_a_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
