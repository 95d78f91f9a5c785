/* proxy/head: what stays on this connection, what goes on, and how much. */
#include "../../proxy/head.h"
#include "../check.h"
#include "lib/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "Host: a.test\r\n"
#define END "\r\n"
#define GET_HOST "GET http://a.test/ HTTP/1.1\r\n" HOST
#define OLD "GET http://a.test/ HTTP/1.0\r\n"
#define SENT "GET / HTTP/1.1\r\n" HOST
#define VIA "Via: 1.1 sandbox\r\n"

static struct head head;
static struct head_fault fault;
static size_t used;

static void
reads(const char *bytes)
{
	if (head_request(bytes, strlen(bytes), &head, &used, &fault) != 1)
		fail_msg("%s: %d %s", bytes, fault.status, fault.why);
	assert_int_equal(used, strlen(bytes));
}

static void
refuses(int status, const char *bytes)
{
	int rc = head_request(bytes, strlen(bytes), &head, &used, &fault);

	if (rc != -1 || fault.status != status)
		fail_msg("%s: %d, %d %s", bytes, rc, fault.status, fault.why);
}

static void
becomes(const char *bytes, const char *want)
{
	BUF_AUTO out = BUF_INIT(HEAD_MAX * 2);

	reads(bytes);
	head_put_request(&out, &head, true);
	assert_string_equal(out.data, want);
}

static void
hop_by_hop_fields_stay_here(void **state)
{
	(void)state;
	becomes(GET_HOST "Accept: */*\r\nProxy-Connection: keep-alive\r\n"
			 "Proxy-Authorization: Basic eDp5\r\nTE: trailers\r\n"
			 "Keep-Alive: timeout=5\r\nTrailer: X-Sum\r\n"
			 "HTTP2-Settings: AAMA\r\nX:\t y \r\n\r\n",
	    SENT "Accept: */*\r\nTrailer: X-Sum\r\nX: y\r\n" VIA END);
	becomes(GET_HOST "Connection: X-One, ,x-two,,TE\r\n"
			 "X-ONE: 1\r\nX-Two: 2\r\nX-Two: 3\r\nX-Three: 4\r\n"
			 "connection: X-Three\r\n\r\n",
	    SENT VIA END);
}

static void
connection_takes_nothing_from_routing_and_framing(void **state)
{
	(void)state;
	becomes(GET_HOST "Connection: Host, Content-Length, Expect\r\n"
			 "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n",
	    SENT "Expect: 100-continue\r\nContent-Length: 3\r\n" VIA END);
	becomes(GET_HOST "Connection: close, HOST\r\n\r\n", SENT VIA END);
	becomes(GET_HOST "Connection: transfer-encoding, via\r\n"
			 "Transfer-Encoding: chunked\r\nVia: 1.1 x\r\n\r\n",
	    SENT "Transfer-Encoding: chunked\r\n" VIA END);
	becomes(GET_HOST "Via: 1.0 x\r\n\r\n", SENT "Via: 1.0 x\r\n" VIA END);
	refuses(400, GET_HOST "Connection: close; x\r\n\r\n");
	refuses(400, GET_HOST "Connection: a b\r\n\r\n");
	refuses(400, GET_HOST "Connection: \"close\"\r\n\r\n");
	refuses(400, GET_HOST "Connection: a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
			      "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a\r\n\r\n");
}

static void
a_connection_is_kept_as_its_version_says(void **state)
{
	(void)state;
	reads(GET_HOST END);
	assert_true(head.keep);
	reads(GET_HOST "Connection: keep-alive\r\n\r\n");
	assert_true(head.keep);
	reads(GET_HOST "Connection: keep-alive, CLOSE\r\n\r\n");
	assert_false(head.keep);
	reads(GET_HOST "Connection: x\r\nConnection: close\r\n\r\n");
	assert_false(head.keep);
	reads(OLD "Connection: keep-alive\r\n\r\n");
	assert_false(head.keep);
	BUF_AUTO out = BUF_INIT(HEAD_MAX);
	head_put_request(&out, &head, false);
	assert_string_equal(
	    out.data, SENT "Via: 1.0 sandbox\r\nConnection: close\r\n\r\n");
}

static void
an_upgrade_goes_on_only_where_it_can_be_done(void **state)
{
	static const char *const none[] = {
	    GET_HOST "Upgrade: websocket\r\n\r\n",
	    GET_HOST "Connection: upgrade\r\n\r\n",
	    GET_HOST "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
	    GET_HOST "Connection: upgrade\r\nUpgrade: x, H2C\r\n\r\n",
	    OLD "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	};

	(void)state;
	becomes(GET_HOST "Connection: keep-alive, Upgrade\r\n"
			 "Upgrade: websocket\r\nX: y\r\n\r\n",
	    SENT "X: y\r\nUpgrade: websocket\r\n" VIA
		 "Connection: upgrade\r\n\r\n");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		BUF_AUTO out = BUF_INIT(HEAD_MAX);

		reads(none[i]);
		assert_false(head.upgrade);
		head_put_request(&out, &head, true);
		assert_null(strcasestr(out.data, "upgrade"));
	}
	reads(GET_HOST "Connection: upgrade\r\nUpgrade: websocket\r\n"
		       "Content-Length: 1\r\n\r\n");
	assert_false(head.upgrade);
}

static void
only_100_continue_is_expected(void **state)
{
	(void)state;
	reads(GET_HOST "Content-Length: 1\r\nExpect: 100-Continue\r\n\r\n");
	assert_true(head.expect);
	reads(GET_HOST "Expect: 100-continue\r\n\r\n");
	assert_false(head.expect);
	becomes(OLD "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n",
	    SENT "Content-Length: 1\r\nVia: 1.0 sandbox\r\n\r\n");
	refuses(417, GET_HOST "Expect: 200-ok\r\n\r\n");
	refuses(417, GET_HOST "Expect: 100-continue, x=y\r\n\r\n");
	refuses(417, GET_HOST "Expect:\r\n\r\n");
	refuses(417, GET_HOST "Expect: 100-continue\r\n"
			      "Expect: 100-continue\r\n\r\n");
}

static void
methods_that_mean_something_here_are_spelled_right(void **state)
{
	(void)state;
	refuses(501, "TRACE http://a.test/ HTTP/1.1\r\n" HOST END);
	refuses(501, "trace http://a.test/ HTTP/1.1\r\n" HOST END);
	refuses(501, "head http://a.test/ HTTP/1.1\r\n" HOST END);
	refuses(501, "Connect http://a.test/ HTTP/1.1\r\n" HOST END);
	refuses(400, "connect a.test:443 HTTP/1.1\r\n" HOST END);
	becomes("get http://a.test/ HTTP/1.1\r\n" HOST END,
	    "get / HTTP/1.1\r\n" HOST VIA END);
	becomes("M-SEARCH http://a.test?x HTTP/1.1\r\n" HOST END,
	    "M-SEARCH /?x HTTP/1.1\r\n" HOST VIA END);
	becomes("PUT http://A.test.:81 HTTP/1.1\r\n" HOST END,
	    "PUT / HTTP/1.1\r\nHost: a.test:81\r\n" VIA END);
	becomes("GET http://[2001:DB8::1]:81/ HTTP/1.1\r\n" HOST END,
	    "GET / HTTP/1.1\r\nHost: [2001:db8::1]:81\r\n" VIA END);
}

static void
options_of_a_server_and_their_forwards(void **state)
{
	(void)state;
	becomes("OPTIONS http://a.test HTTP/1.1\r\n" HOST
		"Max-Forwards: 2\r\n\r\n",
	    "OPTIONS * HTTP/1.1\r\n" HOST "Max-Forwards: 1\r\n" VIA END);
	becomes("OPTIONS http://a.test/ HTTP/1.1\r\n" HOST END,
	    "OPTIONS / HTTP/1.1\r\n" HOST VIA END);
	becomes("OPTIONS http://a.test?x HTTP/1.1\r\n" HOST END,
	    "OPTIONS /?x HTTP/1.1\r\n" HOST VIA END);
	becomes(GET_HOST "Max-Forwards: x\r\n\r\n",
	    SENT "Max-Forwards: x\r\n" VIA END);
	refuses(501, "OPTIONS http://a.test/ HTTP/1.1\r\n" HOST
		     "Max-Forwards: 0\r\n\r\n");
	refuses(400, "OPTIONS http://a.test/ HTTP/1.1\r\n" HOST
		     "Max-Forwards: x\r\n\r\n");
}

/* -- limits ---------------------------------------------------------------- */

/* A head of so many bytes, for the caller to free. */
static char *
head_of(size_t size)
{
	static const char start[] = GET_HOST "X: ";
	char *text = mem_alloc(size);

	memset(text, 'x', size);
	memcpy(text, start, sizeof(start) - 1);
	memcpy(text + size - 4, "\r\n\r\n", 4);
	return text;
}

static void
heads_have_a_largest_size(void **state)
{
	char *text = head_of(HEAD_MAX);

	(void)state;
	assert_int_equal(head_request(text, HEAD_MAX, &head, &used, &fault), 1);
	assert_int_equal(
	    head_request(text, HEAD_MAX - 1, &head, &used, &fault), 0);
	free(text);
	text = head_of(HEAD_MAX + 1);
	for (size_t size = HEAD_MAX; size <= HEAD_MAX + 1; size++) {
		assert_int_equal(
		    head_request(text, size, &head, &used, &fault), -1);
		assert_int_equal(fault.status, 431);
	}
	free(text);
}

static void
request_lines_have_a_largest_size(void **state)
{
	static const char tail[] = " HTTP/1.1\r\n" HOST END;
	static const char start[] = "GET http://a.test/";
	char text[HEAD_LINE_MAX + sizeof(tail)];
	size_t end = HEAD_LINE_MAX - 9; /* of the target */

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, start, sizeof(start) - 1);
	memcpy(text + end, tail, sizeof(tail));
	assert_int_equal(
	    head_request(text, strlen(text), &head, &used, &fault), 1);
	memmove(text + 1, text, sizeof(text) - 1);
	for (size_t size = 0; size < sizeof(text) - 1; size++) {
		int rc = head_request(text, size, &head, &used, &fault);

		assert_int_equal(rc, size < HEAD_LINE_MAX + 2 ? 0 : -1);
		assert_true(rc == 0 || fault.status == 414);
	}
}

static void
heads_have_a_largest_number_of_fields(void **state)
{
	BUF_AUTO text = BUF_INIT(HEAD_MAX);

	(void)state;
	buf_adds(&text, GET_HOST);
	for (int i = 1; i < HEAD_FIELDS; i++)
		buf_adds(&text, "X: y\r\n");
	buf_adds(&text, END);
	reads(text.data);
	assert_int_equal(head.count, HEAD_FIELDS);
	text.size -= 2;
	buf_adds(&text, "X: y\r\n\r\n");
	refuses(431, text.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hop_by_hop_fields_stay_here),
	    cmocka_unit_test(connection_takes_nothing_from_routing_and_framing),
	    cmocka_unit_test(a_connection_is_kept_as_its_version_says),
	    cmocka_unit_test(an_upgrade_goes_on_only_where_it_can_be_done),
	    cmocka_unit_test(only_100_continue_is_expected),
	    cmocka_unit_test(
		methods_that_mean_something_here_are_spelled_right),
	    cmocka_unit_test(options_of_a_server_and_their_forwards),
	    cmocka_unit_test(heads_have_a_largest_size),
	    cmocka_unit_test(request_lines_have_a_largest_size),
	    cmocka_unit_test(heads_have_a_largest_number_of_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
