/* store/redis_url: the two forms, and what is refused. */
#include "../check.h"
#include "store/redis_url.h"

#include <stdio.h>
#include <string.h>

static void
both_forms_come_apart(void **state)
{
	static const struct {
		const char *url, *path, *host, *port, *user, *password, *db;
	} rows[] = {
	    {"unix:///run/x/redis.sock", "/run/x/redis.sock", "", "", "", "",
		""},
	    {"unix:///a%20b/%73", "/a b/s", "", "", "", "", ""},
	    {"redis://h", "", "h", "6379", "", "", ""},
	    {"redis://h/", "", "h", "6379", "", "", ""},
	    {"redis://h:1/15", "", "h", "1", "", "", "15"},
	    {"redis://127.0.0.1:65535", "", "127.0.0.1", "65535", "", "", ""},
	    {"redis://[::1]", "", "::1", "6379", "", "", ""},
	    {"redis://[fe80::1]:7/2", "", "fe80::1", "7", "", "", "2"},
	    {"redis://:p@h", "", "h", "6379", "", "p", ""},
	    {"redis://u:p@h:2/3", "", "h", "2", "u", "p", "3"},
	    {"redis://u%3A:p%40%2F%25@h", "", "h", "6379", "u:", "p@/%", ""},
	    {"redis://u:a:b@h", "", "h", "6379", "u", "a:b", ""},
	    {"redis://u:a@b@h", "", "h", "6379", "u", "a@b", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redis_url u;
		struct err e = ERR_INIT;

		check_ok(redis_url_parse(rows[i].url, &u, &e), &e);
		assert_string_equal(u.path, rows[i].path);
		assert_string_equal(u.host, rows[i].host);
		assert_string_equal(u.port, rows[i].port);
		assert_string_equal(u.user, rows[i].user);
		assert_string_equal(u.password, rows[i].password);
		assert_string_equal(u.db, rows[i].db);
	}
}

static void
what_is_not_one_is_refused(void **state)
{
	static const char *const rows[] = {"", "redis", "redis://",
	    "rediss://h", "http://h", "REDIS://h", "unix://run/x", "unix:/run",
	    "unix:///a%2", "unix:///a%00b", "unix:///x?db=1", "redis://:6379",
	    "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:6379x",
	    "redis://h:+1", "redis://h/x", "redis://h/-1", "redis://h/1/2",
	    "redis://h/123456", "redis://u@h", "redis://u:@h", "redis://u:p@",
	    "redis://[::1", "redis://[::1]x", "redis://[]", "redis://h?x=1",
	    "redis://h#x", "redis://u:%zz@h"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redis_url u;
		struct err e = ERR_INIT;

		if (redis_url_parse(rows[i], &u, &e) == 0)
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(e.kind, ERR_INPUT);
	}
}

static void
parts_that_are_too_long_are_refused(void **state)
{
	static const char *const forms[] = {"unix:///%s", "redis://%s",
	    "redis://%s:p@h", "redis://u:%s@h", "redis://h:%s", "redis://h/%s"};
	char url[1200], longest[1024];

	(void)state;
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct redis_url u;
		struct err e = ERR_INIT;
		const char *at = strstr(forms[i], "%s");

		(void)snprintf(url, sizeof(url), "%.*s%s%s",
		    (int)(at - forms[i]), forms[i], longest, at + 2);
		check_fails(redis_url_parse(url, &u, &e), &e, ERR_INPUT);
	}
}

static void
no_error_tells_the_password(void **state)
{
	static const char *const rows[] = {"redis://u:s3cret@",
	    "redis://s3cret", "redis://u:s3cret@h:x", "redis://u:s3cret@h/x",
	    "redis://s3cret@h", "redis://u:s3cret%zz@h", "rediss://u:s3cret@h",
	    "redis://u:s3cret@h?x"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redis_url u;
		struct err e = ERR_INIT;

		(void)redis_url_parse(rows[i], &u, &e);
		assert_null(strstr(e.text, "s3cret"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_forms_come_apart),
	    cmocka_unit_test(what_is_not_one_is_refused),
	    cmocka_unit_test(parts_that_are_too_long_are_refused),
	    cmocka_unit_test(no_error_tells_the_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
