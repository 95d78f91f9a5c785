/* docker/container_archive: what the engine tells of a path. */
#include "../check.h"
#include "docker/container_archive.h"
#include "lib/base64.h"

#include <stdio.h>
#include <string.h>

#define MTIME "\"mtime\":\"2026-11-30T14:30:23.534405277Z\""
#define MTIME_NS INT64_C(1796049023534405277)

static int
parse(const char *json, struct container_stat *ret_stat, struct err *e)
{
	BUF_AUTO value = BUF_INIT(ENGINE_FIELD_MAX);

	base64_encode(json, strlen(json), &value);
	return container_archive_parse(value.data, ret_stat, e);
}

static void
every_type_of_file_is_told_apart(void **state)
{
	/* From an engine of Debian 12. */
	static const struct {
		unsigned mode;
		enum container_file type;
		uint32_t bits;
	} rows[] = {{420, CONTAINER_FILE, 0644},
	    {2147484141u, CONTAINER_DIRECTORY, 0755},
	    {134218239, CONTAINER_SYMLINK, 0777},
	    {33554852, CONTAINER_FIFO, 0644},
	    {16777645, CONTAINER_SOCKET, 0655},
	    {67109296, CONTAINER_DEVICE, 0660},
	    {69206454, CONTAINER_DEVICE, 0666},
	    {8388608 + 493, CONTAINER_FILE, 04755},
	    {4194304 + 493, CONTAINER_FILE, 02755},
	    {2148532735u, CONTAINER_DIRECTORY, 01777}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char json[200];
		struct container_stat st;
		struct err e = ERR_INIT;

		(void)snprintf(json, sizeof(json),
		    "{\"name\":\"x\",\"size\":%zu,\"mode\":%u," MTIME
		    ",\"linkTarget\":\"\"}",
		    i, rows[i].mode);
		check_ok(parse(json, &st, &e), &e);
		assert_int_equal(st.type, rows[i].type);
		assert_int_equal(st.mode, rows[i].bits);
		assert_int_equal(st.size, i);
		assert_int_equal(st.mtime_ns, MTIME_NS);
	}
}

static void
times_are_read_in_any_zone_and_fraction(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {{"1970-01-01T00:00:00Z", 0},
	    {"1970-01-01T01:00:00+01:00", 0}, {"1969-12-31T18:30:00-05:30", 0},
	    {"1970-01-01T00:00:01.5Z", 1500000000},
	    {"1970-01-01T00:00:00.000000001Z", 1},
	    {"1969-12-31T23:59:59.25Z", -750000000},
	    {"1960-02-29T00:00:00Z", INT64_C(-310521600) * 1000000000},
	    {"9999-12-31T23:59:59Z", INT64_MAX},
	    {"0001-01-01T00:00:00Z", INT64_MIN}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char json[200];
		struct container_stat st;
		struct err e = ERR_INIT;

		(void)snprintf(json, sizeof(json),
		    "{\"size\":1,\"mode\":1,\"mtime\":\"%s\"}", rows[i].text);
		check_ok(parse(json, &st, &e), &e);
		assert_int_equal(st.mtime_ns, rows[i].ns);
	}
}

static void
what_makes_no_sense_is_an_error(void **state)
{
	static const char *const texts[] = {"", "{}", "[]", "null", "no",
	    "{\"size\":1,\"mode\":1}", "{\"size\":1," MTIME "}",
	    "{\"mode\":1," MTIME "}", "{\"size\":-1,\"mode\":1," MTIME "}",
	    "{\"size\":1.5,\"mode\":1," MTIME "}",
	    "{\"size\":1,\"mode\":-1," MTIME "}",
	    "{\"size\":1,\"mode\":4294967296," MTIME "}",
	    "{\"size\":1,\"mode\":\"1\"," MTIME "}",
	    "{\"size\":1,\"mode\":1,\"mtime\":1}",
	    "{\"size\":1,\"mode\":1,\"mtime\":\"\"}",
	    "{\"size\":1,\"mode\":1,\"mtime\":\"2026-11-30\"}",
	    "{\"size\":1,\"mode\":1,\"mtime\":\"2026-11-30T14:30:23\"}",
	    "{\"size\":1,\"mode\":1,\"mtime\":\"2026-11-30T14:30:23+\"}",
	    "{\"size\":1,\"mode\":1,\"mtime\":\"2026-11-30T14:30:23Zx\"}",
	    "{\"size\":18446744073709551616,\"mode\":1," MTIME "}"};
	struct container_stat st;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_fails(parse(texts[i], &st, &e), &e, ERR_ENGINE);
	check_fails(container_archive_parse("{}", &st, &e), &e, ERR_ENGINE);
	check_fails(container_archive_parse("====x", &st, &e), &e, ERR_ENGINE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_type_of_file_is_told_apart),
	    cmocka_unit_test(times_are_read_in_any_zone_and_fraction),
	    cmocka_unit_test(what_makes_no_sense_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
