/* json/read: what callers may send, and what they are told. */
#include "json/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *
parse(const char *text)
{
	struct err e = ERR_INIT;
	json_t *o = read_object(text, strlen(text), &e);

	assert_non_null(o);
	return o;
}

static void
refuses(const char *text)
{
	struct err e = ERR_INIT;

	assert_null(read_object(text, strlen(text), &e));
	assert_int_equal(e.kind, ERR_JSON);
	assert_non_null(strstr(e.text, "Body must be JSON"));
}

static void
an_empty_body_is_an_empty_object(void **state)
{
	(void)state;
	json_t *o = parse("");
	assert_int_equal(json_object_size(o), 0);
	json_decref(o);
	json_decref(parse(" \r\n\t"));
}

static void
what_is_not_one_object_is_refused(void **state)
{
	(void)state;
	refuses("[]");
	refuses("null");
	refuses("\"text\"");
	refuses("{} {}");
	refuses("{\"a\":1");
	refuses("{'a':1}");
	refuses("{\"a\":\"\xff\"}");
	refuses("{\"a\":99999999999999999999}");
}

static void
what_is_wrong_with_a_body_is_told_where_that_is_known(void **state)
{
	static const char *const table[][2] = {
	    {"{\"ttlSec\":9223372036854775808}", "the number of ttlSec at"},
	    {"{\"a\":[1,2],\"b_1\" :\n -1e400 }",
		"the number of b_1 at line 2, column 7 is"},
	    {"{\"a\":[1e400]}", "the number at"},
	    {"{\"a-b\":1e400}", "the number at"},
	    {"{\"a\\\"b\":1e400}", "the number at"},
	    {"{\"\":1e400}", "the number at"},
	    {"1e400", "Body must be JSON"},
	    {"{\"labels\":{\"a\\u0000b\":\"c\"}}",
		"must not contain a NUL character"},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct err e = ERR_INIT;

		assert_null(read_object(table[i][0], strlen(table[i][0]), &e));
		assert_int_equal(e.kind, ERR_JSON);
		if (strstr(e.text, table[i][1]) == NULL)
			fail_msg("%s: %s", table[i][0], e.text);
	}
}

static void
nesting_is_bounded_before_it_is_parsed(void **state)
{
	char deep[4096] = "{\"a\":";
	(void)state;

	memset(deep + 5, '[', 2000);
	deep[2005] = '\0';
	refuses(deep);
	/* Brackets inside strings do not count. */
	memset(deep, '[', 2000);
	memcpy(deep, "{\"a\":\"\\\"", 8);
	memcpy(deep + 2000, "\"}", 3);
	json_decref(parse(deep));
}

static void
null_and_zero_values_count_as_absent(void **state)
{
	struct err e = ERR_INIT;
	const char *text = "x";
	int64_t number = 0;
	double real = 0;
	json_t *member = (json_t *)1;
	bool flag = true;
	(void)state;

	json_t *o = parse("{\"s\":\"\",\"n\":0,\"r\":0.0,\"o\":{},\"z\":null}");
	assert_int_equal(read_string(o, "s", &text, &e), 0);
	assert_null(text);
	assert_int_equal(read_int(o, "n", 5, 9, 7, &number, &e), 0);
	assert_int_equal(number, 7);
	assert_int_equal(read_real(o, "r", 5, 9, 6.5, &real, &e), 0);
	assert_true(real > 6.4 && real < 6.6);
	assert_int_equal(read_member(o, "o", JSON_OBJECT, &member, &e), 0);
	assert_null(member);
	assert_int_equal(read_string(o, "z", &text, &e), 0);
	assert_int_equal(read_int(o, "z", 5, 9, 8, &number, &e), 0);
	assert_int_equal(number, 8);
	assert_int_equal(read_bool(o, "z", &flag, &e), 0);
	assert_false(flag);
	json_decref(o);
}

static void
a_wrong_type_names_the_member(void **state)
{
	struct err e = ERR_INIT;
	const char *text;
	int64_t number;
	double real;
	json_t *member;
	bool flag;
	(void)state;

	json_t *o = parse("{\"a\":[1],\"b\":\"x\",\"c\":1.5}");
	assert_int_equal(read_string(o, "a", &text, &e), -1);
	assert_string_equal(e.text, "a must be a string.");
	assert_int_equal(e.kind, ERR_INPUT);
	assert_int_equal(read_int(o, "b", 1, 2, 1, &number, &e), -1);
	assert_string_equal(e.text, "b must be a whole number.");
	assert_int_equal(read_int(o, "c", 1, 2, 1, &number, &e), -1);
	assert_string_equal(e.text, "c must be a whole number.");
	assert_int_equal(read_real(o, "b", 1, 2, 1, &real, &e), -1);
	assert_string_equal(e.text, "b must be a number.");
	assert_int_equal(read_bool(o, "b", &flag, &e), -1);
	assert_string_equal(e.text, "b must be true or false.");
	assert_int_equal(read_member(o, "a", JSON_OBJECT, &member, &e), -1);
	assert_string_equal(e.text, "a must be an object.");
	json_decref(o);
}

static void
bounds_are_told(void **state)
{
	struct err e = ERR_INIT;
	int64_t number = 42;
	(void)state;

	json_t *o = parse("{\"n\":-1,\"m\":86401}");
	assert_int_equal(read_int(o, "n", 1, 86400, 1, &number, &e), -1);
	assert_string_equal(e.text, "n is -1; it must be from 1 to 86400.");
	assert_int_equal(read_int(o, "m", 1, 86400, 1, &number, &e), -1);
	json_decref(o);
}

static const char *const *
env(const char *text, const struct read_env_rule *rule, struct arena *a,
    struct err *e)
{
	const char *const *out = NULL;
	json_t *o = parse(text);

	if (read_env(o, "env", rule, a, &out, e) != 0)
		out = NULL;
	json_decref(o);
	return out;
}

static void
env_keeps_names_and_values(void **state)
{
	const struct read_env_rule rule = {.most = 2, .bytes = 8};
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	(void)state;

	const char *const *out =
	    env("{\"env\":{\"A\":\"1=2\",\"_b\":\"\"}}", &rule, &a, &e);
	assert_non_null(out);
	assert_string_equal(out[0], "A=1=2");
	assert_string_equal(out[1], "_b=");
	assert_null(out[2]);
	assert_null(*env("{}", &rule, &a, &e));
	arena_release(&a);
}

static void
env_rules_are_kept_without_showing_values(void **state)
{
	static const char *const bad[] = {"{\"env\":{\"1A\":\"secret\"}}",
	    "{\"env\":{\"A-B\":\"secret\"}}", "{\"env\":{\"\":\"secret\"}}",
	    "{\"env\":{\"A\":\"secret\\u0000\"}}",
	    "{\"env\":{\"A\":\"secret\\n\"}}",
	    "{\"env\":{\"A\":\"secret\\r\"}}",
	    "{\"env\":{\"A\":\"secretsecret\"}}", "{\"env\":{\"A\":7}}",
	    "{\"env\":{\"A\":\"\",\"B\":\"\",\"C\":\"\"}}"};
	const struct read_env_rule rule = {.most = 2, .bytes = 8};
	struct arena a = ARENA_INIT;
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = ERR_INIT;

		assert_null(env(bad[i], &rule, &a, &e));
		assert_int_equal(e.kind, ERR_INPUT);
		assert_non_null(strstr(e.text, "env"));
		assert_null(strstr(e.text, "secret"));
	}
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_body_is_an_empty_object),
	    cmocka_unit_test(what_is_not_one_object_is_refused),
	    cmocka_unit_test(
		what_is_wrong_with_a_body_is_told_where_that_is_known),
	    cmocka_unit_test(nesting_is_bounded_before_it_is_parsed),
	    cmocka_unit_test(null_and_zero_values_count_as_absent),
	    cmocka_unit_test(a_wrong_type_names_the_member),
	    cmocka_unit_test(bounds_are_told),
	    cmocka_unit_test(env_keeps_names_and_values),
	    cmocka_unit_test(env_rules_are_kept_without_showing_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
