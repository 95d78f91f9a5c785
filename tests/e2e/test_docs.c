/*
 * What the documents show is done, and comes as shown: docs/examples.py does
 * one of them from its top to its end.
 */
#include "harness.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static int
setup(void **state)
{
	char bin[4096], path[8192], engine[128], token[128];

	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	const char *build = getenv("SBX_TEST_BUILD");
	if (realpath(build != NULL ? build : "build", bin) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s:%s", bin, getenv("PATH"));
	(void)snprintf(engine, sizeof(engine), "unix://%s", stack.docker);
	(void)snprintf(token, sizeof(token), "%s/token", stack.base);
	(void)setenv("PATH", path, 1);
	(void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	(void)setenv("DOCKER_HOST", engine, 1);
	(void)setenv("SBX_URL", stack.url, 1);
	(void)setenv("SBX_TOKEN_FILE", token, 1);
	(void)setenv("DOCS_URL", stack.url, 1);
	(void)setenv("DOCS_TOKEN_FILE", token, 1);
	(void)setenv("DOCS_RUN_DIR", stack.run_dir, 1);
	(void)setenv("DOCS_IMAGE", IMAGE_PLAIN, 1);
	return 0;
}

static void
examples_hold(char *document)
{
	static char python[] = "python3";
	static char program[] = "tests/e2e/docs/examples.py";
	char *argv[] = {python, program, document, NULL};
	pid_t pid;
	int status;

	(void)fflush(NULL);
	assert_int_equal(
	    posix_spawnp(&pid, python, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s does not say what happens (above)", document);
}

static void
the_examples_of_the_readme_do_what_it_shows(void **state)
{
	char document[] = "README.md";

	(void)state;
	(void)unsetenv("DOCS_ALL");
	examples_hold(document);
}

static void
api_md_has_an_example_of_every_operation_that_holds(void **state)
{
	char document[] = "app/API.md";

	(void)state;
	(void)setenv("DOCS_ALL", "1", 1);
	examples_hold(document);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_examples_of_the_readme_do_what_it_shows),
	    cmocka_unit_test(
		api_md_has_an_example_of_every_operation_that_holds),
	};

	return run_on_host_kernel(
	    "docs", tests, setup, stack_stop, "the documents are runc's");
}
