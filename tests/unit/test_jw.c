/* lib/jw: what is written is JSON, and says what was meant. */
#include "../check.h"
#include "lib/jw.h"

#include <jansson.h>
#include <string.h>

static void
commas_are_its_own_business(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);
	struct jw w = JW_INIT(&out);

	(void)state;
	jw_open(&w, '{');
	jw_str(&w, "a", "x");
	jw_key(&w, "b");
	jw_open(&w, '[');
	jw_int(&w, NULL, 1);
	jw_open(&w, '{');
	jw_close(&w, '}');
	jw_open(&w, '[');
	jw_close(&w, ']');
	jw_bool(&w, NULL, true);
	jw_close(&w, ']');
	jw_bool(&w, "c", false);
	jw_raw(&w, "d", "null");
	jw_close(&w, '}');
	assert_string_equal(out.data,
	    "{\"a\":\"x\",\"b\":[1,{},[],true],\"c\":false,\"d\":null}");
}

static void
text_is_escaped_as_json_wants(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);
	struct jw w = JW_INIT(&out);

	(void)state;
	jw_strn(&w, NULL, "\"\\/\b\f\n\r\t\x01\x1f\x7f\0x\xc3\xa9", 15);
	assert_string_equal(out.data,
	    "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000x"
	    "\xc3\xa9\"");
}

static void
any_bytes_become_a_string_that_parses(void **state)
{
	(void)state;
	for (int a = 0; a < 256; a++) {
		for (int b = 0; b < 256; b++) {
			const char text[] = {(char)a, (char)b, 'x'};
			BUF_AUTO out = BUF_INIT(1000);
			struct jw w = JW_INIT(&out);

			jw_open(&w, '[');
			jw_strn(&w, NULL, text, sizeof(text));
			jw_close(&w, ']');
			json_auto_t *json = json_loadb(
			    out.data, out.size, JSON_ALLOW_NUL, NULL);
			assert_non_null(json);
		}
	}
}

static void
keys_are_quoted_like_values(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);
	struct jw w = JW_INIT(&out);

	(void)state;
	jw_open(&w, '{');
	jw_str(&w, "a\"\n\xff", "");
	jw_close(&w, '}');
	assert_string_equal(out.data, "{\"a\\\"\\n\xef\xbf\xbd\":\"\"}");
}

static void
numbers_come_back_as_they_were(void **state)
{
	static const double real[] = {0, 0.1, 1, 1.5, 0.001, 1e21, -2.25, 1e-7};

	(void)state;
	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++) {
		BUF_AUTO out = BUF_INIT(1000);
		struct jw w = JW_INIT(&out);

		jw_real(&w, NULL, real[i]);
		json_auto_t *json =
		    json_loadb(out.data, out.size, JSON_DECODE_ANY, NULL);
		assert_true(json_is_number(json));
		assert_true(json_number_value(json) == real[i]);
	}
	BUF_AUTO out = BUF_INIT(1000);
	struct jw w = JW_INIT(&out);
	jw_int(&w, NULL, INT64_MIN);
	jw_int(&w, NULL, INT64_MAX);
	jw_time(&w, NULL, 1769850000123);
	assert_string_equal(out.data,
	    "-9223372036854775808,9223372036854775807,"
	    "\"2026-01-31T09:00:00.123Z\"");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commas_are_its_own_business),
	    cmocka_unit_test(text_is_escaped_as_json_wants),
	    cmocka_unit_test(any_bytes_become_a_string_that_parses),
	    cmocka_unit_test(keys_are_quoted_like_values),
	    cmocka_unit_test(numbers_come_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
