/* http/range: Range, the conditions of a request, and HTTP dates. */
#include "../check.h"
#include "http/range.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TAG "\"a1\""

/* value of a body of size is "whole", "beyond", or "offset+count". */
static void
check_range(const char *value, uint64_t size, const char *want)
{
	uint64_t offset = 0, count = 0;
	char got[64];

	switch (range_parse(value, size, &offset, &count)) {
	case RANGE_WHOLE:
		(void)snprintf(got, sizeof(got), "whole");
		break;
	case RANGE_BEYOND:
		(void)snprintf(got, sizeof(got), "beyond");
		break;
	case RANGE_PART:
		(void)snprintf(got, sizeof(got), "%llu+%llu",
		    (unsigned long long)offset, (unsigned long long)count);
		break;
	}
	if (strcmp(got, want) != 0)
		fail_msg("\"%s\" of %llu: %s, not %s", value,
		    (unsigned long long)size, got, want);
}

static void
one_range_is_a_part(void **state)
{
	(void)state;
	check_range("bytes=0-0", 10, "0+1");
	check_range("bytes=2-5", 10, "2+4");
	check_range("bytes=0-9", 10, "0+10");
	check_range("bytes=9-", 10, "9+1");
	check_range("bytes=0-", 10, "0+10");
	check_range("BYTES=1-1", 10, "1+1");
	check_range("bytes= \t2-5 ", 10, "2+4");
	check_range("bytes=,2-5,", 10, "2+4");
	check_range("bytes=007-008", 10, "7+2");
}

static void
a_range_ends_where_the_body_does(void **state)
{
	(void)state;
	check_range("bytes=5-100", 10, "5+5");
	check_range("bytes=5-18446744073709551615", 10, "5+5");
	check_range("bytes=5-99999999999999999999999999", 10, "5+5");
	check_range("bytes=0-", UINT64_MAX, "0+18446744073709551615");
	check_range("bytes=1-18446744073709551615", UINT64_MAX,
	    "1+18446744073709551614");
}

static void
a_suffix_counts_from_the_end(void **state)
{
	(void)state;
	check_range("bytes=-1", 10, "9+1");
	check_range("bytes=-10", 10, "0+10");
	check_range("bytes=-11", 10, "0+10");
	check_range("bytes=-99999999999999999999999999", 10, "0+10");
}

static void
a_range_of_nothing_is_beyond(void **state)
{
	(void)state;
	check_range("bytes=10-", 10, "beyond");
	check_range("bytes=10-20", 10, "beyond");
	check_range("bytes=99999999999999999999999999-", 10, "beyond");
	check_range("bytes=-0", 10, "beyond");
	check_range("bytes=0-", 0, "beyond");
	check_range("bytes=0-0", 0, "beyond");
	check_range("bytes=-0", 0, "beyond");
	/* The last bytes of nothing are all of it. */
	check_range("bytes=-5", 0, "whole");
}

static void
what_is_not_one_range_of_bytes_asks_for_the_whole(void **state)
{
	static const char *const values[] = {"", "bytes", "bytes=", "bytes=-",
	    "bytes=5-2", "bytes=a-b", "bytes=1", "bytes=1-2x", "bytes=1-2-3",
	    "bytes=--1", "bytes=+1-2", "bytes=1 -2", "bytes=1- 2",
	    "bytes=0x1-2", "bytes=0-1,3-4", "bytes=-1,-2", "lines=1-2",
	    "bytes 1-2", " bytes=1-2", "bytes =1-2"};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		check_range(values[i], 10, "whole");
}

static void
if_range_is_the_same_strong_tag(void **state)
{
	(void)state;
	assert_true(range_if("", TAG));
	assert_true(range_if(TAG, TAG));
	assert_false(range_if("W/" TAG, TAG));
	assert_false(range_if("\"a2\"", TAG));
	assert_false(range_if("a1", TAG));
	assert_false(range_if("Sun, 06 Nov 1994 08:49:37 GMT", TAG));
}

static void
if_none_match_is_a_list_of_tags(void **state)
{
	(void)state;
	assert_true(range_none_match("*", TAG));
	assert_true(range_none_match(TAG, TAG));
	assert_true(range_none_match("W/" TAG, TAG));
	assert_true(range_none_match("\"b\", W/\"c\" ,," TAG, TAG));
	assert_true(range_none_match("\"b,\\\"," TAG, TAG));
	assert_false(range_none_match("", TAG));
	assert_false(range_none_match("\"a\", \"a11\"", TAG));
	assert_false(range_none_match("\"x" TAG, TAG));
	assert_false(range_none_match("a1", TAG));
	assert_false(range_none_match("b " TAG, TAG));
	assert_false(range_none_match("\"a1", TAG));
}

static void
dates_are_written_and_read(void **state)
{
	char text[RANGE_DATE_SIZE];
	int64_t sec = 0;

	(void)state;
	range_date(784111777, text);
	assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
	assert_int_equal(range_date_parse(text, &sec), 0);
	assert_int_equal(sec, 784111777);
	range_date(-1, text);
	assert_string_equal(text, "Wed, 31 Dec 1969 23:59:59 GMT");
	range_date(INT64_MAX, text);
	assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
	range_date(INT64_MIN, text);
	assert_string_equal(text, "Wed, 01 Jan 1000 00:00:00 GMT");
}

static void
what_is_no_date_is_not_read(void **state)
{
	static const char *const bad[] = {"", "0", "now",
	    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
	    "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
	    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
	    "sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
	    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 19940 8:49:37 GMT"};
	int64_t sec;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (range_date_parse(bad[i], &sec) == 0)
			fail_msg("\"%s\" was read", bad[i]);
}

static void
not_modified_is_by_whole_seconds(void **state)
{
	static const char at[] = "Sun, 06 Nov 1994 08:49:37 GMT";

	(void)state;
	assert_true(range_not_modified(at, 784111777));
	assert_true(range_not_modified(at, 784111776));
	assert_false(range_not_modified(at, 784111778));
	assert_false(range_not_modified("", 0));
	assert_false(range_not_modified("x", 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_range_is_a_part),
	    cmocka_unit_test(a_range_ends_where_the_body_does),
	    cmocka_unit_test(a_suffix_counts_from_the_end),
	    cmocka_unit_test(a_range_of_nothing_is_beyond),
	    cmocka_unit_test(what_is_not_one_range_of_bytes_asks_for_the_whole),
	    cmocka_unit_test(if_range_is_the_same_strong_tag),
	    cmocka_unit_test(if_none_match_is_a_list_of_tags),
	    cmocka_unit_test(dates_are_written_and_read),
	    cmocka_unit_test(what_is_no_date_is_not_read),
	    cmocka_unit_test(not_modified_is_by_whole_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
