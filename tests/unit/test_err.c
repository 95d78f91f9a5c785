/* lib/err: what the three ways to fill an error leave in it. */
#include "../check.h"

#include <errno.h>
#include <string.h>

static void
a_set_error_has_its_kind_and_text(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&e, ERR_INPUT, "%s is %d", "ttlSec", -1), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	assert_string_equal(e.text, "ttlSec is -1");
}

static void
a_system_error_ends_with_the_text_of_errno(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_sys(&e, ERR_INTERNAL, "cannot open %s", "x"), -1);
	assert_string_equal(e.text, "cannot open x: No such file or directory");
}

static void
wrapping_keeps_the_kind_and_puts_text_before(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_set(&e, ERR_ENGINE, "no");
	assert_int_equal(err_wrap(&e, "cannot start %s", "it"), -1);
	assert_int_equal(e.kind, ERR_ENGINE);
	assert_string_equal(e.text, "cannot start it: no");
}

static void
text_that_is_too_long_is_cut_and_still_ends(void **state)
{
	char text[2000];
	struct err e = ERR_INIT;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&e, ERR_INPUT, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	err_wrap(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	errno = EIO;
	err_sys(&e, ERR_INPUT, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_set_error_has_its_kind_and_text),
	    cmocka_unit_test(a_system_error_ends_with_the_text_of_errno),
	    cmocka_unit_test(wrapping_keeps_the_kind_and_puts_text_before),
	    cmocka_unit_test(text_that_is_too_long_is_cut_and_still_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
