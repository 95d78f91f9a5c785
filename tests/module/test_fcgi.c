/* http/fcgi and worker: what a worker makes of what comes over its socket. */
#include "../wait.h"
#include "fcgi_client.h"
#include "pool_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_MS 30000

static struct pool_fixture pool;

static int
set_up(void **state)
{
	(void)state;
	pool_prepare(&pool);
	pool_start(&pool);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	pool_stop(&pool);
	return 0;
}

static struct fcgi_reply
get(const char *target)
{
	return fcgi_get(pool.socket, "GET", target, NULL);
}

/* One whole exchange of a body cut into records of that size. */
static struct fcgi_reply
post(const char *target, const char *body, size_t size, size_t record,
    const char *more)
{
	const char *const params[] = {more, NULL};
	struct fcgi_reply r = FCGI_REPLY_INIT;
	int fd = fcgi_connect(pool.socket);

	fcgi_head(fd, "POST", target, params);
	fcgi_stdin(fd, body, size, record);
	fcgi_stdin_end(fd);
	fcgi_read_all(fd, &r);
	(void)close(fd);
	assert_true(r.ended);
	return r;
}

static void
check_reply(struct fcgi_reply r, int status, const char *in_body)
{
	if (fcgi_status(&r) != status)
		fail_msg("not %d: %s", status, r.out.data);
	if (strstr(fcgi_body(&r), in_body) == NULL)
		fail_msg("no \"%s\": %s", in_body, r.out.data);
	fcgi_reply_release(&r);
}

/* The worker still answers, whatever was done to it. */
static void
check_alive(void)
{
	check_reply(get("/ping"), 200, "pong");
}

static void
a_reply_carries_what_every_reply_carries(void **state)
{
	static const char *const id[] = {"HTTP_X_REQUEST_ID=my-id.1", NULL};
	struct fcgi_reply r = fcgi_get(pool.socket, "GET", "/ping", id);

	(void)state;
	assert_string_equal(fcgi_body(&r), "pong");
	assert_memory_equal(r.out.data, "Status: 200 OK\r\n", 16);
	assert_true(fcgi_has_line(&r, "Content-Type: text/plain"));
	assert_true(fcgi_has_line(&r, "Content-Length: 4"));
	assert_true(fcgi_has_line(&r, "X-Request-Id: my-id.1"));
	assert_true(fcgi_has_line(&r, "Cache-Control: no-store"));
	fcgi_reply_release(&r);
}

static void
a_request_id_that_is_not_plain_is_replaced(void **state)
{
	static const char *const id[] = {
	    "HTTP_X_REQUEST_ID=a\r\nSet-Cookie: b", NULL};
	struct fcgi_reply r = fcgi_get(pool.socket, "GET", "/ping", id);

	(void)state;
	assert_int_equal(fcgi_status(&r), 200);
	assert_null(strstr(r.out.data, "Set-Cookie"));
	assert_non_null(strstr(r.out.data, "\r\nX-Request-Id: "));
	fcgi_reply_release(&r);
}

static void
head_has_the_length_and_no_body(void **state)
{
	struct fcgi_reply r = fcgi_get(pool.socket, "HEAD", "/ping", NULL);

	(void)state;
	assert_int_equal(fcgi_status(&r), 200);
	assert_true(fcgi_has_line(&r, "Content-Length: 4"));
	assert_string_equal(fcgi_body(&r), "");
	fcgi_reply_release(&r);
}

static void
query_parameters_reach_the_route(void **state)
{
	(void)state;
	check_reply(get("/query?a=x%20y+z"), 200, "x y z");
	check_reply(get("/query?b=1"), 200, "absent");
	check_reply(get("/query?a=%"), 200, "bad");
}

static void
what_cannot_be_served_is_a_problem(void **state)
{
	static const char *const token[] = {
	    "HTTP_AUTHORIZATION=bearer  " TEST_TOKEN, NULL};
	struct fcgi_reply r = fcgi_get(pool.socket, "PUT", "/ping", token);

	(void)state;
	assert_int_equal(fcgi_status(&r), 405);
	assert_true(fcgi_has_line(&r, "Allow: GET, HEAD"));
	assert_true(
	    fcgi_has_line(&r, "Content-Type: application/problem+json"));
	fcgi_reply_release(&r);
	check_reply(fcgi_get(pool.socket, "GET", "/nowhere", token), 404,
	    "\"route_not_found\"");
	check_reply(fcgi_get(pool.socket, "GET", "/", token), 404,
	    "\"route_not_found\"");
	check_reply(fcgi_get(pool.socket, "GET", "/ping/", token), 400,
	    "\"invalid_path\"");
	check_reply(
	    fcgi_get(pool.socket, "GET", "", token), 400, "\"invalid_path\"");
	check_reply(get("/nothing"), 500, "\"server\":\"box\"");
}

static void
without_a_token_only_open_routes_answer(void **state)
{
	static const char *const targets[] = {"/secret", "/nowhere", "/x/../y",
	    "/%2e%2e/ping", "/ping/../secret", "/ping/", "//ping"};
	static const char *const wrong[] = {"HTTP_AUTHORIZATION=",
	    "HTTP_AUTHORIZATION=Bearer", "HTTP_AUTHORIZATION=Bearer ",
	    "HTTP_AUTHORIZATION=Basic " TEST_TOKEN,
	    "HTTP_AUTHORIZATION=" TEST_TOKEN,
	    "HTTP_AUTHORIZATION=Bearer\t" TEST_TOKEN,
	    "HTTP_AUTHORIZATION=Bearer " TEST_TOKEN "x",
	    "HTTP_AUTHORIZATION=Bearer T0KEN-of-the-test",
	    "HTTP_AUTHORIZATION=Bearer " TEST_TOKEN ", Bearer x"};
	static const char *const right[] = {
	    "HTTP_AUTHORIZATION=BEARER " TEST_TOKEN, NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct fcgi_reply r = get(targets[i]);

		assert_true(fcgi_has_line(
		    &r, "WWW-Authenticate: Bearer realm=\"teploy-sandbox\""));
		check_reply(r, 401, "\"unauthorized\"");
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *const more[] = {wrong[i], NULL};

		check_reply(fcgi_get(pool.socket, "GET", "/secret", more), 401,
		    "\"unauthorized\"");
	}
	check_reply(fcgi_get(pool.socket, "GET", "/secret", right), 200, "in");
	check_reply(
	    fcgi_get(pool.socket, "GET", "/secret?token=" TEST_TOKEN, NULL),
	    401, "\"unauthorized\"");
}

static void
a_failure_is_told_to_the_log_and_not_to_the_caller(void **state)
{
	struct fcgi_reply r = get("/fail?password=hush");

	(void)state;
	assert_null(strstr(r.out.data, "/secret/place"));
	check_reply(r, 500, "\"internal\"");
	wait_until(pool_logged(&pool, "\"request.done\"",
		       "cannot open /secret/place") == 1,
	    LONG_MS);
	assert_int_equal(
	    pool_logged(&pool, "\"path\":\"/fail\"", "\"status\":500"), 1);
	assert_int_equal(pool_logged(&pool, "hush", ""), 0);
}

static void
a_body_arrives_whole_however_it_is_cut(void **state)
{
	enum { SIZE = 300 * 1000 };
	static const size_t records[] = {65535, 8192, 8184, 4000, 333};
	char *body = malloc(SIZE), length[64];

	(void)state;
	for (int i = 0; i < SIZE; i++)
		body[i] = (char)(i % 251);
	(void)snprintf(length, sizeof(length), "CONTENT_LENGTH=%d", SIZE);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		struct fcgi_reply r = post("/echo", body, SIZE, records[i],
		    i % 2 ? length : "HTTP_TRANSFER_ENCODING=chunked");
		const char *echo = fcgi_body(&r);

		assert_int_equal(
		    r.out.size - (size_t)(echo - r.out.data), SIZE);
		assert_memory_equal(echo, body, SIZE);
		fcgi_reply_release(&r);
	}
	check_reply(
	    post("/echo", "hello", 5, 1, "CONTENT_LENGTH=5"), 200, "hello");
	check_reply(post("/echo", "", 0, 1, "CONTENT_LENGTH="), 200, "");
	free(body);
}

static void
a_body_beyond_its_ceiling_is_refused_announced_or_not(void **state)
{
	size_t size = EXCHANGE_BODY_MAX + 1;
	char *body = calloc(1, size), length[64];

	(void)state;
	(void)snprintf(length, sizeof(length), "CONTENT_LENGTH=%zu", size);
	check_reply(post("/echo", body, size, 60000, length), 413,
	    "\"content_too_large\"");
	check_reply(
	    post("/echo", body, size, 60000, "HTTP_TRANSFER_ENCODING=chunked"),
	    413, "\"content_too_large\"");
	check_reply(
	    post("/echo", body, size - 1, 60000, "CONTENT_LENGTH="), 200, "");
	free(body);
}

/* A worker that closed at once would fail the sender's next write, and nginx
 * would make a 502 of it. */
static void
an_answer_before_the_body_reaches_a_sender_that_goes_on(void **state)
{
	enum { SIZE = 4 << 20 };
	char *body = calloc(1, SIZE);

	(void)state;
	check_reply(
	    post("/ignore", body, SIZE, 60000, "CONTENT_LENGTH=4194304"), 409,
	    "Not now.");
	free(body);
}

static void
a_large_reply_comes_whole(void **state)
{
	struct fcgi_reply r = get("/big?size=20000000");

	(void)state;
	assert_true(fcgi_has_line(&r, "Content-Length: 20000000"));
	assert_int_equal(strlen(fcgi_body(&r)), 20000000);
	fcgi_reply_release(&r);
}

static void
a_client_that_leaves_in_mid_body_is_noticed(void **state)
{
	static const char *const length[] = {"CONTENT_LENGTH=1000", NULL};
	int fd = fcgi_connect(pool.socket);

	(void)state;
	fcgi_head(fd, "POST", "/echo", length);
	fcgi_stdin(fd, "hello", 5, 5);
	(void)close(fd);
	wait_until(
	    atomic_load(&pool.counters->last_error) == ERR_GONE_AWAY, LONG_MS);
	wait_until(pool_logged(&pool, "/echo", "\"status\":499") == 1, LONG_MS);
	check_alive();
}

static void
an_abort_record_in_mid_body_ends_the_request(void **state)
{
	struct fcgi_reply r = FCGI_REPLY_INIT;
	int fd = fcgi_connect(pool.socket);

	(void)state;
	fcgi_head(fd, "POST", "/echo", NULL);
	fcgi_stdin(fd, "hello", 5, 5);
	fcgi_record(fd, FCGI_ABORT_REQUEST, NULL, 0);
	fcgi_read_all(fd, &r);
	(void)close(fd);
	fcgi_reply_release(&r);
	assert_int_equal(
	    atomic_load(&pool.counters->last_error), ERR_GONE_AWAY);
	check_alive();
}

/* Records in a body that nobody reads, on a connection that the peer asked to
 * keep: the request forged there must not run (FACTS A). */
static void
a_body_that_looks_like_requests_is_never_executed(void **state)
{
	static const unsigned char forged[] = {1, FCGI_BEGIN_REQUEST, 0, 1, 0,
	    8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, FCGI_PARAMS, 0, 1, 0, 40, 0, 0,
	    14, 3, 'R', 'E', 'Q', 'U', 'E', 'S', 'T', '_', 'M', 'E', 'T', 'H',
	    'O', 'D', 'G', 'E', 'T', 11, 7, 'R', 'E', 'Q', 'U', 'E', 'S', 'T',
	    '_', 'U', 'R', 'I', '/', 'f', 'o', 'r', 'g', 'e', 'd', 0, 1,
	    FCGI_PARAMS, 0, 1, 0, 0, 0, 0, 1, FCGI_STDIN, 0, 1, 0, 0, 0, 0};

	(void)state;
	/* Wherever the reader's 8 KiB buffer ends, a record begins there. */
	for (size_t shift = 0; shift < sizeof(forged); shift++) {
		struct buf body = BUF_INIT(1 << 20);

		for (size_t i = 0; i < shift; i++)
			buf_addc(&body, 'x');
		while (body.size < 40000)
			buf_add(&body, forged, sizeof(forged));
		check_reply(post("/ignore", body.data, body.size, 65535,
				"CONTENT_LENGTH=40000"),
		    409, "Not now.");
		buf_release(&body);
	}
	assert_int_equal(atomic_load(&pool.counters->forged), 0);
	check_reply(get("/forged"), 200, "forged");
	assert_int_equal(atomic_load(&pool.counters->forged), 1);
}

static void
garbage_closes_the_connection_and_nothing_else(void **state)
{
	static const char garbage[][17] = {"GET / HTTP/1.1\r\n",
	    "\1\1\0\1\0\10\0\0\0\1\1", "\1\1\0\1\0\7\0\0\0\1",
	    "\1\4\0\1\0\0\0\0\1\4\0\1\0\0\0\0", "\2", "\1\1"};

	(void)state;
	for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
		struct fcgi_reply r = FCGI_REPLY_INIT;
		int fd = fcgi_connect(pool.socket);

		assert_true(write(fd, garbage[i], 16) == 16);
		(void)shutdown(fd, SHUT_WR);
		fcgi_read_all(fd, &r);
		assert_int_equal(r.out.size, 0);
		(void)close(fd);
		check_alive();
	}
	wait_until(
	    pool_logged(&pool, "\"request.malformed\"", "") == 6, LONG_MS);
}

/* CVE-2025-23016: lengths that overflow when they are added up. */
static void
parameter_lengths_that_overflow_close_the_connection(void **state)
{
	static const unsigned char begin[8] = {0, 1, 0, 0, 0, 0, 0, 0};
	static const unsigned char params[] = {0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 'A', 'A', 'A', 'A', 'A', 'A', 'A', 'A'};
	struct fcgi_reply r = FCGI_REPLY_INIT;
	int fd = fcgi_connect(pool.socket);

	(void)state;
	fcgi_record(fd, FCGI_BEGIN_REQUEST, begin, sizeof(begin));
	fcgi_record(fd, FCGI_PARAMS, params, sizeof(params));
	(void)shutdown(fd, SHUT_WR);
	fcgi_read_all(fd, &r);
	(void)close(fd);
	check_alive();
}

static void
large_parameters_are_taken(void **state)
{
	struct buf cookie = BUF_INIT(1 << 17);

	(void)state;
	buf_adds(&cookie, "HTTP_COOKIE=");
	while (cookie.size < 100000)
		buf_addc(&cookie, 'c');
	const char *const more[] = {cookie.data, NULL};
	check_reply(fcgi_get(pool.socket, "GET", "/ping", more), 200, "pong");
	buf_release(&cookie);
}

/* Both threads wait on a silent peer; a request behind them must not wait for
 * it to speak. */
static void
connections_that_say_nothing_do_not_hold_a_thread(void **state)
{
	struct fcgi_reply r = FCGI_REPLY_INIT;
	int silent[2] = {fcgi_connect(pool.socket), fcgi_connect(pool.socket)};

	(void)state;
	check_alive();
	for (int i = 0; i < 2; i++) {
		r.closed = false;
		fcgi_read_all(silent[i], &r);
		(void)close(silent[i]);
	}
	assert_int_equal(r.out.size, 0);
}

static void
a_reply_that_fails_is_a_problem_while_nothing_of_it_was_sent(void **state)
{
	(void)state;
	for (int size = 0; size <= 7000; size += 3500) {
		char target[40];

		(void)snprintf(target, sizeof(target), "/cut?size=%d", size);
		struct fcgi_reply r = get(target);
		assert_int_equal(fcgi_status(&r), 502);
		assert_non_null(strstr(fcgi_body(&r), "guest_failed"));
		assert_null(strstr(r.out.data, "xxx"));
		assert_null(strstr(r.out.data, "ETag"));
		assert_true(r.ended);
		fcgi_reply_release(&r);
	}
	check_alive();
}

#define FCGI_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    FCGI_TEST(a_reply_carries_what_every_reply_carries),
	    FCGI_TEST(a_request_id_that_is_not_plain_is_replaced),
	    FCGI_TEST(head_has_the_length_and_no_body),
	    FCGI_TEST(query_parameters_reach_the_route),
	    FCGI_TEST(what_cannot_be_served_is_a_problem),
	    FCGI_TEST(without_a_token_only_open_routes_answer),
	    FCGI_TEST(a_failure_is_told_to_the_log_and_not_to_the_caller),
	    FCGI_TEST(a_body_arrives_whole_however_it_is_cut),
	    FCGI_TEST(a_body_beyond_its_ceiling_is_refused_announced_or_not),
	    FCGI_TEST(an_answer_before_the_body_reaches_a_sender_that_goes_on),
	    FCGI_TEST(a_large_reply_comes_whole),
	    FCGI_TEST(
		a_reply_that_fails_is_a_problem_while_nothing_of_it_was_sent),
	    FCGI_TEST(a_client_that_leaves_in_mid_body_is_noticed),
	    FCGI_TEST(an_abort_record_in_mid_body_ends_the_request),
	    FCGI_TEST(a_body_that_looks_like_requests_is_never_executed),
	    FCGI_TEST(garbage_closes_the_connection_and_nothing_else),
	    FCGI_TEST(parameter_lengths_that_overflow_close_the_connection),
	    FCGI_TEST(large_parameters_are_taken),
	    FCGI_TEST(connections_that_say_nothing_do_not_hold_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
