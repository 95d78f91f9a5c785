/* The answers that nginx makes itself. */
#include "../check.h"
#include "front.h"
#include "lib/fd.h"

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
	    "fastcgi_read_timeout 1h", "fastcgi_read_timeout 3s", NULL});
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
