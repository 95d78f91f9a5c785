/* Bodies and streams through nginx, reloads under them, and smuggling. */
#include "../check.h"
#include "../wait.h"
#include "front.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "responder.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static void
send_text(struct answer *a, const char *text)
{
	answer_send(a, text, strlen(text));
}

/* -- streams ----------------------------------------------------------------
 */

static struct answer
open_stream(const char *lines)
{
	struct answer a = answer_open();

	send_text(&a, "POST /v1/runs/A/exec HTTP/1.1\r\nHost: x\r\n" BEARER
		      "Content-Length: 2\r\nX-Act: stream\r\n");
	send_text(&a, lines);
	send_text(&a, "\r\n{}");
	if (!answer_await(&a, ": ok\n\n"))
		fail_msg("no stream: %s", a.raw.data);
	return a;
}

/* Have the stream's worker send event n, and expect it. */
static void
tick(struct answer *a, char n)
{
	char event[32];

	(void)snprintf(event, sizeof(event), "data: %d\n\n", n);
	assert_int_equal(send(front.tickets, &n, 1, 0), 1);
	if (!answer_await(a, event))
		fail_msg("no event %d: %s", n, a->raw.data);
}

/* Have it end, and expect the last chunk of chunked coding. */
static void
end_stream(struct answer *a)
{
	assert_int_equal(send(front.tickets, "", 1, 0), 1);
	assert_true(answer_await(a, "\r\n0\r\n\r\n"));
}

/* An event is only made when the one before was read: held back, none would
 * come. */
static void
events_arrive_as_they_are_made(void **state)
{
	ANSWER_AUTO a = open_stream("Accept-Encoding: gzip, br\r\n");

	(void)state;
	assert_null(answer_header(&a, "Content-Encoding"));
	for (char n = 1; n <= 20; n++)
		tick(&a, n);
	end_stream(&a);
}

static void
the_worker_learns_that_a_client_left(void **state)
{
	size_t before = front_logged("gone");

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct answer a = i == 0 ? open_stream("") : answer_open();

		if (i == 1) {
			send_text(&a,
			    "GET /v1/silent HTTP/1.1\r\nHost: x\r\n" BEARER
			    "X-Act: hang\r\n\r\n");
			wait_until(
			    front_logged("/v1/silent") > 0, FRONT_WAIT_MS);
		}
		answer_release(&a);
		wait_until(front_logged("gone") == before + 1 + (size_t)i,
		    FRONT_WAIT_MS);
	}
}

static void
a_client_that_reads_nothing_stops_the_worker_not_nginx(void **state)
{
	struct answer a = answer_open();

	(void)state;
	send_text(&a, "GET /v1/runs/A/files/big HTTP/1.1\r\nHost: x\r\n" BEARER
		      "Connection: close\r\nX-Act: large\r\n\r\n");
	assert_true(answer_await(&a, "\r\n\r\n"));
	/* Others are served meanwhile. */
	ANSWER_AUTO other = front_ask("GET", "/v1/runs", "");
	assert_int_equal(other.status, 200);
	assert_true(answer_await(&a, NULL));
	assert_true(a.raw.size > RESPONDER_LARGE);
	answer_release(&a);
}

/* -- reload and rotation ----------------------------------------------------
 */

static int
status_with(const char *token)
{
	char line[128];

	(void)snprintf(
	    line, sizeof(line), "Authorization: Bearer %s\r\n", token);
	ANSWER_AUTO a = front_ask_bare("GET", "/v1/runs", line);
	return a.status;
}

/* The first line of the token file. */
static void
read_token(char *to, size_t room)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/token", front.dir);
	char *text = fd_read_file(path, 4096, NULL, &e);
	assert_non_null(text);
	(void)snprintf(to, room, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

static void
an_edited_token_file_is_taken(void **state)
{
	char path[128];
	struct err e = ERR_INIT;
	const char text[] = FRONT_TOKEN "\nthird-token\nsecond-token\n";

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/token", front.dir);
	assert_int_equal(status_with("third-token"), 401);
	check_ok(fd_write_file(path, 0600, text, strlen(text), &e), &e);
	assert_int_equal(front_command("token", "reload"), 0);
	assert_int_equal(status_with("third-token"), 200);
	/* One that nginx could not take changes nothing. */
	check_ok(fd_write_file(path, 0600, "a b\n", 4, &e), &e);
	assert_int_not_equal(front_command("token", "reload"), 0);
	assert_int_equal(status_with("third-token"), 200);
	check_ok(fd_write_file(path, 0600, text, strlen(text), &e), &e);
}

static void
a_token_is_rotated_under_a_stream(void **state)
{
	ANSWER_AUTO a = open_stream("");
	char fresh[128];

	(void)state;
	tick(&a, 1);
	assert_int_equal(front_command("token", "rotate"), 0);
	read_token(fresh, sizeof(fresh));
	assert_int_equal(strlen(fresh), 64);
	assert_int_equal(status_with(fresh), 200);
	assert_int_equal(status_with(FRONT_TOKEN), 200);
	assert_int_equal(status_with("second-token"), 200);
	tick(&a, 2);
	assert_int_equal(front_command("token", "drop-old"), 0);
	assert_int_equal(status_with(fresh), 200);
	assert_int_equal(status_with(FRONT_TOKEN), 401);
	assert_int_equal(status_with("second-token"), 401);
	assert_int_not_equal(front_command("token", "drop-old"), 0);
	tick(&a, 3);
	end_stream(&a);
}

/* -- bodies -----------------------------------------------------------------
 */

static void
an_upload_streams_through_and_may_be_slow(void **state)
{
	ANSWER_AUTO a = answer_open();

	(void)state;
	send_text(&a, "PUT /v1/runs/A/files/slow HTTP/1.1\r\nHost: x\r\n" BEARER
		      "Connection: close\r\nTransfer-Encoding: chunked\r\n"
		      "\r\n5\r\nhello\r\n");
	/* The worker has it before the rest is sent. */
	wait_until(front_logged("first 5") == 1, FRONT_WAIT_MS);
	send_text(&a, "6\r\n world\r\n0\r\n\r\n");
	assert_true(answer_await(&a, NULL));
	assert_true(answer_has(&a, "\nbody=11\n"));
}

/* Send a body of that size, chunked or not; the answer. */
static struct answer
upload(size_t size, bool chunked, const char *lines)
{
	struct answer a = answer_open();
	BUF_AUTO text = BUF_INIT(64 << 20);

	buf_adds(&text, "POST /v1/runs HTTP/1.1\r\nHost: x\r\n" BEARER
			"Connection: close\r\n");
	buf_adds(&text, lines);
	if (chunked)
		buf_addf(
		    &text, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", size);
	else
		buf_addf(&text, "Content-Length: %zu\r\n\r\n", size);
	char *body = buf_grow(&text, size);
	assert_non_null(body);
	memset(body, ' ', size);
	text.size += size;
	if (chunked)
		buf_adds(&text, "\r\n0\r\n\r\n");
	answer_send(&a, text.data, text.size);
	assert_true(answer_await(&a, NULL));
	return a;
}

static void
a_body_up_to_the_limit_reaches_the_worker(void **state)
{
	char line[64];
	size_t limit = (size_t)FRONT_UPLOAD_MB << 20;

	(void)state;
	(void)snprintf(line, sizeof(line), "\nbody=%zu\n", limit);
	for (int chunked = 0; chunked < 2; chunked++) {
		ANSWER_AUTO a = upload(limit, chunked == 1, "");
		ANSWER_AUTO b = upload(limit + 1, chunked == 1, "");

		assert_int_equal(a.status, 200);
		assert_true(answer_has(&a, line));
		check_problem(
		    &b, 413, "content-too-large", "content_too_large");
	}
}

static void
an_answer_before_the_body_was_read_arrives(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		ANSWER_AUTO a =
		    upload(2 << 20, i % 2 == 1, "X-Act: ignore\r\n");

		assert_int_equal(a.status, 200);
		assert_true(answer_has(&a, "\nbody=0\n"));
	}
}

/* -- smuggling (FACTS A) ----------------------------------------------------
 */

#define BLOCK 128 /* a forged request, and how far apart they stand */

static size_t
put_record(unsigned char *to, int type, const void *bytes, size_t size)
{
	const unsigned char head[8] = {
	    1, (unsigned char)type, 0, 1, 0, (unsigned char)size, 0, 0};

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), bytes, size);
	return sizeof(head) + size;
}

/* BEGIN_REQUEST, PARAMS with a target that no token opened, STDIN. */
static void
forge(unsigned char to[BLOCK])
{
	const char begin[8] = {0, 1, 1};
	const char params[] = "\x0b\x0cREQUEST_URI/forged/path"
			      "\x0e\x04REQUEST_METHODEVIL";
	size_t size = 0;

	memset(to, 0, BLOCK);
	size += put_record(to, 1, begin, sizeof(begin));
	size += put_record(to + size, 4, params, sizeof(params) - 1);
	size += put_record(to + size, 4, "", 0);
	size += put_record(to + size, 5, "", 0);
	assert_true(size <= BLOCK);
	/* The rest of the block is the padding of that last record. */
	to[size - 2] = (unsigned char)(BLOCK - size);
}

/* Send bodies of forged requests, moved on by a byte each time, to a worker
 * that does not read them. Where it reads on, it does so at one of these
 * places, with luck: nginx pads what it passes on as it pleases. */
static void
smuggle(void)
{
	for (size_t shift = 0; shift < BLOCK; shift++) {
		BUF_AUTO text = BUF_INIT(256 * 1024);
		unsigned char block[BLOCK];

		forge(block);
		buf_addf(&text,
		    "POST /v1/runs HTTP/1.1\r\nHost: x\r\n" BEARER
		    "X-Act: ignore\r\nContent-Length: %d\r\n\r\n",
		    256 * BLOCK);
		buf_add(&text, block + BLOCK - shift, shift);
		for (int i = 0; i < 255; i++)
			buf_add(&text, block, BLOCK);
		buf_add(&text, block, BLOCK - shift);
		struct answer a = answer_open();
		answer_send(&a, text.data, text.size);
		(void)answer_await(&a, "\ntarget=/v1/runs\n");
		answer_release(&a);
	}
}

static void
a_forged_fastcgi_request_in_a_body_is_never_run(void **state)
{
	(void)state;
	size_t before = front_logged("POST /v1/runs");
	smuggle();
	assert_int_equal(front_logged("POST /v1/runs"), before + BLOCK);
	assert_int_equal(front_logged("/forged/path"), 0);
}

static int
open_front_that_keeps(void **state)
{
	(void)state;
	front_open((const char *[]){
	    "fastcgi_keep_conn off", "fastcgi_keep_conn on", NULL});
	return 0;
}

/* That the test above can see it. */
static void
a_forged_request_runs_where_connections_are_kept(void **state)
{
	(void)state;
	wait_until(
	    (smuggle(), front_logged("EVIL /forged/path") > 0), FRONT_WAIT_MS);
}

int
main(void)
{
	const struct CMUnitTest product[] = {
	    cmocka_unit_test(events_arrive_as_they_are_made),
	    cmocka_unit_test(the_worker_learns_that_a_client_left),
	    cmocka_unit_test(
		a_client_that_reads_nothing_stops_the_worker_not_nginx),
	    cmocka_unit_test(an_upload_streams_through_and_may_be_slow),
	    cmocka_unit_test(a_body_up_to_the_limit_reaches_the_worker),
	    cmocka_unit_test(an_answer_before_the_body_was_read_arrives),
	    cmocka_unit_test(a_forged_fastcgi_request_in_a_body_is_never_run),
	    cmocka_unit_test(an_edited_token_file_is_taken),
	    cmocka_unit_test(a_token_is_rotated_under_a_stream),
	};
	const struct CMUnitTest kept[] = {
	    cmocka_unit_test(a_forged_request_runs_where_connections_are_kept),
	};
	int failed = cmocka_run_group_tests_name(
	    "nginx", product, open_front, close_front);

	return failed + cmocka_run_group_tests_name("nginx, keeping", kept,
			    open_front_that_keeps, close_front);
}
