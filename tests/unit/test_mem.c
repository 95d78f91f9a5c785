/* lib/mem: allocation that is there or ends the process. */
#include "../check.h"
#include "lib/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
empty_allocations_are_not_null(void **state)
{
	(void)state;
	void *p = mem_alloc(0), *z = mem_zalloc(0);

	assert_non_null(p);
	assert_non_null(z);
	p = mem_realloc(p, 0);
	assert_non_null(p);
	free(p);
	free(z);
}

static void
copies_of_text_are_whole_and_cut_where_asked(void **state)
{
	(void)state;
	char *whole = mem_strdup("sandbox"), *cut = mem_strndup("sandbox", 4);

	assert_string_equal(whole, "sandbox");
	assert_string_equal(cut, "sand");
	free(whole);
	free(cut);
}

static void
zeroed_memory_is_zero(void **state)
{
	(void)state;
	char *z = mem_zalloc(1000);

	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(z[i], 0);
	free(z);
}

/* The signal that ended a child which asked for count elements of size. */
static int
died_of(size_t count, size_t size)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit none = {0, 0};

		(void)setrlimit(RLIMIT_CORE, &none);
		_exit(mem_array(count, size) == 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
an_array_that_overflows_aborts(void **state)
{
	(void)state;
	assert_int_equal(mem_array(3, 8), 24);
	assert_int_equal(mem_array(0, 8), 0);
	assert_int_equal(mem_array(8, 0), 0);
	assert_int_equal(died_of(SIZE_MAX / 8, 8), 0);
	assert_int_equal(died_of(SIZE_MAX / 8 + 1, 8), SIGABRT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(empty_allocations_are_not_null),
	    cmocka_unit_test(copies_of_text_are_whole_and_cut_where_asked),
	    cmocka_unit_test(zeroed_memory_is_zero),
	    cmocka_unit_test(an_array_that_overflows_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
