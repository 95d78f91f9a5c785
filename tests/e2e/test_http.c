/* The HTTP face (CONTRACT 1): who may pass, problems of every sort, targets
 * that try to be something else, request ids. */
#include "harness.h"
#include "lib/mem.h"

#include <string.h>

static char id[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, id);
	return 0;
}

static int
teardown(void **state)
{
	run_end(id);
	return stack_stop(state);
}

static void
health_is_open_and_says_the_version(void **state)
{
	(void)state;
	static const char *const paths[] = {
	    "/health", "/health?x=1", "/health/ready"};
	for (size_t i = 0; i < 3; i++) {
		REPLY_AUTO r =
		    http_do("GET", paths[i], NULL, "Authorization:", NULL);
		assert_int_equal(r.status, 200);
		assert_string_equal(
		    json_string_value(json_at(r.json, "status")), "ok");
		assert_true(json_is_string(json_at(r.json, "version")));
		assert_string_equal(
		    json_string_value(json_at(r.json, "server")), "test-box");
	}
}

static void
only_the_token_itself_passes(void **state)
{
	char line[600], longer[400], shorter[400], upper[400];
	const char *t = stack.token;

	(void)state;
	(void)snprintf(longer, sizeof(longer), "Authorization: Bearer %sx", t);
	(void)snprintf(shorter, sizeof(shorter), "Authorization: Bearer %.*s",
	    (int)strlen(t) - 1, t);
	(void)snprintf(upper, sizeof(upper), "Authorization: Bearer %s", t);
	for (char *p = upper + 22; *p != '\0'; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	(void)snprintf(line, sizeof(line), "Authorization: Basic %s", t);
	const char *const bad[] = {"Authorization:", "Authorization: Bearer",
	    "Authorization: Bearer ", "Authorization: Bearer x", longer,
	    shorter, upper, line, "Authorization: Bearer .*"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, bad[i], NULL);

		if (r.status != 401)
			fail_msg("%s: %ld", bad[i], r.status);
		check_problem(&r, 401, "unauthorized", NULL);
		assert_true(str_starts(
		    http_header(&r.headers, "WWW-Authenticate"), "Bearer"));
	}
	static const char *const schemes[] = {
	    "Bearer ", "bearer ", "BEARER ", "Bearer   "};
	for (size_t i = 0; i < 4; i++) {
		(void)snprintf(
		    line, sizeof(line), "Authorization: %s%s", schemes[i], t);
		REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, line, NULL);
		assert_int_equal(r.status, 200);
	}
}

/* What nginx would normalise to /health is not /health. */
static void
no_spelling_of_health_is_a_way_in(void **state)
{
	static const char *const paths[] = {"/%68ealth", "/x/../health",
	    "/./health", "//health", "/health/", "/health/../v1/runs",
	    "/health/ready/../../v1/runs", "/health%2f..%2fv1%2fruns",
	    "/healthy", "/Health", "/health;x", "/v1/runs?/health",
	    "/v1/runs/01ARYZ6S41TSV4RRFFQ69G5FAV/files/../../../../health"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		REPLY_AUTO r =
		    http_do("GET", paths[i], NULL, "Authorization:", NULL);

		if (r.status != 401)
			fail_msg("%s: %ld %s", paths[i], r.status, r.body.data);
	}
}

static void
unknown_routes_are_404_and_other_methods_405(void **state)
{
	static const struct {
		const char *method, *path, *allow;
	} rows[] = {
	    {"GET", "/", NULL},
	    {"GET", "/v1", NULL},
	    {"GET", "/v2/runs", NULL},
	    {"GET", "/V1/runs", NULL},
	    {"POST", "/v1/runs/01ARYZ6S41TSV4RRFFQ69G5FAV/nothing", NULL},
	    {"PUT", "/v1/runs", "GET"},
	    {"DELETE", "/v1/runs", "POST"},
	    {"PATCH", "/v1/runs", "GET"},
	    {"OPTIONS", "/v1/runs", "POST"},
	    {"POST", "/health", "GET"},
	    {"GET", "/v1/runs/01ARYZ6S41TSV4RRFFQ69G5FAV/exec", "POST"},
	    {"POST", "/v1/runs/01ARYZ6S41TSV4RRFFQ69G5FAV", "DELETE"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		REPLY_AUTO r =
		    http_do(rows[i].method, rows[i].path, NULL, NULL);
		const char *allow = http_header(&r.headers, "Allow");

		if (rows[i].allow == NULL) {
			check_problem(&r, 404, "route_not_found", NULL);
			continue;
		}
		check_problem(&r, 405, "method_not_allowed", NULL);
		assert_non_null(allow);
		assert_non_null(strstr(allow, rows[i].allow));
	}
}

static void
head_is_get_without_the_body(void **state)
{
	static const char *const paths[] = {
	    "/health", "/v1/runs", "/v1/runs/01ARYZ6S41TSV4RRFFQ69G5FAV"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char length[32];
		REPLY_AUTO get = http_do("GET", paths[i], NULL, NULL);
		(void)snprintf(length, sizeof(length), "%s",
		    http_header(&get.headers, "Content-Length"));
		REPLY_AUTO head = http_do("HEAD", paths[i], NULL, NULL);

		assert_int_equal(head.status, get.status);
		assert_int_equal(head.body.size, 0);
		assert_string_equal(
		    http_header(&head.headers, "Content-Length"), length);
	}
}

static void
targets_are_decoded_once_and_stay_plain(void **state)
{
	static const char *const bad[] = {"/v1//runs", "/v1/runs/", "//v1/runs",
	    "/v1/./runs", "/v1/%2e/runs", "/v1/x/%2e%2e/runs", "/v1/runs/%zz",
	    "/v1/runs/%", "/v1/runs/%4", "/v1/runs/a%00b", "/v1/x/../runs"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r = http_do("GET", bad[i], NULL, NULL);

		if (r.status != 400)
			fail_msg("%s: %ld", bad[i], r.status);
		check_problem(&r, 400, NULL, NULL);
	}
	REPLY_AUTO once = http_do("GET", "/%76%31/runs", NULL, NULL);
	assert_int_equal(once.status, 200);
	REPLY_AUTO twice = http_do("GET", "/%2576%2531/runs", NULL, NULL);
	assert_int_equal(twice.status, 404);
}

static void
ids_that_are_none_are_404_and_never_a_fault(void **state)
{
	static const char *const none[] = {"x", "01ARYZ6S41TSV4RRFFQ69G5FA",
	    "01ARYZ6S41TSV4RRFFQ69G5FAVV", "01ARYZ6S41TSV4RRFFQ69G5FAI",
	    "01ARYZ6S41TSV4RRFFQ69G5FAV", "01aryz6s41tsv4rrffq69g5fav",
	    "..%2Fx", "%2A", "%F0%9F%98%80", "%FF", "a%0Ab", "sbx:run"};
	static const struct {
		const char *method, *what, *body;
	} calls[] = {{"GET", "", NULL}, {"DELETE", "", NULL},
	    {"POST", "exec", "{\"cmd\":\"id\"}"}};
	char *longest = mem_zalloc(4001);

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		for (size_t k = 0; k < 3; k++) {
			REPLY_AUTO r = http_do(calls[k].method,
			    run_url(none[i], calls[k].what), calls[k].body,
			    NULL);

			if (r.status != 404 && r.status != 400)
				fail_msg("%s %s: %ld", calls[k].method, none[i],
				    r.status);
			check_problem(&r, r.status, NULL, NULL);
		}
	memset(longest, 'A', 4000);
	char path[4100];
	(void)snprintf(path, sizeof(path), "/v1/runs/%s", longest);
	REPLY_AUTO r = http_do("GET", path, NULL, NULL);
	check_problem(&r, 404, "run_not_found", NULL);
	free(longest);
}

/* Errors that nginx makes have the same shape. Each is a whole request. */
static void
errors_of_the_front_are_problems_too(void **state)
{
	static const struct {
		const char *request;
		int status;
	} rows[] = {
	    {"GARBAGE\r\n\r\n", 400},
	    {"GET / HTTP/1.1\r\n\r\n", 400}, /* no Host */
	    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
	    {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
	     "Content-Length: 2\r\n\r\n",
		400},
	    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n",
		400},
	    {"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\n"
	     "Authorization: Bearer b\r\n\r\n",
		400},
	    {"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405},
	    {"GET / HTTP/3.7\r\nHost: a\r\n\r\n", 505},
	    {"GET /v1/runs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		401},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf got =
		    http_raw(rows[i].request, strlen(rows[i].request));
		const char *body = strstr(got.data, "\r\n\r\n");
		int status = 0;

		(void)sscanf(got.data, "HTTP/1.1 %d", &status);
		if (status != rows[i].status || body == NULL)
			fail_msg("%s: %s", rows[i].request, got.data);
		assert_non_null(strstr(got.data, "application/problem+json"));
		REPLY_AUTO r = {.status = status,
		    .headers = BUF_INIT(1),
		    .body = BUF_INIT(65536),
		    .json = json_loads(body + 4, 0, NULL)};
		buf_adds(&r.body, body + 4);
		check_problem(&r, status, NULL, NULL);
		buf_release(&got);
	}
}

static void
what_is_too_large_is_refused(void **state)
{
	char *text = mem_zalloc(40000), *body = mem_zalloc(2 << 20);

	(void)state;
	memset(text, 'a', 39999);
	text[0] = '/';
	REPLY_AUTO uri = http_do("GET", text, NULL, NULL);
	check_problem(&uri, 414, NULL, NULL);
	memcpy(text, "X-Long: ", 8);
	REPLY_AUTO header = http_do("GET", "/v1/runs", NULL, text, NULL);
	check_problem(&header, 431, NULL, NULL);
	memset(body, ' ', (2 << 20) - 1);
	REPLY_AUTO large = http_do("POST", "/v1/runs", body, NULL);
	check_problem(&large, 413, "content_too_large", "1048576");
	REPLY_AUTO chunked = http_do("POST", run_url(id, "exec"), body,
	    "Transfer-Encoding: chunked", NULL);
	check_problem(&chunked, 413, NULL, NULL);
	free(text);
	free(body);
}

static void
bodies_come_in_chunks_and_of_any_type(void **state)
{
	(void)state;
	REPLY_AUTO r =
	    http_do("POST", run_url(id, "exec"), "{\"cmd\":\"echo hi\"}",
		"Transfer-Encoding: chunked", "Content-Type: text/plain", NULL);
	assert_int_equal(r.status, 200);
	assert_non_null(strstr(r.body.data, "data: hi\n"));
	assert_true(str_ends(r.body.data,
	    "event: exit\ndata: {\"exitCode\":0,\"timedOut\":false}\n\n"));
}

static void
request_ids_are_kept_or_made(void **state)
{
	char longest[65], longer[66];
	const char *const good[] = {"a", "req-1_2.3", longest};
	const char *const bad[] = {"", "a b", "a/b", "\xc3\xa9", longer};
	char line[100];

	(void)state;
	(void)snprintf(longest, sizeof(longest), "%064d", 7);
	(void)snprintf(longer, sizeof(longer), "%065d", 7);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(line, sizeof(line), "X-Request-Id: %s", good[i]);
		REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, line, NULL);
		assert_string_equal(
		    http_header(&r.headers, "X-Request-Id"), good[i]);
		REPLY_AUTO none = http_do(
		    "GET", "/v1/runs", NULL, line, "Authorization:", NULL);
		assert_int_equal(none.status, 401);
		assert_string_equal(
		    http_header(&none.headers, "X-Request-Id"), good[i]);
	}
	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(line, sizeof(line), "X-Request-Id: %s", bad[i]);
		REPLY_AUTO r = http_do("GET", "/nothing", NULL, line, NULL);
		const char *made = http_header(&r.headers, "X-Request-Id");
		assert_non_null(made);
		assert_true(strlen(made) > 8);
		assert_true(strcmp(made, bad[i]) != 0);
	}
	wait_until(stack_logged("\"req-1_2.3\""), 10000);
}

/* One FastCGI record (specification, 3.3). */
static void
record(struct buf *to, int type, const char *content, size_t size)
{
	const unsigned char head[8] = {1, (unsigned char)type, 0, 1,
	    (unsigned char)(size >> 8), (unsigned char)size,
	    (unsigned char)(-size & 7), 0};

	buf_add(to, head, 8);
	buf_add(to, content, size);
	buf_add(to, "\0\0\0\0\0\0\0", -size & 7);
}

static void
parameter(struct buf *to, const char *name, const char *value)
{
	buf_addc(to, (char)strlen(name));
	buf_addc(to, (char)strlen(value));
	buf_adds(to, name);
	buf_adds(to, value);
}

/* A body that nobody reads, made of whole FastCGI requests: were the rest of it
 * ever parsed as records, one of them would run and be logged. */
static void
a_body_cannot_smuggle_a_request(void **state)
{
	BUF_AUTO params = BUF_INIT(4096);
	BUF_AUTO forged = BUF_INIT(8192);
	BUF_AUTO body = BUF_INIT(1 << 20);
	static const char begin[8] = {0, 1, 1, 0, 0, 0, 0, 0};
	char head[400];

	(void)state;
	parameter(&params, "REQUEST_METHOD", "GET");
	parameter(&params, "REQUEST_URI", "/health");
	parameter(&params, "HTTP_X_REQUEST_ID", "smuggled-in");
	record(&forged, 1, begin, 8);
	record(&forged, 4, params.data, params.size);
	record(&forged, 4, "", 0);
	record(&forged, 5, "", 0);
	while (body.size < 200000)
		buf_add(&body, forged.data, forged.size);
	for (int i = 0; i < 20; i++) {
		BUF_AUTO request = BUF_INIT(1 << 20);

		(void)snprintf(head, sizeof(head),
		    "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
		    "X-Pad: %.*s\r\nContent-Length: %zu\r\n\r\n",
		    i, "xxxxxxxxxxxxxxxxxxxxxxxx", body.size);
		buf_adds(&request, head);
		buf_add(&request, body.data, body.size);
		struct buf got = http_raw(request.data, request.size);
		if (strstr(got.data, " 200 ") == NULL)
			fail_msg("try %d: %s", i, got.data);
		buf_release(&got);
	}
	/* Logs are complete up to here. */
	REPLY_AUTO last =
	    http_do("GET", "/health", NULL, "X-Request-Id: the-last-one", NULL);
	assert_int_equal(last.status, 200);
	wait_until(stack_logged("the-last-one"), 10000);
	assert_false(stack_logged("smuggled-in"));
}

/* Refused without a look at its body; then another request on the connection.
 */
static void
a_refused_upload_leaves_the_connection(void **state)
{
	static const char next[] =
	    "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	const size_t size = 300000;
	bool stays = false;
	char head[500];

	(void)state;
	(void)snprintf(head, sizeof(head),
	    "PUT /v1/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/files/x HTTP/1.1\r\n"
	    "Host: a\r\nAuthorization: Bearer %s\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    stack.token, size);
	/* On a busy box the body may be slow, once. */
	for (int i = 0; i < 5 && !stays; i++) {
		BUF_AUTO request = BUF_INIT(1 << 20);

		buf_adds(&request, head);
		memset(buf_grow(&request, size), 'x', size);
		request.size += size;
		buf_adds(&request, next);
		struct buf got = http_raw(request.data, request.size);
		if (strstr(got.data, "\"code\":\"run_not_found\"") == NULL)
			fail_msg("try %d: %s", i, got.data);
		stays = strstr(got.data, " 200 ") != NULL;
		buf_release(&got);
	}
	assert_true(stays);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(health_is_open_and_says_the_version),
	    cmocka_unit_test(only_the_token_itself_passes),
	    cmocka_unit_test(no_spelling_of_health_is_a_way_in),
	    cmocka_unit_test(unknown_routes_are_404_and_other_methods_405),
	    cmocka_unit_test(head_is_get_without_the_body),
	    cmocka_unit_test(targets_are_decoded_once_and_stay_plain),
	    cmocka_unit_test(ids_that_are_none_are_404_and_never_a_fault),
	    cmocka_unit_test(errors_of_the_front_are_problems_too),
	    cmocka_unit_test(what_is_too_large_is_refused),
	    cmocka_unit_test(bodies_come_in_chunks_and_of_any_type),
	    cmocka_unit_test(request_ids_are_kept_or_made),
	    cmocka_unit_test(a_body_cannot_smuggle_a_request),
	    cmocka_unit_test(a_refused_upload_leaves_the_connection),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
