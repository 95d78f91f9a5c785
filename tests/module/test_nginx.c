/* What nginx lets through, and what it answers itself. */
#include "../check.h"
#include "front.h"
#include "lib/str.h"

#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define DIGITS_64 \
	"0123456789012345678901234567890123456789012345678901234567890123"
#define BEARER "Authorization: Bearer " FRONT_TOKEN "\r\n"

static int
open_front(void **state)
{
	(void)state;
	front_open(NULL);
	return 0;
}

static int
close_front(void **state)
{
	(void)state;
	front_close();
	return 0;
}

/* -- tokens -----------------------------------------------------------------
 */

static void
a_token_passes_with_its_scheme_in_any_case(void **state)
{
	static const char *const good[] = {
	    BEARER,
	    "Authorization: bearer " FRONT_TOKEN "\r\n",
	    "authorization: BEARER    " FRONT_TOKEN "\r\n",
	    "Authorization:   Bearer " FRONT_TOKEN "   \r\n",
	    "Authorization: Bearer second-token\r\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		ANSWER_AUTO a = front_ask_bare("GET", "/v1/runs", good[i]);

		if (a.status != 200)
			fail_msg("%d for %s", a.status, good[i]);
	}
}

static void
whatever_is_not_a_token_is_401(void **state)
{
	static const char *const bad[] = {
	    "",
	    "Authorization:\r\n",
	    "Authorization: Bearer\r\n",
	    "Authorization: Bearer \r\n",
	    "Authorization: " FRONT_TOKEN "\r\n",
	    "Authorization: Basic " FRONT_TOKEN "\r\n",
	    "Authorization: Bearer\t" FRONT_TOKEN "\r\n",
	    "Authorization: Bearer " FRONT_TOKEN "x\r\n",
	    "Authorization: Bearer x" FRONT_TOKEN "\r\n",
	    "Authorization: Bearer second-toke\r\n",
	    "Authorization: Bearer SECOND-TOKEN\r\n",
	    "Authorization: Bearer second.token\r\n",
	    "Authorization: Bearer second-token, Bearer second-token\r\n",
	    "Authorization: Bearer second-token second-token\r\n",
	    "Authorization: Bearer .*\r\n",
	    "Proxy-Authorization: Bearer second-token\r\n",
	    "X-Authorization: Bearer second-token\r\n",
	    "Cookie: Authorization=Bearer second-token\r\n",
	};

	(void)state;
	size_t before = front_logged("/401");
	for (size_t i = 0; i < COUNT(bad); i++) {
		ANSWER_AUTO a = front_ask_bare("GET", "/v1/401", bad[i]);

		if (a.status != 401)
			fail_msg("%d for %s", a.status, bad[i]);
		check_problem(&a, 401, "unauthorized", "unauthorized");
		assert_non_null(
		    strstr(answer_header(&a, "WWW-Authenticate"), "Bearer"));
	}
	ANSWER_AUTO query =
	    front_ask_bare("GET", "/v1/401?access_token=second-token", "");
	check_problem(&query, 401, "unauthorized", "unauthorized");
	assert_int_equal(front_logged("/401"), before);
}

static void
two_tokens_in_one_request_are_400(void **state)
{
	(void)state;
	ANSWER_AUTO a = front_ask("GET", "/v1/runs", BEARER);
	check_problem(&a, 400, "bad-request", "bad_request");
	ANSWER_AUTO b =
	    front_ask("GET", "/v1/runs", "Authorization: Bearer nonsense\r\n");
	check_problem(&b, 400, "bad-request", "bad_request");
}

static void
health_is_open_and_nothing_that_only_looks_like_it(void **state)
{
	static const char *const open[] = {
	    "/health", "/health?x=1", "/health/ready", "/health/ready?x"};
	static const char *const closed[] = {"/%68ealth", "/x/../health",
	    "//health", "/health/", "/./health", "/health/.", "/health/ready/",
	    "/health/../health", "/health/ready/../../v1/runs", "/healthx",
	    "/health/x", "/health%3f", "/health%2fready", "/HEALTH", "/health;",
	    "/v1/runs/../../health", "/v1/runs/A/files/../../../../health",
	    "/health%2f..%2fv1%2fruns", "/..;/health", "/v1/runs?/health",
	    "http://x/v1/runs?/health", "/../problem", "/problem"};

	(void)state;
	for (size_t i = 0; i < COUNT(open); i++) {
		ANSWER_AUTO a = front_ask_bare("GET", open[i], "");

		assert_int_equal(a.status, 200);
	}
	size_t before = front_logged("GET");
	for (size_t i = 0; i < COUNT(closed); i++) {
		ANSWER_AUTO a = front_ask_bare("GET", closed[i], "");

		/* 400 where nginx will not climb above the root. */
		if (a.status != 401 && a.status != 400)
			fail_msg("%d for %s", a.status, closed[i]);
	}
	assert_int_equal(front_logged("GET"), before);
}

/* -- targets and pools ------------------------------------------------------
 */

static void
a_target_reaches_the_worker_byte_for_byte(void **state)
{
	static const char *const targets[] = {"/v1/a%2520b", "/v1/a%2Fb",
	    "/v1/a%2fb", "/v1/x/../y", "/v1/%2e%2e/x", "/v1/..%2fx", "//v1//",
	    "///", "/v1/./x", "/v1/a;b=c", "/v1/a+b", "/v1/a\\b", "/v1/a\"b",
	    "/v1/\xc3\xa9", "/v1/\xff\xfe", "/v1/a?x?y", "/v1/a?q=%00",
	    "/v1/a?q=%zz", "/v1/a%0Ab", "/v1/~{}|^`", "/../problem/x?y",
	    "/problem", "/v1/a$request_uri${x}@DIR@"};

	(void)state;
	for (size_t i = 0; i < COUNT(targets); i++) {
		char line[256];
		ANSWER_AUTO a = front_ask("GET", targets[i], "");

		(void)snprintf(line, sizeof(line), "\ntarget=%s\n", targets[i]);
		if (str_starts(targets[i], "/../"))
			assert_int_equal(a.status, 400);
		else if (!answer_has(&a, line))
			fail_msg("%s became %s", targets[i], a.raw.data);
	}
	ANSWER_AUTO absolute = front_ask("GET", "http://evil:1/v1/a%2fb?c", "");
	assert_true(answer_has(&absolute, "\ntarget=/v1/a%2fb?c\n"));
}

static void
what_may_last_goes_to_the_stream_pool(void **state)
{
	static const struct {
		const char *method, *target, *pool;
	} calls[] = {
	    {"POST", "/v1/runs", "stream"},
	    {"POST", "/v1/runs?x=1", "stream"},
	    {"GET", "/v1/runs", "control"},
	    {"GET", "/v1/runs/A", "control"},
	    {"DELETE", "/v1/runs/A", "control"},
	    {"POST", "/v1/runs/A/exec", "stream"},
	    {"POST", "/v1/runs/A/exec?x", "stream"},
	    {"POST", "/v1/runs/A/execx", "control"},
	    {"POST", "/v1/runs/A/%65xec", "control"},
	    {"POST", "/v1/runs/A/lease", "control"},
	    {"POST", "/v1/runs/A/lease/renew", "control"},
	    {"POST", "/v1/runs/A/extend", "control"},
	    {"GET", "/v1/runs/A/execs", "control"},
	    {"GET", "/v1/runs/A/execs/E", "control"},
	    {"GET", "/v1/runs/A/execs/E/stream?offset=1", "stream"},
	    {"POST", "/v1/runs/A/execs/E/stdin?close=1", "stream"},
	    {"POST", "/v1/runs/A/snapshot", "stream"},
	    {"POST", "/v1/runs/A/warm-commit", "stream"},
	    {"GET", "/v1/runs/A/files?list=1", "stream"},
	    {"GET", "/v1/runs/A/files/x/exec", "stream"},
	    {"PUT", "/v1/runs/A/files/x", "stream"},
	    {"GET", "/v1/runs/A/egress/log?follow=0", "stream"},
	    {"GET", "/v1/runs/A/egress", "control"},
	    {"GET", "/health", "control"},
	    {"GET", "/metrics", "control"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		char line[64];
		ANSWER_AUTO a = front_ask(calls[i].method, calls[i].target, "");

		(void)snprintf(line, sizeof(line), "pool=%s\n", calls[i].pool);
		if (!answer_has(&a, line))
			fail_msg("%s %s went elsewhere", calls[i].method,
			    calls[i].target);
	}
}

static void
an_unknown_method_is_the_workers_to_refuse(void **state)
{
	(void)state;
	ANSWER_AUTO a = front_ask("BREW", "/v1/runs", "");
	assert_true(answer_has(&a, "\nmethod=BREW\n"));
	ANSWER_AUTO b = front_ask("PATCH", "/v1/runs", "");
	assert_true(answer_has(&b, "\nmethod=PATCH\n"));
}

/* -- request ids ------------------------------------------------------------
 */

static void
a_request_id_is_kept_where_it_is_one(void **state)
{
	static const char *const good[] = {"a", "A-b_c.9", DIGITS_64};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		char line[128], told[128];

		(void)snprintf(
		    line, sizeof(line), "X-Request-Id: %s\r\n", good[i]);
		(void)snprintf(told, sizeof(told), "\nid=%s\n", good[i]);
		ANSWER_AUTO a = front_ask("GET", "/v1/runs", line);
		assert_true(answer_has(&a, told));
		assert_string_equal(answer_header(&a, "X-Request-Id"), good[i]);
		/* Once: the worker's own is not repeated. */
		assert_false(answer_has(&a, "the worker's"));
		ANSWER_AUTO b = front_ask_bare("GET", "/v1/runs", line);
		assert_int_equal(b.status, 401);
		assert_string_equal(answer_header(&b, "X-Request-Id"), good[i]);
	}
}

static void
a_request_id_is_made_where_there_is_none(void **state)
{
	static const char *const bad[] = {"", "X-Request-Id:\r\n",
	    "X-Request-Id: a b\r\n", "X-Request-Id: a\"b\r\n",
	    "X-Request-Id: \xc3\xa9\r\n", ("X-Request-Id: " DIGITS_64 "5\r\n")};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		char told[128];
		ANSWER_AUTO a = front_ask("GET", "/v1/runs", bad[i]);
		const char *id = answer_header(&a, "X-Request-Id");

		assert_int_equal(strlen(id), 32);
		assert_int_equal(strspn(id, "0123456789abcdef"), 32);
		(void)snprintf(told, sizeof(told), "\nid=%s\n", id);
		assert_true(answer_has(&a, told));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_token_passes_with_its_scheme_in_any_case),
	    cmocka_unit_test(whatever_is_not_a_token_is_401),
	    cmocka_unit_test(two_tokens_in_one_request_are_400),
	    cmocka_unit_test(
		health_is_open_and_nothing_that_only_looks_like_it),
	    cmocka_unit_test(a_target_reaches_the_worker_byte_for_byte),
	    cmocka_unit_test(what_may_last_goes_to_the_stream_pool),
	    cmocka_unit_test(an_unknown_method_is_the_workers_to_refuse),
	    cmocka_unit_test(a_request_id_is_kept_where_it_is_one),
	    cmocka_unit_test(a_request_id_is_made_where_there_is_none),
	};

	return cmocka_run_group_tests(tests, open_front, close_front);
}
