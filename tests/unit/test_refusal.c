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
	assert_string_equal(e.text,
	    "cwd: no dir; it must be a directory already (POST "
	    "/v1/runs/{id}/files/{path}?mkdir=1 makes one)");
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

static void
an_exec_that_was_to_start_has_no_id_to_name(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	check_fails(refusal_of_object(WIRE_FAIL_EXEC_TTY, "01J", "no", 2, &e),
	    &e, ERR_INPUT);
	assert_string_equal(e.text, "Exec 01J has no terminal.");
	check_fails(refusal_of_object(WIRE_FAIL_EXEC_TTY, "", "no", 2, &e), &e,
	    ERR_CONFLICT);
	assert_string_equal(e.text, "tty: no");
}

/* Every reason that there is, of every operation. */
static void
every_reason_has_a_kind_and_a_sentence(void **state)
{
	const struct wire_file file = {
	    .path = "a/b", .to = "", .root = "/work"};

	(void)state;
	for (int why = WIRE_FAIL_INTERNAL; why <= WIRE_FAIL_LAST; why++) {
		bool known =
		    why != WIRE_FAIL_INTERNAL && why != WIRE_FAIL_VERSION;
		struct err e = ERR_INIT;

		if (why < WIRE_FAIL_EXEC_ABSENT || why == WIRE_FAIL_EXEC_MANY)
			(void)refusal_of_guest(
			    (enum wire_fail)why, "said", 4, &e);
		else if (why < WIRE_FAIL_ABSENT)
			(void)refusal_of_object(
			    (enum wire_fail)why, "01J", "said", 4, &e);
		else
			(void)refusal_of_file(
			    (enum wire_fail)why, &file, "said", 4, &e);
		if ((e.kind != ERR_GUEST) != known)
			fail_msg("reason %d: kind %d %s", why, e.kind, e.text);
		assert_true(strlen(e.text) >= 4);
	}
}

static void
sentences_about_files_are_made_of_the_request(void **state)
{
	static const struct {
		enum wire_fail why;
		enum err_kind kind;
		const char *path, *to, *text;
	} known[] = {
	    {WIRE_FAIL_ABSENT, ERR_FILE_ABSENT, "a/b", "", "No such file: a/b"},
	    {WIRE_FAIL_ABSENT, ERR_FILE_ABSENT, "a", "b", "No such file: a"},
	    {WIRE_FAIL_ABSENT, ERR_FILE_ABSENT, "", "", "No such file: /work"},
	    {WIRE_FAIL_ABSENT, ERR_FILE_ABSENT, "\xff\n\x1bz", "",
		"No such file: \xef\xbf\xbd  z"},
	    {WIRE_FAIL_EXISTS, ERR_FILE_EXISTS, "a", "b",
		"Something else is there already: a -> b"},
	    {WIRE_FAIL_DIRECTORY, ERR_FILE_DIRECTORY, "d", "",
		"It is a directory: d (GET takes ?list=1 or ?archive=tar, PUT "
		"takes ?archive=tar)"},
	    {WIRE_FAIL_NOT_EMPTY, ERR_FILE_NOT_EMPTY, "d", "",
		"The directory is not empty: d (?recursive=1 removes what is "
		"in it)"},
	    {WIRE_FAIL_CONDITION, ERR_FILE_CONDITION, "f", "",
		"The condition of the request does not hold for what is "
		"there: f"},
	    {WIRE_FAIL_FILE, ERR_FILE_NOT_DIRECTORY, "f", "",
		"It is a file, and not a directory: f"},
	    {WIRE_FAIL_INSIDE, ERR_INPUT, "d", "d/e",
		"A directory cannot be moved into itself, or to a place below "
		"itself: d -> d/e"},
	    {WIRE_FAIL_ARCHIVE, ERR_INPUT, "d", "", "archive: said"},
	    {WIRE_FAIL_FENCED, ERR_LEASE_SUPERSEDED, "d", "",
		"superseded: said"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct wire_file file = {
		    .path = known[i].path, .to = known[i].to, .root = "/work"};
		struct err e = ERR_INIT;

		check_fails(refusal_of_file(known[i].why, &file, "said", 4, &e),
		    &e, known[i].kind);
		assert_string_equal(e.text, known[i].text);
	}
}

static void
long_paths_leave_a_whole_sentence(void **state)
{
	char path[WIRE_PATH_MAX + 1];
	const struct wire_file file = {
	    .path = path, .to = path, .root = "/work"};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < WIRE_PATH_MAX; i++)
		path[i] = "\xe2\x82\xac"[i % 3];
	path[WIRE_PATH_MAX] = '\0';
	check_fails(refusal_of_file(WIRE_FAIL_EXISTS, &file, "", 0, &e), &e,
	    ERR_FILE_EXISTS);
	assert_true(utf8_valid(e.text, strlen(e.text)));
	assert_true(strlen(e.text) < sizeof(e.text) - 1);
	assert_non_null(strstr(e.text, " -> "));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(callers_mistakes_are_input_errors),
	    cmocka_unit_test(words_of_the_engine_have_kinds),
	    cmocka_unit_test(text_from_a_run_is_one_valid_line),
	    cmocka_unit_test(an_exec_that_was_to_start_has_no_id_to_name),
	    cmocka_unit_test(every_reason_has_a_kind_and_a_sentence),
	    cmocka_unit_test(sentences_about_files_are_made_of_the_request),
	    cmocka_unit_test(long_paths_leave_a_whole_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
