/* proxy/cache: what names were found to lead to. */
#include "../../proxy/cache.h"
#include "../check.h"

#include <stdio.h>

static struct found
found_at(uint8_t last)
{
	return (struct found){.state = RESOLVE_FOUND,
	    .count = 1,
	    .address = {{4, {192, 0, 2, last}}}};
}

static bool
is_at(struct cache *c, const char *name, int64_t now, uint8_t last)
{
	struct found f;

	return cache_find(c, name, now, &f) && f.state == RESOLVE_FOUND &&
	       f.count == 1 && f.address[0].bytes[3] == last;
}

static bool
is_known(struct cache *c, const char *name, int64_t now)
{
	struct found f;

	return cache_find(c, name, now, &f);
}

static void
a_name_is_known_until_its_time_is_over(void **state)
{
	struct cache *c = cache_new();
	struct found one = found_at(1), none = {.state = RESOLVE_NONE}, got;

	(void)state;
	assert_false(is_known(c, "a.test", 0));
	cache_put(c, "a.test", &one, 1000);
	cache_put(c, "none.test", &none, 2000);
	assert_true(is_at(c, "a.test", 999, 1));
	assert_false(is_known(c, "a.test", 1000));
	assert_false(is_known(c, "a.tes", 0));
	assert_false(is_known(c, "a.test.", 0));
	assert_true(cache_find(c, "none.test", 1999, &got));
	assert_int_equal(got.state, RESOLVE_NONE);
	assert_int_equal(got.count, 0);
	cache_free(c);
}

static void
what_is_new_replaces_what_was_known(void **state)
{
	struct cache *c = cache_new();
	struct found one = found_at(1), two = found_at(2);

	(void)state;
	cache_put(c, "a.test", &one, 1000);
	cache_put(c, "a.test", &two, 500);
	assert_true(is_at(c, "a.test", 499, 2));
	assert_false(is_known(c, "a.test", 500));
	cache_put(c, "a.test", &one, 3000);
	assert_true(is_at(c, "a.test", 2000, 1));
	cache_free(c);
}

/* Of more names than there is room for those go that nobody asked for. */
static void
the_one_that_was_used_longest_ago_goes(void **state)
{
	struct cache *c = cache_new();
	char name[32];

	(void)state;
	for (int i = 0; i < 4 * CACHE_NAMES; i++) {
		struct found f = found_at((uint8_t)i);

		(void)snprintf(name, sizeof(name), "n%d.test", i);
		cache_put(c, name, &f, 1000);
		assert_true(is_at(c, name, 0, (uint8_t)i));
		assert_true(is_at(c, "n0.test", 0, 0));
	}
	for (int i = 1; i < 4 * CACHE_NAMES; i++) {
		(void)snprintf(name, sizeof(name), "n%d.test", i);
		assert_int_equal(is_known(c, name, 0), i > 3 * CACHE_NAMES);
	}
	cache_free(c);
	cache_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_known_until_its_time_is_over),
	    cmocka_unit_test(what_is_new_replaces_what_was_known),
	    cmocka_unit_test(the_one_that_was_used_longest_ago_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
