/* lib/log: an event is one JSON line on standard error. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char text[256 * 1024];
static int catcher[2], kept = -1;

/* Standard error goes into a pipe from here on. */
static void
catch_start(void)
{
	assert_int_equal(pipe(catcher), 0);
	assert_int_equal(fd_set_nonblock(catcher[0], 1), 0);
	kept = dup(STDERR_FILENO);
	assert_int_equal(dup2(catcher[1], STDERR_FILENO), STDERR_FILENO);
}

/* Back to the real one; what was written to the pipe is in text. */
static void
catch_stop(void)
{
	assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
	ssize_t n = read(catcher[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	fd_close(&kept);
	fd_close(&catcher[0]);
	fd_close(&catcher[1]);
}

static void
an_event_is_one_json_line(void **state)
{
	(void)state;
	log_open("test");
	catch_start();
	LOG_EVENT(w, "run.expired")
	{
		jw_str(&w, "run", "a\nb\xff");
		jw_int(&w, "ms", 7);
	}
	catch_stop();
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	json_auto_t *json = json_loads(text, 0, NULL);
	assert_non_null(json);
	assert_string_equal(
	    json_string_value(json_object_get(json, "program")), "test");
	assert_string_equal(
	    json_string_value(json_object_get(json, "event")), "run.expired");
	assert_string_equal(json_string_value(json_object_get(json, "run")),
	    "a\nb\xef\xbf\xbd");
	assert_int_equal(
	    json_integer_value(json_object_get(json, "pid")), getpid());
	assert_int_equal(json_integer_value(json_object_get(json, "ms")), 7);
	assert_int_equal(
	    strlen(json_string_value(json_object_get(json, "time"))), 24);
}

/* What journald takes as a priority is for it alone: a child of a unit may have
 * the variable and another standard error. */
static void
the_level_stands_before_a_line_for_the_journal_only(void **state)
{
	static const char *const begins[] = {"{\"time\"", "<3>{\"time\""};
	struct stat st;
	char stream[48];

	(void)state;
	for (int there = 0; there < 2; there++) {
		catch_start();
		assert_int_equal(fstat(STDERR_FILENO, &st), 0);
		(void)snprintf(stream, sizeof(stream), "%ju:%ju",
		    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + !there);
		assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
		log_open("test");
		LOG_AT(LEVEL_ERROR, w, "a.b")
		jw_int(&w, "i", 1);
		log_last_words("no <4> more");
		catch_stop();
		assert_true(str_starts(text, begins[there]));
		assert_non_null(strstr(text, "\"level\":\"error\",\"event\""));
		assert_non_null(strstr(text, there ? "\n<3>test: no <4> more\n"
						   : "\ntest: no <4> more\n"));
	}
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	log_open("test");
}

static void
an_event_may_be_a_single_statement(void **state)
{
	(void)state;
	catch_start();
	for (int i = 0; i < 3; i++)
		LOG_EVENT(w, "a.b")
	jw_int(&w, "i", i);
	catch_stop();
	int lines = 0;
	for (const char *p = text; *p != '\0'; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 3);
}

/* nginx takes a request target of 8 KiB; escaped it may be three times that. */
static void
the_longest_request_target_still_makes_a_line(void **state)
{
	char target[8 * 1024 + 1];

	(void)state;
	memset(target, '\xff', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	catch_start();
	LOG_EVENT(w, "request")
	jw_str(&w, "target", target);
	catch_stop();
	json_auto_t *json = json_loads(text, 0, NULL);
	assert_non_null(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_event_is_one_json_line),
	    cmocka_unit_test(
		the_level_stands_before_a_line_for_the_journal_only),
	    cmocka_unit_test(an_event_may_be_a_single_statement),
	    cmocka_unit_test(the_longest_request_target_still_makes_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
