/* store/schema, with a real Redis: programs and what is kept fit together. */
#include "../check.h"
#include "redis_fixture.h"
#include "store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct redis_fixture redis = {0};

static int
setup(void **state)
{
	(void)state;
	redis_fixture_open(&redis);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	redis_fixture_close(&redis);
	return 0;
}

static void
first_one_marks_it_and_others_like_it_agree(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	check_ok(schema_check(redis.url, &e), &e);
	assert_string_equal(redis_fixture_say(&redis, "GET sbx:schema"), "1");
	check_ok(schema_check(redis.url, &e), &e);
}

static void
older_data_are_taken_over(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)redis_fixture_say(&redis, "SET sbx:schema 0");
	check_ok(schema_check(redis.url, &e), &e);
	assert_string_equal(redis_fixture_say(&redis, "GET sbx:schema"), "1");
}

/* The exit status of a program that is to start on this Redis. */
static int
start(const char *program, const char *option, const char *value)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char path[4096];
	int status;

	(void)snprintf(path, sizeof(path), "%s/%s",
	    build != NULL ? build : "build", program);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)setenv("SBX_REDIS_URL", redis.url, 1);
		(void)setenv("SBX_STATE_DIR", redis.dir, 1);
		(void)setenv("SBX_RUN_DIR", redis.dir, 1);
		(void)execl(path, program, option, value, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
newer_data_are_refused_by_every_program_and_left_alone(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)redis_fixture_say(&redis, "SET sbx:schema 2");
	assert_int_equal(schema_check(redis.url, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "schema 2"));
	assert_int_equal(start("sbx-app", "--processes", "1"), 1);
	assert_int_equal(start("sbx-app", "--pool", "control"), 1);
	assert_int_equal(start("sbx-reaper", NULL, NULL), 1);
	assert_string_equal(redis_fixture_say(&redis, "GET sbx:schema"), "2");
}

static void
redis_that_is_away_stops_nobody(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	redis_fixture_kill(&redis);
	check_ok(schema_check(redis.url, &e), &e);
	redis_fixture_start(&redis);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(first_one_marks_it_and_others_like_it_agree),
	    cmocka_unit_test(older_data_are_taken_over),
	    cmocka_unit_test(
		newer_data_are_refused_by_every_program_and_left_alone),
	    cmocka_unit_test(redis_that_is_away_stops_nobody),
	};

	return cmocka_run_group_tests_name("schema", tests, setup, teardown);
}
