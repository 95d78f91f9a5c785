/* http/target and http/exchange: what a request target means. */
#include "../check.h"
#include "http/exchange.h"
#include "http/target.h"

#include <string.h>

static struct arena arena = ARENA_INIT;

static int
empty_arena(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct exchange
parsed(const char *target)
{
	struct exchange x = {.arena = &arena, .target = target};
	struct err e = ERR_INIT;

	check_ok(target_parse(&x, &e), &e);
	return x;
}

static void
a_path_is_split_after_one_decoding(void **state)
{
	struct exchange x = parsed("/v1/runs/ID/files/a%2520b%2Fc%3fd?x=1");

	(void)state;
	assert_int_equal(x.seg_count, 6);
	assert_string_equal(x.seg[0], "v1");
	assert_string_equal(x.seg[4], "a%20b");
	assert_string_equal(x.seg[5], "c?d");
	assert_string_equal(x.path, "/v1/runs/ID/files/a%20b/c?d");
	assert_string_equal(x.query, "x=1");
}

static void
only_the_first_question_mark_begins_the_query(void **state)
{
	(void)state;
	assert_string_equal(parsed("/a").query, "");
	assert_string_equal(parsed("/a?").query, "");
	assert_string_equal(parsed("/a?x?y").query, "x?y");
	assert_string_equal(parsed("/a%3Fx").query, "");
	assert_string_equal(parsed("/a#f?x").seg[0], "a#f");
}

static void
the_root_has_no_segments(void **state)
{
	(void)state;
	assert_int_equal(parsed("/").seg_count, 0);
	assert_int_equal(parsed("/?x=/..").seg_count, 0);
}

static void
what_could_climb_or_hide_is_refused(void **state)
{
	static const char *const bad[] = {"", "*", "health", "?x", "//", "/a/",
	    "/a//b", "/.", "/a/../b", "/..", "/%2e%2e/x", "/..%2fx", "/a/%2E/b",
	    "/a%2f", "/a%2F%2Fb", "/x/../health", "/%00", "/a%", "/a%zz",
	    "http://a/b", "%2Fhealth"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct exchange x = {.arena = &arena, .target = bad[i]};
		struct err e = ERR_INIT;

		check_fails(target_parse(&x, &e), &e, ERR_PATH);
	}
}

static void
a_path_of_too_many_segments_is_refused(void **state)
{
	char target[2 * (EXCHANGE_SEGMENTS + 1) + 1];
	struct exchange x = {.arena = &arena, .target = target};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(target); i++)
		target[i] = i % 2 == 0 ? '/' : 'a';
	target[2 * EXCHANGE_SEGMENTS] = '\0';
	check_ok(target_parse(&x, &e), &e);
	assert_int_equal(x.seg_count, EXCHANGE_SEGMENTS);
	target[2 * EXCHANGE_SEGMENTS] = '/';
	target[2 * EXCHANGE_SEGMENTS + 2] = '\0';
	check_fails(target_parse(&x, &e), &e, ERR_PATH);
}

static const char *
value(const char *query, const char *name, bool *ret_bad)
{
	struct exchange x = {.arena = &arena, .query = query};

	*ret_bad = false;
	return exchange_query(&x, name, ret_bad);
}

static void
query_values_are_decoded_as_forms_are(void **state)
{
	const char *q = "a=1&owner=%C3%A9+b%2Bc&empty=&flag&%61b=x&a=2&=z";
	bool bad;

	(void)state;
	assert_string_equal(value(q, "a", &bad), "1");
	assert_string_equal(value(q, "owner", &bad), "\xc3\xa9 b+c");
	assert_string_equal(value(q, "empty", &bad), "");
	assert_string_equal(value(q, "flag", &bad), "");
	assert_string_equal(value(q, "ab", &bad), "x");
	assert_string_equal(value(q, "", &bad), "z");
	assert_null(value(q, "b", &bad));
	assert_null(value("", "a", &bad));
	assert_null(value("&&", "a", &bad));
	assert_false(bad);
}

static void
a_bad_query_value_is_told_from_an_absent_one(void **state)
{
	static const char *const queries[] = {
	    "a=%", "a=%zz", "a=x%00y", "b=1&a=%4"};
	bool bad;

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		assert_null(value(queries[i], "a", &bad));
		assert_true(bad);
	}
	/* Another parameter's fault, or a name that is malformed, is not. */
	assert_string_equal(value("b=%&%=%&a=1", "a", &bad), "1");
	assert_false(bad);
}

static void
request_ids_are_taken_only_in_the_narrow_form(void **state)
{
	char long_id[66];

	(void)state;
	memset(long_id, 'a', sizeof(long_id));
	long_id[65] = '\0';
	assert_false(exchange_id_valid(long_id));
	long_id[64] = '\0';
	assert_true(exchange_id_valid(long_id));
	assert_true(exchange_id_valid("A.b_9-"));
	assert_false(exchange_id_valid(""));
	assert_false(exchange_id_valid("a b"));
	assert_false(exchange_id_valid("a\r\nSet-Cookie: x"));
	assert_false(exchange_id_valid("\xc3\xa9"));
}

static void
made_request_ids_are_valid_and_differ(void **state)
{
	const char *a = exchange_id_make(&arena), *b = exchange_id_make(&arena);

	(void)state;
	assert_true(exchange_id_valid(a));
	assert_string_not_equal(a, b);
}

static void
header_lines_are_collected(void **state)
{
	struct exchange x = {.arena = &arena};

	(void)state;
	exchange_header(&x, "X-Exec-Id", "1");
	exchange_header(&x, "Allow", "GET");
	assert_string_equal(x.header, "X-Exec-Id: 1\r\nAllow: GET\r\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_path_is_split_after_one_decoding),
	    cmocka_unit_test(only_the_first_question_mark_begins_the_query),
	    cmocka_unit_test(the_root_has_no_segments),
	    cmocka_unit_test(what_could_climb_or_hide_is_refused),
	    cmocka_unit_test(a_path_of_too_many_segments_is_refused),
	    cmocka_unit_test(query_values_are_decoded_as_forms_are),
	    cmocka_unit_test(a_bad_query_value_is_told_from_an_absent_one),
	    cmocka_unit_test(request_ids_are_taken_only_in_the_narrow_form),
	    cmocka_unit_test(made_request_ids_are_valid_and_differ),
	    cmocka_unit_test(header_lines_are_collected),
	};

	return cmocka_run_group_tests(tests, NULL, empty_arena);
}
