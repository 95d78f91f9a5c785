/* What nginx lets through, and what it answers itself. */
#include "../check.h"
#include "front.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
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

/* Send the text, expect that problem. */
static void
refused(const char *text, int status, const char *suffix, const char *code)
{
	ANSWER_AUTO a = front_raw(text, strlen(text));

	check_problem(&a, status, suffix, code);
}

static char *
repeated(char c, size_t count)
{
	char *text = malloc(count + 1);

	assert_non_null(text);
	memset(text, c, count);
	text[count] = '\0';
	return text;
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
	static const char *const good[] = {"a", "A-b_c.9",
	    "0123456789012345678901234567890123456789012345678901234567890123"};

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
	    "X-Request-Id: \xc3\xa9\r\n",
	    "X-Request-Id: 0123456789012345678901234567890123456789012345678901"
	    "2345678901234\r\n"};

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

/* -- nginx' own errors ------------------------------------------------------
 */

static void
a_malformed_request_is_a_problem(void **state)
{
	static const char *const bad[] = {
	    "GARBAGE\r\n\r\n",
	    "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03zz\r\n\r\n",
	    "GET /v1/runs HTTP/1.1\r\n\r\n",
	    "GET /v1/runs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	    "GET /v1/runs HTTP/1.1\r\nHost: a b\r\n\r\n",
	    "GET /v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
	    "GET /v1/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
	    "GET /../../x HTTP/1.1\r\nHost: x\r\n\r\n",
	    "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	    "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
	    "Content-Length: 5\r\n\r\nabcde",
	    "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -4\r\n\r\n",
	    "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 4x\r\n\r\n",
	};

	(void)state;
	size_t before = front_logged(" ");
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], 400, "bad-request", "bad_request");
	refused(BEARER "\r\n", 400, "bad-request", "bad_request");
	assert_int_equal(front_logged(" "), before);
}

static void
a_bad_chunk_and_an_unknown_coding_are_problems(void **state)
{
	(void)state;
	refused("POST /v1/runs HTTP/1.1\r\nHost: x\r\n" BEARER
		"Transfer-Encoding: gzip\r\n\r\n",
	    501, "not-implemented", "not_implemented");
	refused("POST /v1/runs HTTP/1.1\r\nHost: x\r\n" BEARER
		"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
	    400, "bad-request", "bad_request");
}

static void
http_2_is_refused_as_what_it_is(void **state)
{
	const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	ANSWER_AUTO a = front_raw(preface, sizeof(preface) - 1);

	(void)state;
	if (a.status == 400)
		check_problem(&a, 400, "bad-request", "bad_request");
	else
		check_problem(&a, 505, "http-version-not-supported",
		    "http_version_not_supported");
}

static void
trace_and_connect_are_405_with_allow(void **state)
{
	static const char *const methods[] = {"TRACE", "CONNECT"};

	(void)state;
	for (size_t i = 0; i < COUNT(methods); i++) {
		ANSWER_AUTO a = front_ask(methods[i], "/v1/runs", "");

		if (i == 1 && a.status == 400)
			continue;
		check_problem(
		    &a, 405, "method-not-allowed", "method_not_allowed");
		assert_non_null(strstr(answer_header(&a, "Allow"), "POST"));
	}
}

static void
a_long_target_is_414(void **state)
{
	char *name = repeated('a', 9000);
	BUF_AUTO target = BUF_INIT(32768);

	(void)state;
	buf_addf(&target, "/v1/%.7900s", name);
	ANSWER_AUTO a = front_ask("GET", target.data, "");
	assert_int_equal(a.status, 200);
	buf_addf(&target, "%s", name);
	ANSWER_AUTO b = front_ask("GET", target.data, "");
	check_problem(&b, 414, "uri-too-long", "uri_too_long");
	free(name);
}

static void
long_headers_are_431(void **state)
{
	char *value = repeated('a', 8300);
	BUF_AUTO lines = BUF_INIT(128 * 1024);

	(void)state;
	buf_addf(&lines, "X-Long: %.7900s\r\n", value);
	ANSWER_AUTO a = front_ask("GET", "/v1/runs", lines.data);
	assert_int_equal(a.status, 200);
	for (int i = 0; i < 5; i++)
		buf_addf(&lines, "X-Long: %.7900s\r\n", value);
	ANSWER_AUTO b = front_ask("GET", "/v1/runs", lines.data);
	check_problem(&b, 431, "headers-too-large", "headers_too_large");
	buf_reset(&lines);
	buf_addf(&lines, "X-Long: %s\r\n", value);
	ANSWER_AUTO c = front_ask("GET", "/v1/runs", lines.data);
	check_problem(&c, 431, "headers-too-large", "headers_too_large");
	free(value);
}

static void
an_upload_over_the_limit_is_413(void **state)
{
	char lines[64];
	size_t limit = (size_t)FRONT_UPLOAD_MB << 20;

	(void)state;
	(void)snprintf(
	    lines, sizeof(lines), "Content-Length: %zu\r\n", limit + 1);
	ANSWER_AUTO a = front_ask("PUT", "/v1/runs/A/files/x", lines);
	check_problem(&a, 413, "content-too-large", "content_too_large");
	assert_true(answer_has(&a, "at most 2 MiB"));
}

static void
a_header_of_ours_cannot_be_forged(void **state)
{
	(void)state;
	/* Names with an underscore would become the same parameter. */
	ANSWER_AUTO a = front_ask("GET", "/v1/runs",
	    "X_Request_Id: forged\r\nX-Request_Id: forged\r\n");
	assert_int_equal(a.status, 200);
	assert_false(answer_has(&a, "forged"));
}

static void
what_nginx_refuses_is_logged_without_its_target(void **state)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)state;
	ANSWER_AUTO a = front_ask_bare("GET", "/v1/runs?secret=hunter2",
	    "X-Request-Id: find-me\r\nAuthorization: Bearer hunter3\r\n");
	assert_int_equal(a.status, 401);
	(void)snprintf(path, sizeof(path), "%s/nginx/nginx.log", front.dir);
	char *log = fd_read_file(path, 1 << 20, NULL, &e);
	assert_non_null(log);
	assert_non_null(strstr(
	    log, "\"request\":\"find-me\",\"method\":\"GET\",\"status\":401}"));
	assert_null(strstr(log, "hunter"));
	free(log);
}

/* -- errors that need another configuration ---------------------------------
 */

/* Every status that the template names, made by hand. */
static int
open_front_with_errors(void **state)
{
	static const int made[] = {400, 401, 403, 404, 405, 411, 413, 414, 416,
	    429, 500, 501, 502, 503, 504, 505};
	BUF_AUTO rules = BUF_INIT(8192);

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++)
		buf_addf(&rules, "if ($arg_made = %d) { return %d; }\n",
		    made[i], made[i]);
	buf_adds(&rules, "if ($sbx_deny) {");
	front_open((const char *[]){"if ($sbx_deny) {", rules.data,
	    "fastcgi_read_timeout 1h", "fastcgi_read_timeout 1s", NULL});
	return 0;
}

static void
every_status_has_its_problem(void **state)
{
	static const struct {
		int status;
		const char *suffix, *code;
	} rows[] = {
	    {400, "bad-request", "bad_request"},
	    {401, "unauthorized", "unauthorized"},
	    {403, "forbidden", "forbidden"},
	    {404, "not-found", "not_found"},
	    {405, "method-not-allowed", "method_not_allowed"},
	    {411, "length-required", "length_required"},
	    {413, "content-too-large", "content_too_large"},
	    {414, "uri-too-long", "uri_too_long"},
	    {416, "range-not-satisfiable", "range_not_satisfiable"},
	    {429, "too-many-requests", "too_many_requests"},
	    {500, "internal", "internal"},
	    {501, "not-implemented", "not_implemented"},
	    {502, "bad-gateway", "worker_unavailable"},
	    {503, "unavailable", "unavailable"},
	    {504, "gateway-timeout", "worker_timeout"},
	    {505, "http-version-not-supported", "http_version_not_supported"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char target[32];

		(void)snprintf(
		    target, sizeof(target), "/v1/x?made=%d", rows[i].status);
		ANSWER_AUTO a = front_ask("GET", target, "");
		check_problem(&a, rows[i].status, rows[i].suffix, rows[i].code);
	}
}

static void
a_silent_worker_is_504(void **state)
{
	ANSWER_AUTO a = front_ask("GET", "/v1/runs", "X-Act: hang\r\n");

	(void)state;
	check_problem(&a, 504, "gateway-timeout", "worker_timeout");
}

static void
an_absent_worker_is_502_with_retry_after(void **state)
{
	char path[96];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/control.sock", front.dir);
	assert_int_equal(unlink(path), 0);
	ANSWER_AUTO a = front_ask("GET", "/v1/runs", "");
	check_problem(&a, 502, "bad-gateway", "worker_unavailable");
	assert_non_null(answer_header(&a, "Retry-After"));
	/* The other pool goes on. */
	ANSWER_AUTO b = front_ask("POST", "/v1/runs", "");
	assert_int_equal(b.status, 200);
}

int
main(void)
{
	const struct CMUnitTest product[] = {
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
	    cmocka_unit_test(a_malformed_request_is_a_problem),
	    cmocka_unit_test(a_bad_chunk_and_an_unknown_coding_are_problems),
	    cmocka_unit_test(http_2_is_refused_as_what_it_is),
	    cmocka_unit_test(trace_and_connect_are_405_with_allow),
	    cmocka_unit_test(a_long_target_is_414),
	    cmocka_unit_test(long_headers_are_431),
	    cmocka_unit_test(an_upload_over_the_limit_is_413),
	    cmocka_unit_test(a_header_of_ours_cannot_be_forged),
	    cmocka_unit_test(what_nginx_refuses_is_logged_without_its_target),
	};
	const struct CMUnitTest made[] = {
	    cmocka_unit_test(every_status_has_its_problem),
	    cmocka_unit_test(a_silent_worker_is_504),
	    cmocka_unit_test(an_absent_worker_is_502_with_retry_after),
	};
	int failed = cmocka_run_group_tests_name(
	    "nginx", product, open_front, close_front);

	return failed + cmocka_run_group_tests_name("nginx' errors", made,
			    open_front_with_errors, close_front);
}
