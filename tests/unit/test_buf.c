/* lib/buf: a growing buffer that keeps to its ceiling. */
#include "../check.h"
#include "lib/buf.h"

#include <stdlib.h>
#include <string.h>

static void
an_empty_buffer_is_empty_text(void **state)
{
	BUF_AUTO b = BUF_INIT(10);

	(void)state;
	assert_string_equal(b.data, "");
	buf_add(&b, NULL, 0);
	buf_reset(&b);
	buf_drop(&b, 0);
	assert_int_equal(b.size, 0);
	assert_string_equal(b.data, "");
	assert_false(b.over);
}

static void
what_is_added_in_any_way_is_there_and_ends_with_nul(void **state)
{
	BUF_AUTO b = BUF_INIT(1000);

	(void)state;
	buf_adds(&b, "a");
	buf_addc(&b, 'b');
	buf_addf(&b, "%d%s", 12, "c");
	buf_add(&b, "d\0e", 3);
	assert_int_equal(b.size, 8);
	assert_memory_equal(b.data, "ab12cd\0e", 9);
}

static void
the_ceiling_itself_fits_and_one_more_does_not(void **state)
{
	BUF_AUTO b = BUF_INIT(4);

	(void)state;
	buf_adds(&b, "1234");
	assert_false(b.over);
	assert_string_equal(b.data, "1234");
	buf_addc(&b, '5');
	assert_true(b.over);
	assert_string_equal(b.data, "1234");
	buf_reset(&b);
	assert_false(b.over);
	buf_addf(&b, "%s", "12345");
	assert_true(b.over);
	assert_int_equal(b.size, 0);
	assert_string_equal(b.data, "");
}

static void
a_length_near_the_end_of_memory_is_over(void **state)
{
	BUF_AUTO b = BUF_INIT(100);

	(void)state;
	buf_adds(&b, "x");
	assert_null(buf_grow(&b, SIZE_MAX));
	assert_null(buf_grow(&b, SIZE_MAX - 1));
	assert_true(b.over);
	assert_string_equal(b.data, "x");
}

static void
growing_gives_room_that_the_caller_fills(void **state)
{
	BUF_AUTO b = BUF_INIT(100000);

	(void)state;
	for (size_t n = 0; n < 300; n++) {
		char *to = buf_grow(&b, n);

		assert_non_null(to);
		memset(to, 'x', n);
		b.size += n;
		assert_int_equal(b.data[b.size], '\0');
	}
	assert_int_equal(strlen(b.data), 300 * 299 / 2);
}

static void
dropping_keeps_the_rest_and_its_nul(void **state)
{
	BUF_AUTO b = BUF_INIT(100);

	(void)state;
	buf_adds(&b, "hello world");
	buf_drop(&b, 6);
	assert_string_equal(b.data, "world");
	buf_drop(&b, 5);
	assert_string_equal(b.data, "");
	assert_int_equal(b.size, 0);
}

static void
taken_bytes_belong_to_the_caller(void **state)
{
	BUF_AUTO b = BUF_INIT(100);

	(void)state;
	char *none = buf_take(&b);
	assert_string_equal(none, "");
	free(none);
	buf_adds(&b, "mine");
	char *text = buf_take(&b);
	assert_string_equal(text, "mine");
	assert_int_equal(b.size, 0);
	buf_adds(&b, "next");
	assert_string_equal(text, "mine");
	assert_string_equal(b.data, "next");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_buffer_is_empty_text),
	    cmocka_unit_test(
		what_is_added_in_any_way_is_there_and_ends_with_nul),
	    cmocka_unit_test(the_ceiling_itself_fits_and_one_more_does_not),
	    cmocka_unit_test(a_length_near_the_end_of_memory_is_over),
	    cmocka_unit_test(growing_gives_room_that_the_caller_fills),
	    cmocka_unit_test(dropping_keeps_the_rest_and_its_nul),
	    cmocka_unit_test(taken_bytes_belong_to_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
