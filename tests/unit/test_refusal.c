/* guest/refusal: why a command did not start. */
#include "../check.h"
#include "guest/refusal.h"
#include "lib/utf8.h"

#include <string.h>

static void
callers_mistakes_are_input_errors(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	check_fails(
	    refusal_of_guest(WIRE_FAIL_CWD, "no dir", 6, &e), &e, ERR_INPUT);
	assert_string_equal(e.text, "cwd: no dir");
	check_fails(
	    refusal_of_guest(WIRE_FAIL_USER, "x", 1, &e), &e, ERR_INPUT);
	check_fails(refusal_of_guest(WIRE_FAIL_FENCED, "x", 1, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	check_fails(refusal_of_guest(WIRE_FAIL_LIMIT, "x", 1, &e), &e,
	    ERR_RUN_EXHAUSTED);
	check_fails(
	    refusal_of_guest(WIRE_FAIL_VERSION, "x", 1, &e), &e, ERR_GUEST);
}

static void
words_of_the_engine_have_kinds(void **state)
{
	static const struct {
		const char *words;
		enum err_kind kind;
	} known[] = {
	    {"", ERR_GUEST},
	    {"\r\n", ERR_GUEST},
	    {"Container abc is not running\r\n", ERR_RUN_NOT_RUNNING},
	    {"cannot exec in a stopped state: unknown\r\n",
		ERR_RUN_NOT_RUNNING},
	    {"Container abc is paused, unpause first", ERR_RUN_NOT_RUNNING},
	    {"OCI runtime exec failed: exec failed: unable to start container "
	     "process: read init-p: Resource temporarily unavailable\r\n",
		ERR_RUN_EXHAUSTED},
	    {"OCI runtime exec failed: exec: \"/.sbx/init\": stat /.sbx/init: "
	     "no such file or directory\r\n",
		ERR_ENGINE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct err e = ERR_INIT;

		check_fails(refusal_of_engine(
				known[i].words, strlen(known[i].words), &e),
		    &e, known[i].kind);
	}
}

static void
text_from_a_run_is_one_valid_line(void **state)
{
	char text[3000];
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 256);
	check_fails(refusal_of_guest(WIRE_FAIL_CWD, text, sizeof(text), &e), &e,
	    ERR_INPUT);
	assert_true(utf8_valid(e.text, strlen(e.text)));
	assert_null(strpbrk(e.text, "\r\n\t\033"));
	memset(text, 0xff, sizeof(text));
	check_fails(refusal_of_engine(text, sizeof(text), &e), &e, ERR_ENGINE);
	assert_true(utf8_valid(e.text, strlen(e.text)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(callers_mistakes_are_input_errors),
	    cmocka_unit_test(words_of_the_engine_have_kinds),
	    cmocka_unit_test(text_from_a_run_is_one_valid_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
