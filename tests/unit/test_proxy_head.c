/* proxy/head: requests, as a proxy must read them and send them on. */
#include "../../proxy/head.h"
#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST "Host: a.test\r\n"
#define END "\r\n"
#define GET "GET http://a.test/ HTTP/1.1\r\n"
#define GET_HOST GET HOST
#define CONNECT "CONNECT a.test:443 HTTP/1.1\r\n" HOST

static struct head head;
static struct head_fault fault;
static size_t used;

/* Of an exact copy on the heap, so that a sanitizer sees a read beyond it. What
 * it leaves in head points there until the next one. */
static int
request(const char *bytes, size_t size)
{
	static char *copy;

	free(copy);
	copy = malloc(size > 0 ? size : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	used = 0;
	fault = (struct head_fault){0};
	return head_request(copy, size, &head, &used, &fault);
}

/* Every shorter part of what is whole wants more bytes, or is refused alike. */
static void
check_parts(const char *bytes, size_t size, int status)
{
	for (size_t part = 0; part < size; part++) {
		int rc = request(bytes, part);

		if (rc == 1 || (rc == -1 && fault.status != status))
			fail_msg("%zu bytes of %s: %d, %d %s", part, bytes, rc,
			    fault.status, fault.why);
	}
}

static void
reads(const char *bytes)
{
	int rc;

	check_parts(bytes, strlen(bytes), -1);
	rc = request(bytes, strlen(bytes));
	if (rc != 1)
		fail_msg("%s: %d, %d %s", bytes, rc, fault.status, fault.why);
	assert_int_equal(used, strlen(bytes));
}

static void
refuses_bytes(int status, const char *bytes, size_t size)
{
	int rc;

	check_parts(bytes, size, status);
	rc = request(bytes, size);
	if (rc != -1 || fault.status != status)
		fail_msg("%s: %d, %d %s", bytes, rc, fault.status, fault.why);
	assert_true(strlen(fault.why) > 10);
	assert_int_equal(fault.why[strlen(fault.why) - 1], '.');
}

static void
refuses(int status, const char *bytes)
{
	refuses_bytes(status, bytes, strlen(bytes));
}

static void
refuses_all(int status, const char *const *bytes)
{
	for (; *bytes != NULL; bytes++)
		refuses(status, *bytes);
}

/* What the request in head becomes for the origin. */
static void
becomes(const char *want, bool keep)
{
	BUF_AUTO out = BUF_INIT(HEAD_MAX * 2);

	head_put_request(&out, &head, keep);
	assert_string_equal(out.data, want);
}

static void
the_host_and_port_come_from_the_target(void **state)
{
	static const struct {
		const char *target, *host;
		int port;
		const char *path;
	} rows[] = {
	    {"http://a.test/", "a.test", 80, "/"},
	    {"http://a.test", "a.test", 80, ""},
	    {"http://a.test?q=1", "a.test", 80, "?q=1"},
	    {"http://a.test:8080/x?y=/z", "a.test", 8080, "/x?y=/z"},
	    {"HTTP://A.Test.:00080/", "a.test", 80, "/"},
	    {"http://a_b.test//x/../%2e", "a_b.test", 80, "//x/../%2e"},
	    {"http://a.test/@x:1", "a.test", 80, "/@x:1"},
	    {"http://[2001:DB8::1]:81/", "[2001:db8::1]", 81, "/"},
	    {"http://[2001:db8::1]/", "[2001:db8::1]", 80, "/"},
	    {"http://192.0.2.1/", "192.0.2.1", 80, "/"},
	    {"http://a.test:65535/", "a.test", 65535, "/"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(text, sizeof(text),
		    "GET %s HTTP/1.1\r\n" HOST END, rows[i].target);
		reads(text);
		assert_false(head.connect);
		assert_int_equal(head.port, rows[i].port);
		assert_int_equal(head.path.size, strlen(rows[i].path));
		assert_memory_equal(head.path.at, rows[i].path, head.path.size);
		allow_host_format(&head.host, text);
		assert_string_equal(text, rows[i].host);
	}
}

static void
connect_takes_a_host_and_a_port(void **state)
{
	(void)state;
	reads(CONNECT END);
	assert_true(head.connect);
	assert_string_equal(head.host.name, "a.test");
	assert_int_equal(head.port, 443);
	assert_int_equal(head.body, BODY_NONE);
	reads("CONNECT [2001:db8::1]:22 HTTP/1.0\r\n\r\n");
	assert_true(head.host.is_address);
	assert_int_equal(head.port, 22);
	reads(CONNECT "Content-Length: 0\r\n\r\n");
}

static const struct {
	const char *method, *target;
	int status;
	const char *why;
} bad_targets[] = {
    {"GET", "/", 400, "This is a proxy"},
    {"OPTIONS", "*", 400, "This is a proxy"},
    {"GET", "https://a.test/", 501, "CONNECT"},
    {"GET", "HTTPS://a.test/", 501, "CONNECT"},
    {"GET", "ftp://a.test/", 501, "no other scheme"},
    {"GET", "file:///etc/passwd", 501, "no other scheme"},
    {"GET", "a.test:80", 400, "neither"},
    {"GET", "a.test", 400, "neither"},
    {"GET", "http:/a.test/", 400, "neither"},
    {"GET", "http:a.test/", 400, "neither"},
    {"GET", "http:\\\\a.test/", 400, "neither"},
    {"GET", "http://", 400, "is empty"},
    {"GET", "http:///x", 400, "is empty"},
    {"GET", "http://:80/", 400, "is empty"},
    {"GET", "http://a.test/#x", 400, "fragment"},
    {"GET", "http://a.test#@b.test/", 400, "fragment"},
    {"GET", "http://u@a.test/", 400, "user name"},
    {"GET", "http://u:p@a.test:80/", 400, "user name"},
    {"GET", "http://a.test@b.test/", 400, "user name"},
    {"GET", "http://@a.test/", 400, "user name"},
    {"GET", "http://a.test:/", 400, "port"},
    {"GET", "http://a.test:0/", 400, "port"},
    {"GET", "http://a.test:65536/", 400, "port"},
    {"GET", "http://a.test:000080/", 400, "port"},
    {"GET", "http://a.test:+80/", 400, "port"},
    {"GET", "http://a.test:80:80/", 400, "port"},
    {"GET", "http://a.test:80x/", 400, "port"},
    {"GET", "http://a.test\\@b.test/", 400, "user name"},
    {"GET", "http://a.test\\.b.test/", 400, "character"},
    {"GET", "http://a.test;b.test/", 400, "character"},
    {"GET", "http://a%2etest/", 400, "character"},
    {"GET", "http://a.test%00.b.test/", 400, "character"},
    {"GET", "http://a.test../", 400, "empty label"},
    {"GET", "http://.a.test/", 400, "empty label"},
    {"GET", "http://-a.test/", 400, "'-'"},
    {"GET", "http://*.test/", 400, "character"},
    {"GET", "http://2130706433/", 400, "ends in a number"},
    {"GET", "http://0x7f.1/", 400, "ends in a number"},
    {"GET", "http://0177.0.0.1/", 400, "ends in a number"},
    {"GET", "http://127.1/", 400, "ends in a number"},
    {"GET", "http://a.0x7f/", 400, "ends in a number"},
    {"GET", "http://[a.test]/", 400, "IPv6"},
    {"GET", "http://[::1/", 400, "malformed"},
    {"GET", "http://[::1]x/", 400, "malformed"},
    {"GET", "http://[::1.]/", 400, "malformed"},
    {"GET", "http://[::1]:80:80/", 400, "port"},
    {"GET", "http://[::1][::2]/", 400, "port"},
    {"GET", "http://[fe80::1%25eth0]/", 400, "IPv6"},
    {"GET", "http://::1/", 400, "port"},
    {"GET", "http://a.test/\xc3\xa9", 400, "xn--"},
    {"GET", "http://\xf0\x9f\x94\x90.test/", 400, "xn--"},
    {"GET", "http://a.test/\tx", 400, "no URI"},
    {"CONNECT", "a.test", 400, "needs a port"},
    {"CONNECT", "a.test:", 400, "port"},
    {"CONNECT", "a.test:0", 400, "port"},
    {"CONNECT", "a.test:65536", 400, "port"},
    {"CONNECT", "a.test:443/", 400, "port"},
    {"CONNECT", "a.test/x:443", 400, "character"},
    {"CONNECT", "a.test:443?x", 400, "port"},
    {"CONNECT", "a.test:443#x", 400, "port"},
    {"CONNECT", "u@a.test:443", 400, "user name"},
    {"CONNECT", "http://a.test:443", 400, "port"},
    {"CONNECT", ":443", 400, "is empty"},
    {"CONNECT", "/", 400, "character"},
    {"CONNECT", "*", 400, "character"},
    {"CONNECT", "[::1]", 400, "needs a port"},
    {"CONNECT", "::1:443", 400, "port"},
    {"CONNECT", "[a.test]:443", 400, "IPv6"},
    {"CONNECT", "a.test:443:443", 400, "port"},
    {"CONNECT", "a.test:-443", 400, "port"},
};

static void
other_targets_are_refused_with_a_sentence(void **state)
{
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bad_targets) / sizeof(bad_targets[0]);
	     i++) {
		(void)snprintf(text, sizeof(text),
		    "%s %s HTTP/1.1\r\n" HOST END, bad_targets[i].method,
		    bad_targets[i].target);
		refuses(bad_targets[i].status, text);
		if (strstr(fault.why, bad_targets[i].why) == NULL)
			fail_msg("%s: %s", text, fault.why);
	}
}

static void
request_lines_have_exactly_three_parts(void **state)
{
	static const char *const bad[] = {
	    "GET http://a.test/\r\n",
	    "GET\r\n",
	    "GET  http://a.test/ HTTP/1.1\r\n",
	    "GET http://a.test/  HTTP/1.1\r\n",
	    "GET http://a.test/ HTTP/1.1 \r\n",
	    " GET http://a.test/ HTTP/1.1\r\n",
	    "GET\thttp://a.test/\tHTTP/1.1\r\n",
	    "GET http://a.test/ b HTTP/1.1\r\n",
	    "GET http://a.test/ HTTP/1\r\n",
	    "GET http://a.test/ HTTP/1.10\r\n",
	    "GET http://a.test/ HTTP/01.1\r\n",
	    "GET http://a.test/ http/1.1\r\n",
	    "GET http://a.test/ HTTP/1,1\r\n",
	    "GET http://a.test/ HTTPS/1.1\r\n",
	    "GET http://a.test/ HTTP/ 1.1\r\n",
	    "G(T http://a.test/ HTTP/1.1\r\n",
	    "G\xc3\x89T http://a.test/ HTTP/1.1\r\n",
	    ": http://a.test/ HTTP/1.1\r\n",
	    "\r\n\r\n\r\n",
	    "\x16\x03\x01",
	    "\n",
	    "GET http://a.test/ HTTP/1.1\n",
	    "GET http://a.test/ HTTP/1.1\rX",
	    NULL,
	};

	(void)state;
	refuses_all(400, bad);
	refuses(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	refuses(505, "GET http://a.test/ HTTP/1.2\r\n");
	refuses(505, "GET http://a.test/ HTTP/0.9\r\n");
	reads("\r\n\r\n" GET_HOST END);
}

static void
field_lines_are_taken_to_the_letter(void **state)
{
	static const char *const bad[] = {
	    GET " Host: a.test\r\n",
	    GET "\tHost: a.test\r\n",
	    GET_HOST " X: y\r\n",
	    GET_HOST "X: y\r\n z\r\n",
	    GET_HOST "X: y\r\n\tz\r\n",
	    GET_HOST " \r\n",
	    GET_HOST "X : y\r\n",
	    GET_HOST "X\t: y\r\n",
	    GET_HOST "X y: z\r\n",
	    GET_HOST ": y\r\n",
	    GET_HOST ":\r\n",
	    GET_HOST "X\r\n",
	    GET_HOST "X;y: z\r\n",
	    GET_HOST "X(y): z\r\n",
	    GET_HOST "\xc3\x89: z\r\n",
	    GET_HOST "\"X\": z\r\n",
	    GET_HOST "X: y\n",
	    GET_HOST "X: y\r\r\n",
	    GET_HOST "X: y\rz: a\r\n",
	    GET_HOST "X: y\x01\r\n",
	    GET_HOST "X: y\x0b\r\n",
	    GET_HOST "X: \x7f\r\n",
	    GET_HOST "\n",
	    GET_HOST "\rX",
	    NULL,
	};

	(void)state;
	refuses_all(400, bad);
	refuses_bytes(400, GET_HOST "X: y\0z\r\n\r\n",
	    sizeof(GET_HOST "X: y\0z\r\n\r\n") - 1);
	reads(GET_HOST
	    "X:\r\nY: \t a\tb \t\r\nZ:\xc3\xa9\r\n!#$%&'*+-.^_`|~:1\r\n"
	    "\r\n");
	assert_int_equal(head.count, 5);
	assert_int_equal(head_find(&head, "x")->size, 0);
	assert_int_equal(head_find(&head, "y")->size, 3);
	assert_memory_equal(head_find(&head, "Y")->at, "a\tb", 3);
	assert_null(head_find(&head, "HostX"));
}

static void
there_is_exactly_one_valid_host_field(void **state)
{
	static const char *const bad[] = {
	    GET END,
	    CONNECT HOST END,
	    GET_HOST HOST END,
	    GET_HOST "host: b.test\r\n\r\n",
	    GET "Host:\r\n\r\n",
	    GET "Host: a b\r\n\r\n",
	    GET "Host: a.test, b.test\r\n\r\n",
	    GET "Host: http://a.test\r\n\r\n",
	    GET "Host: a.test/\r\n\r\n",
	    GET "Host: u@a.test\r\n\r\n",
	    GET "Host: a.test:\r\n\r\n",
	    GET "Host: a.test:99999\r\n\r\n",
	    GET "Host: a.test:80 b\r\n\r\n",
	    GET "Host: ::1\r\n\r\n",
	    GET "Host: 0x7f.1\r\n\r\n",
	    GET "Host: \xc3\xa9.test\r\n\r\n",
	    "GET http://a.test/ HTTP/1.0\r\n" HOST HOST END,
	    NULL,
	};

	(void)state;
	refuses_all(400, bad);
	reads("GET http://a.test/ HTTP/1.0\r\n\r\n");
	/* RFC 9112 3.2.2: what it says does not count. */
	reads(GET "Host: b.test:81\r\n\r\n");
	assert_string_equal(head.host.name, "a.test");
	becomes(
	    "GET / HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 sandbox\r\n\r\n", true);
}

static void
ambiguous_framing_is_refused(void **state)
{
	static const char *const bad[] = {
	    "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "Transfer-Encoding: chunked\r\ncontent-length: 0\r\n\r\n",
	    "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
	    "Content-Length: 5\r\ncontent-length: 5\r\n\r\n",
	    "Content-Length: 5, 5\r\n\r\n",
	    "Content-Length: +5\r\n\r\n",
	    "Content-Length: -1\r\n\r\n",
	    "Content-Length: 0x5\r\n\r\n",
	    "Content-Length: 5 5\r\n\r\n",
	    "Content-Length: 5;\r\n\r\n",
	    "Content-Length: five\r\n\r\n",
	    "Content-Length:\r\n\r\n",
	    "Content-Length: 5.0\r\n\r\n",
	    "Content-Length: \"5\"\r\n\r\n",
	    "Content-Length: 9223372036854775808\r\n\r\n",
	    "Content-Length: 18446744073709551617\r\n\r\n",
	    "Content-Length: 00000000000000000005\r\n\r\n",
	    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	    "Transfer-Encoding: chunked\r\ntransfer-encoding: gzip\r\n\r\n",
	    "Transfer-Encoding: chunked, chunked\r\n\r\n",
	    "Transfer-Encoding: chunked, gzip\r\n\r\n",
	    "Transfer-Encoding: identity\r\n\r\n",
	    "Transfer-Encoding: gzip\r\n\r\n",
	    "Transfer-Encoding: xchunked\r\n\r\n",
	    "Transfer-Encoding: chunkedx\r\n\r\n",
	    "Transfer-Encoding: \"chunked\"\r\n\r\n",
	    "Transfer-Encoding: chunked;q=1\r\n\r\n",
	    "Transfer-Encoding: ,chunked\r\n\r\n",
	    "Transfer-Encoding: chunked,\r\n\r\n",
	    "Transfer-Encoding: chu nked\r\n\r\n",
	    "Transfer-Encoding:\r\n\r\n",
	    "Transfer-Encoding: \x0b"
	    "chunked\r\n\r\n",
	    "Transfer-Encoding : chunked\r\n\r\n",
	    "Transfer-Encoding\t: chunked\r\n\r\n",
	    "X: y\r\n Transfer-Encoding: chunked\r\n\r\n",
	    NULL,
	};
	char text[512];

	(void)state;
	for (size_t i = 0; bad[i] != NULL; i++) {
		(void)snprintf(text, sizeof(text),
		    "POST http://a.test/ HTTP/1.1\r\n" HOST "%s", bad[i]);
		refuses(400, text);
		(void)snprintf(text, sizeof(text), CONNECT "%s", bad[i]);
		refuses(400, text);
	}
	refuses(501, GET_HOST "Transfer-Encoding: gzip, chunked\r\n\r\n");
	refuses(400, "POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: "
		     "chunked\r\n\r\n");
	refuses(400, CONNECT "Content-Length: 1\r\n\r\n");
	refuses(400, CONNECT "Transfer-Encoding: chunked\r\n\r\n");
}

static void
the_body_follows_from_the_framing(void **state)
{
	(void)state;
	reads(GET_HOST END);
	assert_int_equal(head.body, BODY_NONE);
	reads(GET_HOST "Content-Length: 0\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	becomes("GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n"
		"Via: 1.1 sandbox\r\nConnection: close\r\n\r\n",
	    false);
	reads(GET_HOST "content-length:\t007 \r\n\r\n");
	assert_int_equal(head.body, BODY_LENGTH);
	assert_int_equal(head.length, 7);
	becomes("GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 7\r\n"
		"Via: 1.1 sandbox\r\n\r\n",
	    true);
	reads(GET_HOST "Content-Length: 9223372036854775807\r\n\r\n");
	assert_true(head.length == INT64_MAX);
	reads(GET_HOST "transfer-encoding: ChUnKeD\r\n\r\n");
	assert_int_equal(head.body, BODY_CHUNKED);
	becomes("GET / HTTP/1.1\r\nHost: a.test\r\n"
		"Transfer-Encoding: chunked\r\nVia: 1.1 sandbox\r\n\r\n",
	    true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_host_and_port_come_from_the_target),
	    cmocka_unit_test(connect_takes_a_host_and_a_port),
	    cmocka_unit_test(other_targets_are_refused_with_a_sentence),
	    cmocka_unit_test(request_lines_have_exactly_three_parts),
	    cmocka_unit_test(field_lines_are_taken_to_the_letter),
	    cmocka_unit_test(there_is_exactly_one_valid_host_field),
	    cmocka_unit_test(ambiguous_framing_is_refused),
	    cmocka_unit_test(the_body_follows_from_the_framing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
