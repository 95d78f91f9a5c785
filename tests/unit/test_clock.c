/* lib/clock: texts of times, and what is left until a deadline. */
#include "../check.h"
#include "lib/clock.h"

#include <limits.h>

static void
times_are_rfc_3339_with_milliseconds(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00.000Z");
	clock_text(1769850000123, text);
	assert_string_equal(text, "2026-01-31T09:00:00.123Z");
	clock_text(951782399999, text);
	assert_string_equal(text, "2000-02-28T23:59:59.999Z");
	clock_text(951782400000, text);
	assert_string_equal(text, "2000-02-29T00:00:00.000Z");
}

static void
times_before_the_epoch_are_times_too(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	clock_text(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
}

static void
the_monotonic_clock_does_not_go_back(void **state)
{
	int64_t before = clock_mono_us();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_us();

		assert_true(now >= before);
		before = now;
	}
	assert_true(clock_mono_ms() >= before / 1000);
	assert_true(clock_wall_ms() > 1700000000000);
}

static void
what_is_left_fits_poll(void **state)
{
	int64_t now = clock_mono_ms();

	(void)state;
	assert_int_equal(clock_left(now - 1), 0);
	assert_int_equal(clock_left(INT64_MIN / 2), 0);
	assert_int_equal(clock_left(INT64_MAX), INT_MAX);
	assert_in_range(clock_left(now + 60000), 1, 60000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_are_rfc_3339_with_milliseconds),
	    cmocka_unit_test(times_before_the_epoch_are_times_too),
	    cmocka_unit_test(the_monotonic_clock_does_not_go_back),
	    cmocka_unit_test(what_is_left_fits_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
