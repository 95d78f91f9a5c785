/* Whom the proxy reaches, and what it says where it does not. */
#include "../check.h"
#include "../wait.h"
#include "lib/str.h"
#include "proxy_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

/* One request, and all of what is answered. */
static const char *
ask(const struct proxy_fixture *f, const char *request)
{
	int fd = proxy_call(f);

	proxy_say(f, fd, request);
	const char *answer = proxy_rest(fd);
	(void)close(fd);
	return answer;
}

static void
must_be(const char *answer, const char *status, const char *text)
{
	if (!str_starts(answer, status) || strstr(answer, text) == NULL)
		fail_msg("not %s with \"%s\": %s", status, text, answer);
}

/* A plain request and a CONNECT for "HOST:PORT", the latter with bytes behind
 * it, that nobody may take for a request. */
static const char *
get_text(const char *place)
{
	static char text[512];

	(void)snprintf(text, sizeof(text),
	    "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", place, place);
	return text;
}

static const char *
connect_text(const char *place)
{
	static char text[512];

	(void)snprintf(text, sizeof(text),
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n"
	    "GET http://origin.test:$O/ HTTP/1.1\r\nHost: x\r\n\r\n",
	    place, place);
	return text;
}

static void
both_are(const struct proxy_fixture *f, const char *place, const char *status,
    const char *text)
{
	must_be(ask(f, get_text(place)), status, text);
	must_be(ask(f, connect_text(place)), status, text);
	proxy_is_quiet(f);
}

static void
what_is_admitted_is_reached(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("origin.test:$O"));
	origin = proxy_answer(&f);
	assert_true(str_starts(proxy_head(origin), "GET / HTTP/1.1\r\n"));
	proxy_say(&f, origin, OK);
	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 OK\r\n"));
	proxy_hear(fd, "hi");
	(void)close(fd);
	(void)close(origin);

	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, fd, "ping");
	proxy_hear(origin, "ping");
	proxy_say(&f, origin, "pong");
	proxy_hear(fd, "pong");
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
	proxy_stop(&f);
}

static void
what_is_not_admitted_is_told_what_would_help(void **state)
{
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, NULL, NULL);
	both_are(&f, "evil.test:8443", "HTTP/1.1 403 ", "evil.test");
	both_are(&f, "evil.test:8443", "HTTP/1.1 403 ",
	    "\"egressAllow\": [\"evil.test:8443\"]");
	both_are(&f, "evil.test:80", "HTTP/1.1 403 ",
	    "    PUT /v1/runs/{id}/egress\n");
	both_are(&f, "evil.test:80", "HTTP/1.1 403 ",
	    "SBX_EGRESS_ALLOW=evil.test\n");
	both_are(&f, "evil.test:80", "HTTP/1.1 403 ", "network:\"open\"");
	both_are(&f, "evil.test:80", "HTTP/1.1 403 ", "text/plain");
	/* That host, but not that port. */
	both_are(&f, "origin.test:1", "HTTP/1.1 403 ",
	    "\"egressAllow\": [\"origin.test:1\"]");
	both_are(&f, "[2001:db8::1]:80", "HTTP/1.1 403 ",
	    "\"egressAllow\": [\"[2001:db8::1]\"]");
	/* A name that is not admitted is asked of nobody. */
	proxy_is_unasked(&f);
	proxy_stop(&f);
}

static void
an_empty_policy_admits_nothing(void **state)
{
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, "", NULL);
	both_are(&f, "origin.test:80", "HTTP/1.1 403 ", "origin.test");
	both_are(&f, "127.0.0.1:$O", "HTTP/1.1 403 ", "127.0.0.1");
	proxy_stop(&f);
}

static void
what_cannot_be_reached_is_502(void **state)
{
	struct proxy_fixture f;
	int fd;

	(void)state;
	proxy_start(&f,
	    "refused.test:$R\nnone.test\nempty.test\n"
	    "private 127.0.0.0/8\n",
	    NULL);
	both_are(&f, "refused.test:$R", "HTTP/1.1 502 ", "refused");

	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("none.test"));
	proxy_name(&f, "none.test", NULL, NULL);
	must_be(proxy_rest(fd), "HTTP/1.1 502 ", "no such name");
	(void)close(fd);

	fd = proxy_call(&f);
	proxy_say(&f, fd, connect_text("empty.test:443"));
	proxy_name(&f, "empty.test", "", "");
	must_be(proxy_rest(fd), "HTTP/1.1 502 ", "no such name");
	(void)close(fd);
	proxy_stop(&f);
}

static void
what_takes_too_long_is_504(void **state)
{
	static const char *const more[] = {"--lookup-ms", "500", "--connect-ms",
	    "500", "--answer-ms", "500", NULL};
	struct proxy_fixture f;
	char policy[256], place[64];
	int fd, origin, port;
	int hole = proxy_black_hole(&port);

	(void)state;
	(void)snprintf(policy, sizeof(policy),
	    "origin.test:$O\norigin.test:%d\nsilent.test\n"
	    "private 127.0.0.0/8\n",
	    port);
	(void)snprintf(place, sizeof(place), "origin.test:%d", port);
	proxy_start(&f, policy, more);
	both_are(&f, place, "HTTP/1.1 504 ", "connection in time");
	both_are(&f, "silent.test:443", "HTTP/1.1 504 ", "name server");

	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("origin.test:$O"));
	origin = proxy_answer(&f);
	must_be(proxy_rest(fd), "HTTP/1.1 504 ", "no answer in time");
	(void)close(fd);
	(void)close(origin);
	(void)close(hole);
	proxy_stop(&f);
}

static void
a_name_that_leads_inside_is_refused(void **state)
{
	static const struct {
		const char *addresses4, *addresses6, *kind;
	} rows[] = {
	    {"127.0.0.1", "", "127.0.0.1, a loopback address"},
	    {"169.254.169.254", "", "169.254.169.254, a link-local address"},
	    {"10.1.2.3", "", "private"},
	    {"192.168.0.1 172.16.0.1", "", "private"},
	    {"100.64.0.1", "", "carrier-grade NAT"},
	    {"168.63.129.16", "", "metadata"},
	    {"0.0.0.0", "", "0.0.0.0"},
	    {"255.255.255.255", "", "reserved"},
	    {"", "::1", "::1"},
	    {"", "fd00::1", "private"},
	    {"", "fe80::1", "link-local"},
	    {"", "::ffff:10.0.0.1", "private"},
	    {"", "::ffff:127.0.0.1", "loopback"},
	    {"", "64:ff9b::a9fe:a9fe", "link-local"},
	    {"", "2002:a9fe:a9fe::", "link-local"},
	    {"", "2002:7f00:1::", "loopback"},
	    {"10.0.0.1", "fd00::1", "private"},
	};
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, "rebind.test\n", NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = proxy_call(&f);

		proxy_say(&f, fd, connect_text("rebind.test:443"));
		proxy_name(
		    &f, "rebind.test", rows[i].addresses4, rows[i].addresses6);
		must_be(proxy_rest(fd), "HTTP/1.1 403 ", rows[i].kind);
		(void)close(fd);
	}
	proxy_stop(&f);
}

/* Addresses are judged one by one; those that pass are dialled, no others: of
 * two that lead to the origin one is no exception, and it is not dialled. */
static void
only_addresses_that_were_checked_are_dialled(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, "mixed.test:$O\nprivate 127.0.0.1/32\n", NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("mixed.test:$O"));
	proxy_name(&f, "mixed.test", "127.0.0.2 10.0.0.1 127.0.0.1", "fd00::1");
	origin = proxy_answer(&f);
	struct sockaddr_in addr;
	socklen_t size = sizeof(addr);
	assert_int_equal(
	    getsockname(origin, (struct sockaddr *)&addr, &size), 0);
	assert_int_equal(addr.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	(void)proxy_head(origin);
	proxy_say(&f, origin, OK);
	(void)proxy_head(fd);
	proxy_hear(fd, "hi");
	/* Asked again, the name server says otherwise. */
	proxy_say(&f, fd,
	    "POST http://mixed.test:$O/ HTTP/1.1\r\nHost: mixed.test:$O\r\n"
	    "Content-Length: 0\r\n\r\n");
	proxy_name(&f, "mixed.test", "127.0.0.2", "");
	must_be(proxy_rest(fd), "HTTP/1.1 403 ", "127.0.0.2");
	proxy_is_quiet(&f);
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

/* Both families are dialled in turn: one that fails holds nobody up. */
static void
the_next_address_is_tried_when_one_fails(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(
	    &f, "two.test:$O\nprivate 127.0.0.0/8\nprivate ::1\n", NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("two.test:$O"));
	/* The origin listens on 127.0.0.1 alone. */
	proxy_name(&f, "two.test", "127.0.0.9 127.0.0.1", "::1");
	origin = proxy_answer(&f);
	(void)proxy_head(origin);
	proxy_say(&f, origin, OK);
	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 OK\r\n"));
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

static void
an_answer_too_long_for_a_datagram_is_fetched(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, "many.test:$O\nprivate 127.0.0.0/8\n", NULL);
	fd = proxy_call(&f);
	proxy_say(&f, fd, get_text("many.test:$O"));
	proxy_name_by_stream(&f, "many.test", "127.0.0.1", "");
	origin = proxy_answer(&f);
	(void)proxy_head(origin);
	proxy_say(&f, origin, OK);
	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 OK\r\n"));
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

static void
an_address_that_is_listed_may_be_any_but_the_proxys(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, "127.0.0.1:$O\n", NULL);
	fd = proxy_tunnel(&f, "127.0.0.1:$O", &origin);
	(void)close(fd);
	(void)close(origin);
	both_are(&f, "127.1:$O", "HTTP/1.1 400 ", "");
	both_are(&f, "2130706433:$O", "HTTP/1.1 400 ", "");
	both_are(&f, "0x7f.1:$O", "HTTP/1.1 400 ", "");
	both_are(&f, "0177.0.0.1:$O", "HTTP/1.1 400 ", "");
	both_are(&f, "localhost:$O", "HTTP/1.1 403 ", "localhost");
	proxy_stop(&f);

	proxy_start(&f, "127.0.0.1:$P\n", NULL);
	both_are(&f, "127.0.0.1:$P", "HTTP/1.1 403 ", "proxy");
	proxy_stop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_admitted_is_reached),
	    cmocka_unit_test(what_is_not_admitted_is_told_what_would_help),
	    cmocka_unit_test(an_empty_policy_admits_nothing),
	    cmocka_unit_test(what_cannot_be_reached_is_502),
	    cmocka_unit_test(what_takes_too_long_is_504),
	    cmocka_unit_test(a_name_that_leads_inside_is_refused),
	    cmocka_unit_test(only_addresses_that_were_checked_are_dialled),
	    cmocka_unit_test(the_next_address_is_tried_when_one_fails),
	    cmocka_unit_test(an_answer_too_long_for_a_datagram_is_fetched),
	    cmocka_unit_test(
		an_address_that_is_listed_may_be_any_but_the_proxys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
