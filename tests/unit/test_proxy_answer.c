/* proxy/head: answers, as a proxy must read them and send them on. */
#include "../../proxy/head.h"
#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK "HTTP/1.1 200 OK\r\n"
#define VIA "Via: 1.1 sandbox\r\n"
#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"
#define WEBSOCKET "Connection: Upgrade\r\nUpgrade: websocket\r\n"

static const struct slice get = {"GET", 3};
static const struct slice head_method = {"HEAD", 4};

static struct head head;
static struct head_fault fault;
static size_t used;

static void
reads_to(const struct slice *to, bool asked, const char *bytes)
{
	int rc;

	for (size_t part = 0; part < strlen(bytes); part++)
		assert_int_equal(
		    head_answer(bytes, part, to, asked, &head, &used, &fault),
		    0);
	rc = head_answer(bytes, strlen(bytes), to, asked, &head, &used, &fault);
	if (rc != 1)
		fail_msg("%s: %d, %d %s", bytes, rc, fault.status, fault.why);
	assert_int_equal(used, strlen(bytes));
}

static void
reads(const char *bytes)
{
	reads_to(&get, false, bytes);
}

static void
refuses_to(bool asked, const char *bytes)
{
	int rc = head_answer(
	    bytes, strlen(bytes), &get, asked, &head, &used, &fault);

	if (rc != -1 || fault.status != 502)
		fail_msg("%s: %d, %d %s", bytes, rc, fault.status, fault.why);
	assert_int_equal(fault.why[strlen(fault.why) - 1], '.');
}

static void
becomes(const char *want, bool keep)
{
	BUF_AUTO out = BUF_INIT(HEAD_MAX * 2);

	head_put_answer(&out, &head, keep);
	assert_string_equal(out.data, want);
}

static void
status_lines_are_taken_to_the_letter(void **state)
{
	static const char *const bad[] = {
	    "<html>",
	    "SSH-2.0-x\r\n",
	    "\r\n" OK "\r\n",
	    " " OK "\r\n",
	    "HTTP/0.9 200 OK\r\n",
	    "HTTP/2.0 200 OK\r\n",
	    "HTTP/1.2 200 OK\r\n",
	    "http/1.1 200 OK\r\n",
	    "ICY 200 OK\r\n",
	    "HTTP/1.1\r\n",
	    "HTTP/1.1 \r\n",
	    "HTTP/1.1  200 OK\r\n",
	    "HTTP/1.1\t200 OK\r\n",
	    "HTTP/1.1 099 OK\r\n",
	    "HTTP/1.1 600 OK\r\n",
	    "HTTP/1.1 20 OK\r\n",
	    "HTTP/1.1 2000 OK\r\n",
	    "HTTP/1.1 200OK\r\n",
	    "HTTP/1.1 +20 OK\r\n",
	    "HTTP/1.1 2x0 OK\r\n",
	    "HTTP/1.1 200 O\x01K\r\n",
	    "HTTP/1.1 200 OK\n",
	    "HTTP/1.1 200 OK\rX",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[128];

		/* At once: who speaks no HTTP sends no line. */
		if (strstr(bad[i], "\r\n") == NULL)
			(void)snprintf(text, sizeof(text), "%s\r\n", bad[i]);
		else
			(void)snprintf(text, sizeof(text), "%s", bad[i]);
		refuses_to(false, text);
	}
	reads(OK "\r\n");
	assert_int_equal(head.status, 200);
	reads("HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n");
	becomes("HTTP/1.1 599 \r\nContent-Length: 0\r\n" VIA "\r\n", true);
	reads("HTTP/1.0 404 Not\tf\xc3\xbcnd \r\n\r\n");
	becomes("HTTP/1.1 404 Not\tf\xc3\xbcnd \r\nVia: 1.0 sandbox\r\n"
		"Connection: close\r\n\r\n",
	    false);
}

static void
ambiguous_framing_is_refused(void **state)
{
	static const char *const bad[] = {
	    OK "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
	    OK "Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
	    OK "Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
	    OK "Content-Length: 4, 4\r\n\r\n",
	    OK "Content-Length: -4\r\n\r\n",
	    OK "Transfer-Encoding: gzip\r\n\r\n",
	    OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
	    OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
	    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	    OK "X : y\r\n\r\n",
	    OK " X: y\r\n\r\n",
	    OK "X: y\r\n z\r\n\r\n",
	    OK "X: y\n\r\n",
	    OK "X\r\n\r\n",
	    "HTTP/1.1 304 x\r\nContent-Length: 4, 5\r\n\r\n",
	    OK "Connection: a b\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses_to(false, bad[i]);
}

static void
the_body_follows_from_status_method_and_framing(void **state)
{
	(void)state;
	reads(OK "\r\n");
	assert_int_equal(head.body, BODY_CLOSE);
	assert_false(head.keep);
	reads(OK "Content-Length: 5\r\n\r\n");
	assert_int_equal(head.body, BODY_LENGTH);
	assert_true(head.keep);
	reads(OK "Content-Length: 0\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	assert_true(head.keep);
	reads(OK "Transfer-Encoding: Chunked\r\nConnection: close\r\n\r\n");
	assert_int_equal(head.body, BODY_CHUNKED);
	assert_false(head.keep);
	reads_to(&head_method, false, OK "Content-Length: 5\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	becomes(OK "Content-Length: 5\r\n" VIA "\r\n", true);
	reads_to(&head_method, false, OK "\r\n");
	assert_int_equal(head.body, BODY_NONE);
	assert_true(head.keep);
	reads("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	becomes("HTTP/1.1 304 x\r\nContent-Length: 5\r\n" VIA "\r\n", true);
	reads("HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	assert_false(head.keep);
	becomes("HTTP/1.1 204 x\r\n" VIA "\r\n", true);
	reads("HTTP/1.1 103 x\r\nLink: y\r\n\r\n");
	assert_int_equal(head.body, BODY_NONE);
	assert_true(head.keep);
	reads("HTTP/1.0 200 x\r\nConnection: keep-alive\r\n"
	      "Content-Length: 5\r\n\r\n");
	assert_false(head.keep);
}

static void
protocols_change_only_where_it_was_asked(void **state)
{
	(void)state;
	reads_to(&get, true, SWITCH WEBSOCKET "\r\n");
	assert_true(head.upgrade);
	assert_int_equal(head.body, BODY_NONE);
	becomes(SWITCH "Upgrade: websocket\r\n" VIA
		       "Connection: upgrade\r\n\r\n",
	    false);
	refuses_to(false, SWITCH WEBSOCKET "\r\n");
	refuses_to(true, SWITCH "\r\n");
	refuses_to(true, SWITCH "Upgrade: websocket\r\n\r\n");
	refuses_to(true, SWITCH WEBSOCKET "Content-Length: 5\r\n\r\n");
	reads_to(&get, true, OK WEBSOCKET "Content-Length: 0\r\n\r\n");
	assert_false(head.upgrade);
	becomes(OK "Content-Length: 0\r\n" VIA "\r\n", true);
}

static void
hop_by_hop_fields_stay_here(void **state)
{
	(void)state;
	reads(OK "Connection: X-One, Content-Length\r\nX-One: 1\r\n"
		 "Content-Length: 5\r\nKeep-Alive: timeout=5\r\n"
		 "Proxy-Authenticate: Basic\r\nVia: 1.1 x\r\n"
		 "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n");
	becomes(OK "Via: 1.1 x\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n"
		   "Content-Length: 5\r\n" VIA "Connection: close\r\n\r\n",
	    false);
	/* For a client that knows no chunks. */
	reads(OK "Transfer-Encoding: chunked\r\n\r\n");
	head.body = BODY_CLOSE;
	becomes(OK VIA "Connection: close\r\n\r\n", false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(status_lines_are_taken_to_the_letter),
	    cmocka_unit_test(ambiguous_framing_is_refused),
	    cmocka_unit_test(the_body_follows_from_status_method_and_framing),
	    cmocka_unit_test(protocols_change_only_where_it_was_asked),
	    cmocka_unit_test(hop_by_hop_fields_stay_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
