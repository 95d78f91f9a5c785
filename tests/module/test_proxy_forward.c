/* Plain requests and their answers. */
#include "../check.h"
#include "../wait.h"
#include "lib/str.h"
#include "proxy_fixture.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define GET \
	"GET http://origin.test:$O/ HTTP/1.1\r\nHost: origin.test:$O\r\n\r\n"
#define VIA "Via: 1.1 sandbox\r\n"

struct world {
	struct proxy_fixture f;
	int fd, origin;
};

static struct world
world_new(void)
{
	struct world w = {.origin = -1};

	proxy_start(&w.f, NULL, NULL);
	w.fd = proxy_call(&w.f);
	return w;
}

static void
world_end(struct world *w)
{
	(void)close(w->fd);
	if (w->origin >= 0)
		(void)close(w->origin);
	proxy_stop(&w->f);
}

/* A request of the run, and the connection that it arrives on. */
static const char *
request(struct world *w, const char *text)
{
	proxy_say(&w->f, w->fd, text);
	if (w->origin < 0)
		w->origin = proxy_answer(&w->f);
	return proxy_head(w->origin);
}

static void
must_have(const char *head, const char *field)
{
	if (strcasestr(head, field) == NULL)
		fail_msg("no \"%s\" in: %s", field, head);
}

static void
must_lack(const char *head, const char *field)
{
	if (strcasestr(head, field) != NULL)
		fail_msg("\"%s\" in: %s", field, head);
}

static void
a_head_is_sent_on_as_an_origin_wants_it(void **state)
{
	struct world w = world_new();
	const char *head;

	(void)state;
	head = request(&w,
	    "GET http://ORIGIN.test.:$O/a?b HTTP/1.1\r\n"
	    "Host: origin.test:$O\r\nProxy-Authorization: Basic eDp5\r\n"
	    "Proxy-Connection: keep-alive\r\nConnection: X-Hop\r\n"
	    "X-Hop: 1\r\nX-End: 2\r\n\r\n");
	assert_true(str_starts(head, "GET /a?b HTTP/1.1\r\n"));
	must_have(head, "\r\nHost: origin.test:");
	must_have(head, "\r\nX-End: 2\r\n");
	must_lack(head, "Proxy-");
	must_lack(head, "X-Hop");
	proxy_say(&w.f, w.origin,
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n"
	    "X-Answer: 3\r\n\r\nhi");
	head = proxy_head(w.fd);
	must_have(head, "\r\nX-Answer: 3\r\n");
	must_have(head, VIA);
	must_lack(head, "Keep-Alive");
	must_lack(head, "Connection: close");
	proxy_hear(w.fd, "hi");
	world_end(&w);
}

static void
a_kept_connection_serves_many_requests_on_one_upstream(void **state)
{
	struct world w = world_new();

	(void)state;
	for (int i = 0; i < 20; i++) {
		(void)request(&w, GET);
		proxy_say(&w.f, w.origin, OK);
		must_have(proxy_head(w.fd), "200 OK");
		proxy_hear(w.fd, "hi");
	}
	proxy_is_quiet(&w.f);
	world_end(&w);
}

static void
each_request_of_a_kept_connection_is_judged(void **state)
{
	struct world w = world_new();
	int other;

	(void)state;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, OK);
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "hi");
	/* Another host has a connection of its own, though it is the same
	 * place. */
	proxy_say(&w.f, w.fd,
	    "GET http://other.test:$O/ HTTP/1.1\r\n"
	    "Host: other.test:$O\r\n\r\n");
	proxy_hear_end(w.origin);
	other = proxy_answer(&w.f);
	must_have(proxy_head(other), "\r\nHost: other.test:");
	proxy_say(&w.f, other, OK);
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "hi");
	/* One that is not admitted ends the connection. */
	proxy_say(&w.f, w.fd,
	    "GET http://evil.test/ HTTP/1.1\r\n"
	    "Host: evil.test\r\n\r\n"
	    "GET http://origin.test:$O/ HTTP/1.1\r\n"
	    "Host: origin.test:$O\r\n\r\n");
	must_have(proxy_rest(w.fd), "HTTP/1.1 403 ");
	proxy_hear_end(other);
	proxy_is_quiet(&w.f);
	(void)close(other);
	world_end(&w);
}

static void
pipelined_requests_go_one_at_a_time(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "GET http://origin.test:$O/1 HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\n\r\n"
			  "POST http://origin.test:$O/2 HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\nContent-Length: 30\r\n\r\n"
			  "GET http://evil.test/ HTTP/1.1"
			  "GET http://origin.test:$O/3 HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\n\r\n"
			  "GET http://evil.test/ HTTP/1.1\r\n"
			  "Host: evil.test\r\n\r\n");
	proxy_say(&w.f, w.origin, OK);
	must_have(proxy_head(w.fd), "200 OK");
	proxy_hear(w.fd, "hi");
	/* A POST never goes where it might be lost. */
	proxy_hear_end(w.origin);
	(void)close(w.origin);
	w.origin = proxy_answer(&w.f);
	assert_true(str_starts(proxy_head(w.origin), "POST /2 "));
	proxy_hear(w.origin, "GET http://evil.test/ HTTP/1.1");
	proxy_say(&w.f, w.origin, OK);
	must_have(proxy_head(w.fd), "200 OK");
	proxy_hear(w.fd, "hi");
	assert_true(str_starts(proxy_head(w.origin), "GET /3 "));
	proxy_say(&w.f, w.origin, OK);
	must_have(proxy_head(w.fd), "200 OK");
	proxy_hear(w.fd, "hi");
	must_have(proxy_rest(w.fd), "HTTP/1.1 403 ");
	world_end(&w);
}

static void
chunks_pass_both_ways_at_once(void **state)
{
	struct world w = world_new();

	(void)state;
	must_have(request(&w, "POST http://origin.test:$O/ HTTP/1.1\r\n"
			      "Host: origin.test:$O\r\n"
			      "Transfer-Encoding: ChUnKeD\r\n\r\n"),
	    "\r\nTransfer-Encoding: chunked\r\n");
	proxy_say(&w.f, w.fd, "4;ext=1\r\nabcd\r\n");
	proxy_hear(w.origin, "4;ext=1\r\nabcd\r\n");
	proxy_say(&w.f, w.fd, "1\r\ne\r\n0\r\nX-Trailer: 1\r\n\r\n");
	proxy_hear(w.origin, "1\r\ne\r\n0\r\nX-Trailer: 1\r\n\r\n");
	proxy_say(&w.f, w.origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	must_have(proxy_head(w.fd), "\r\nTransfer-Encoding: chunked\r\n");
	/* As server-sent events come: none waits for the next. */
	for (int i = 0; i < 5; i++) {
		proxy_say(&w.f, w.origin, "7\r\nevent\n\n\r\n");
		proxy_hear(w.fd, "7\r\nevent\n\n\r\n");
	}
	proxy_say(&w.f, w.origin, "0\r\nX-End: 1\r\n\r\n");
	proxy_hear(w.fd, "0\r\nX-End: 1\r\n\r\n");
	/* And it goes on. */
	must_have(request(&w, "GET http://origin.test:$O/next HTTP/1.1\r\n"
			      "Host: origin.test:$O\r\n\r\n"),
	    "GET /next ");
	world_end(&w);
}

static void
malformed_chunks_end_it(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "POST http://origin.test:$O/ HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\n"
			  "Transfer-Encoding: chunked\r\n\r\n");
	proxy_say(&w.f, w.fd, "-1\r\n\r\n");
	must_have(proxy_rest(w.fd), "HTTP/1.1 400 ");
	proxy_hear_end(w.origin);
	(void)close(w.fd);
	(void)close(w.origin);

	w.fd = proxy_call(&w.f);
	w.origin = -1;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "2\r\nhi\r\n");
	proxy_say(&w.f, w.origin, "2\r\nhixx");
	proxy_hear_end(w.fd);
	world_end(&w);
}

static void
a_client_of_http_1_0_gets_no_chunks(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "GET http://origin.test:$O/ HTTP/1.0\r\n\r\n");
	proxy_say(&w.f, w.origin,
	    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "2\r\nab\r\n");
	must_lack(proxy_head(w.fd), "Transfer-Encoding");
	proxy_hear(w.fd, "ab");
	proxy_say(&w.f, w.origin, "3\r\ncde\r\n0\r\n\r\n");
	assert_string_equal(proxy_rest(w.fd), "cde");
	world_end(&w);
}

static void
continue_is_asked_and_answered(void **state)
{
	struct world w = world_new();

	(void)state;
	must_have(request(&w, "PUT http://origin.test:$O/ HTTP/1.1\r\n"
			      "Host: origin.test:$O\r\nContent-Length: 4\r\n"
			      "Expect: 100-continue\r\n\r\n"),
	    "\r\nExpect: 100-continue\r\n");
	proxy_say(&w.f, w.origin, "HTTP/1.1 100 Continue\r\n\r\n");
	must_have(proxy_head(w.fd), "HTTP/1.1 100 ");
	proxy_say(&w.f, w.fd, "body");
	proxy_hear(w.origin, "body");
	proxy_say(&w.f, w.origin, OK);
	must_have(proxy_head(w.fd), "200 OK");
	proxy_hear(w.fd, "hi");
	world_end(&w);
}

/* The answer ends the request: what was not sent of it never is. */
static void
an_answer_before_the_body_ends_closes_in_order(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "POST http://origin.test:$O/ HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\n"
			  "Content-Length: 1000000\r\n\r\nabc");
	proxy_say(&w.f, w.origin,
	    "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
	must_have(proxy_head(w.fd), "\r\nConnection: close\r\n");
	assert_string_equal(proxy_rest(w.fd), "no");
	world_end(&w);
}

static void
answers_without_a_body_have_none(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "HEAD http://origin.test:$O/ HTTP/1.1\r\n"
			  "Host: origin.test:$O\r\n\r\n");
	proxy_say(
	    &w.f, w.origin, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
	must_have(proxy_head(w.fd), "\r\nContent-Length: 1000\r\n");
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, "HTTP/1.1 304 Not Modified\r\n\r\n");
	must_have(proxy_head(w.fd), "HTTP/1.1 304 ");
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, OK);
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "hi");
	world_end(&w);
}

static void
a_body_up_to_the_end_ends_with_the_connection(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, "HTTP/1.1 200 OK\r\n\r\nsome");
	must_have(proxy_head(w.fd), "\r\nConnection: close\r\n");
	proxy_hear(w.fd, "some");
	proxy_say(&w.f, w.origin, " more");
	(void)close(w.origin);
	w.origin = -1;
	assert_string_equal(proxy_rest(w.fd), " more");
	world_end(&w);
}

static void
an_answer_that_is_cut_is_not_taken_for_whole(void **state)
{
	static const char *const begun[] = {
	    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc",
	};
	struct world w = world_new();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		(void)request(&w, GET);
		proxy_say(&w.f, w.origin, begun[i]);
		(void)proxy_head(w.fd);
		proxy_hear(w.fd, i == 0 ? "abc" : "3\r\nabc");
		(void)close(w.origin);
		proxy_hear_end(w.fd);
		(void)close(w.fd);
		w.fd = proxy_call(&w.f);
		w.origin = -1;
	}
	world_end(&w);
}

/* They would keep the proxy busy, and no limit of time ends it. */
static void
early_answers_without_end_are_502(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, "GET http://origin.test:$O/ HTTP/1.0\r\n\r\n");
	for (int i = 0; i < 65; i++)
		proxy_say(&w.f, w.origin, "HTTP/1.1 102 Processing\r\n\r\n");
	must_have(proxy_rest(w.fd), "HTTP/1.1 502 ");
	world_end(&w);
}

static void
what_is_no_answer_is_502(void **state)
{
	static const char *const rows[] = {
	    "",
	    "HTTP/1.1 200 OK\r\nContent-Le",
	    "SSH-2.0-OpenSSH_9.2\r\n",
	    "HTTP/1.1 099 No\r\n\r\n",
	    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
	    "Connection: upgrade\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n",
	};
	struct world w = world_new();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)request(&w, GET);
		proxy_say(&w.f, w.origin, rows[i]);
		(void)shutdown(w.origin, SHUT_WR);
		must_have(proxy_rest(w.fd), "HTTP/1.1 502 ");
		(void)close(w.fd);
		(void)close(w.origin);
		w.fd = proxy_call(&w.f);
		w.origin = -1;
	}
	world_end(&w);
}

/* RFC 9112 9.3.1: a connection that was kept may be closed at any moment. */
static void
a_kept_upstream_that_was_closed_is_made_anew(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, OK);
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "hi");
	/* It is closed after the request has come. */
	must_have(request(&w, "GET http://origin.test:$O/again HTTP/1.1\r\n"
			      "Host: origin.test:$O\r\n\r\n"),
	    "GET /again ");
	(void)close(w.origin);
	w.origin = proxy_answer(&w.f);
	must_have(proxy_head(w.origin), "GET /again ");
	/* What was closed on its first request is an answer of its own. */
	(void)close(w.origin);
	w.origin = -1;
	must_have(proxy_rest(w.fd), "HTTP/1.1 502 ");
	world_end(&w);
}

static void
what_nobody_asked_for_is_no_answer_to_the_next(void **state)
{
	struct world w = world_new();

	(void)state;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, OK "HTTP/1.1 200 Evil\r\n\r\n");
	(void)proxy_head(w.fd);
	proxy_hear(w.fd, "hi");
	proxy_hear_end(w.origin);
	(void)close(w.origin);
	w.origin = -1;
	(void)request(&w, GET);
	proxy_say(&w.f, w.origin, OK);
	must_have(proxy_head(w.fd), "200 OK");
	world_end(&w);
}

/* `printf 'GET ...' | nc -N`: it will say nothing more, and wants its answer.
 */
static void
a_client_that_shuts_its_writing_is_answered(void **state)
{
	struct world w = world_new();

	(void)state;
	proxy_say(&w.f, w.fd, "GET http://origin.test:$O/ HTTP/1.0\r\n\r\n");
	(void)shutdown(w.fd, SHUT_WR);
	w.origin = proxy_answer(&w.f);
	(void)proxy_head(w.origin);
	proxy_say(&w.f, w.origin, OK);
	(void)proxy_head(w.fd);
	assert_string_equal(proxy_rest(w.fd), "hi");
	world_end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_head_is_sent_on_as_an_origin_wants_it),
	    cmocka_unit_test(
		a_kept_connection_serves_many_requests_on_one_upstream),
	    cmocka_unit_test(each_request_of_a_kept_connection_is_judged),
	    cmocka_unit_test(pipelined_requests_go_one_at_a_time),
	    cmocka_unit_test(chunks_pass_both_ways_at_once),
	    cmocka_unit_test(malformed_chunks_end_it),
	    cmocka_unit_test(a_client_of_http_1_0_gets_no_chunks),
	    cmocka_unit_test(continue_is_asked_and_answered),
	    cmocka_unit_test(an_answer_before_the_body_ends_closes_in_order),
	    cmocka_unit_test(answers_without_a_body_have_none),
	    cmocka_unit_test(a_body_up_to_the_end_ends_with_the_connection),
	    cmocka_unit_test(an_answer_that_is_cut_is_not_taken_for_whole),
	    cmocka_unit_test(early_answers_without_end_are_502),
	    cmocka_unit_test(what_is_no_answer_is_502),
	    cmocka_unit_test(a_kept_upstream_that_was_closed_is_made_anew),
	    cmocka_unit_test(what_nobody_asked_for_is_no_answer_to_the_next),
	    cmocka_unit_test(a_client_that_shuts_its_writing_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
