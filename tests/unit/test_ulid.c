/* lib/ulid: 26 characters of Crockford's base 32. */
#include "../check.h"
#include "lib/ulid.h"

#include <string.h>

static const unsigned char zeros[10] = {0};
static const unsigned char ones[10] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static void
known_times_and_bytes_have_known_texts(void **state)
{
	static const unsigned char counting[10] = {
	    0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf};
	char to[ULID_SIZE];

	(void)state;
	ulid_format(0, zeros, to);
	assert_string_equal(to, "00000000000000000000000000");
	ulid_format(281474976710655, ones, to);
	assert_string_equal(to, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	/* The time of the example in the specification. */
	ulid_format(1469918176385, counting, to);
	assert_memory_equal(to, "01ARYZ6S41", 10);
	assert_string_equal(to + 10, "0123456789ABCDEF");
}

static void
the_order_of_texts_is_the_order_of_times(void **state)
{
	char before[ULID_SIZE], after[ULID_SIZE];

	(void)state;
	for (int64_t ms = 1; ms < ((int64_t)1 << 48); ms *= 3) {
		ulid_format(ms - 1, ones, before);
		ulid_format(ms, zeros, after);
		assert_true(strcmp(before, after) < 0);
		assert_true(ulid_time(after) == ms);
	}
}

static void
ids_are_read_in_any_case(void **state)
{
	char to[ULID_SIZE];

	(void)state;
	assert_true(ulid_parse("01aryz6s41tsv4rrffq69g5fav", to));
	assert_string_equal(to, "01ARYZ6S41TSV4RRFFQ69G5FAV");
	assert_true(ulid_time(to) == 1469918176385);
	assert_true(ulid_parse("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", to));
}

static void
what_is_not_a_ulid_is_refused(void **state)
{
	static const char *const bad[] = {"", "x", "..",
	    "01ARYZ6S41TSV4RRFFQ69G5FA",   /* 25 */
	    "01ARYZ6S41TSV4RRFFQ69G5FAVV", /* 27 */
	    "81ARYZ6S41TSV4RRFFQ69G5FAV",  /* over 128 bits */
	    "Z1ARYZ6S41TSV4RRFFQ69G5FAV",
	    "01ARYZ6S41TSV4RRFFQ69G5FAI", /* I L O U are not digits */
	    "01ARYZ6S41TSV4RRFFQ69G5FAl", "01ARYZ6S41TSV4RRFFQ69G5FAO",
	    "01ARYZ6S41TSV4RRFFQ69G5FAu", "01ARYZ6S41TSV4RRFFQ69G5F-V",
	    "01ARYZ6S41TSV4RRFFQ69G5F V", "/1ARYZ6S41TSV4RRFFQ69G5FAV",
	    "01ARYZ6S41TSV4RRFFQ69G5\xc3\xa9V"};
	char to[ULID_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ulid_parse(bad[i], to))
			fail_msg("'%s' was taken", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_times_and_bytes_have_known_texts),
	    cmocka_unit_test(the_order_of_texts_is_the_order_of_times),
	    cmocka_unit_test(ids_are_read_in_any_case),
	    cmocka_unit_test(what_is_not_a_ulid_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
