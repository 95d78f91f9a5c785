/* lib/str: comparing, and reading numbers without surprises. */
#include "../check.h"
#include "lib/str.h"

#include <string.h>

static void
comparisons_see_the_whole_text(void **state)
{
	(void)state;
	assert_true(str_eq("", ""));
	assert_false(str_eq("a", "A"));
	assert_true(str_ieq("Bearer", "bEARER"));
	assert_false(str_ieq("Bearer", "Bearer "));
	assert_true(str_starts("unix:///x", "unix:///"));
	assert_true(str_starts("x", ""));
	assert_false(str_starts("uni", "unix"));
	assert_true(str_ends("a.lua", ".lua"));
	assert_true(str_ends("a", ""));
	assert_false(str_ends("lua", ".lua"));
}

static void
blank_is_empty_or_white_space(void **state)
{
	(void)state;
	assert_true(str_blank(""));
	assert_true(str_blank(" \t\r\n\v\f"));
	assert_false(str_blank(" x "));
	assert_false(str_blank("\xc2\xa0"));
}

static void
secrets_are_compared_byte_for_byte(void **state)
{
	(void)state;
	assert_true(str_same_secret("abc", "abc", 3));
	assert_true(str_same_secret("abc", "abd", 2));
	assert_true(str_same_secret("a\0b", "a\0b", 3));
	assert_false(str_same_secret("a\0b", "a\0c", 3));
	assert_false(str_same_secret("abc", "abC", 3));
}

static void
numbers_are_read_whole_or_not_at_all(void **state)
{
	static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "1x",
	    "0x1", "1.0", "1e3", "--1", "1\n", "9223372036854775808",
	    "-9223372036854775809", "99999999999999999999999999"};
	int64_t n = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
		    str_to_int(bad[i], INT64_MIN, INT64_MAX, &n), -1);
		assert_int_equal(n, 77);
	}
	assert_int_equal(str_to_int("007", 0, 9, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(str_to_int("-0", 0, 9, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(
	    str_to_int("-9223372036854775808", INT64_MIN, INT64_MAX, &n), 0);
	assert_true(n == INT64_MIN);
}

static void
numbers_keep_to_their_bounds(void **state)
{
	int64_t n = 77;

	(void)state;
	assert_int_equal(str_to_int("0", 1, 5, &n), -1);
	assert_int_equal(str_to_int("6", 1, 5, &n), -1);
	assert_int_equal(n, 77);
	assert_int_equal(str_to_int("1", 1, 5, &n), 0);
	assert_int_equal(str_to_int("5", 1, 5, &n), 0);
	assert_int_equal(n, 5);
}

static void
lower_case_touches_ascii_letters_only(void **state)
{
	char text[] = "AZaz09@[\xc3\x89";

	(void)state;
	str_lower(text);
	assert_string_equal(text, "azaz09@[\xc3\x89");
}

static void
hex_is_two_lower_case_digits_a_byte(void **state)
{
	char to[9];

	(void)state;
	str_hex(to, "\x00\x7f\x80\xff", 4);
	assert_string_equal(to, "007f80ff");
	str_hex(to, "", 0);
	assert_string_equal(to, "");
}

static void
posix_names_only(void **state)
{
	static const char *const bad[] = {
	    "", "1A", "A-B", "A B", "A=B", "A.B", "\xc3\x89", "A\n"};

	(void)state;
	assert_true(str_is_name("_"));
	assert_true(str_is_name("PATH"));
	assert_true(str_is_name("a_1Z"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_is_name(bad[i]));
}

static void
words_stand_apart_by_any_of_the_characters(void **state)
{
	const char *at = " one,, two\tthree ", *word;
	size_t size;

	(void)state;
	word = str_word(&at, " ,\t", &size);
	assert_true(size == 3 && memcmp(word, "one", 3) == 0);
	word = str_word(&at, " ,\t", &size);
	assert_true(size == 3 && memcmp(word, "two", 3) == 0);
	word = str_word(&at, " ,\t", &size);
	assert_true(size == 5 && memcmp(word, "three", 5) == 0);
	assert_null(str_word(&at, " ,\t", &size));
	assert_null(str_word(&at, " ,\t", &size));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(comparisons_see_the_whole_text),
	    cmocka_unit_test(blank_is_empty_or_white_space),
	    cmocka_unit_test(secrets_are_compared_byte_for_byte),
	    cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
	    cmocka_unit_test(numbers_keep_to_their_bounds),
	    cmocka_unit_test(lower_case_touches_ascii_letters_only),
	    cmocka_unit_test(hex_is_two_lower_case_digits_a_byte),
	    cmocka_unit_test(posix_names_only),
	    cmocka_unit_test(words_stand_apart_by_any_of_the_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
