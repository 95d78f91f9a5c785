/* Which names the proxy asks for, and how often. */
#include "../check.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "proxy_fixture.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLICY ".a.test:$O\norigin.test:$O\nprivate 127.0.0.0/8\n"

static int
ask(const struct proxy_fixture *f, const char *name)
{
	char text[256];
	int fd = proxy_call(f);

	(void)snprintf(text, sizeof(text),
	    "CONNECT %s:$O HTTP/1.1\r\nHost: %s:$O\r\n\r\n", name, name);
	proxy_say(f, fd, text);
	return fd;
}

/* It was reached: nothing is left of it. */
static void
is_reached(const struct proxy_fixture *f, int fd)
{
	int origin = proxy_answer(f);

	assert_true(str_starts(proxy_head(fd), "HTTP/1.1 200 "));
	(void)close(fd);
	(void)close(origin);
}

static void
is_refused(int fd, const char *status)
{
	const char *answer = proxy_rest(fd);

	if (!str_starts(answer, status))
		fail_msg("not %s: %s", status, answer);
	(void)close(fd);
}

static bool
is_asked(const struct proxy_fixture *f)
{
	struct pollfd p = {.fd = f->names, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void
an_answer_serves_as_long_as_it_says(void **state)
{
	struct proxy_fixture f;
	int fd;

	(void)state;
	proxy_start(&f, POLICY, NULL);
	f.ttl = 255;
	fd = ask(&f, "a.test");
	proxy_name(&f, "a.test", "127.0.0.1", "");
	is_reached(&f, fd);
	for (int i = 0; i < 3; i++)
		is_reached(&f, ask(&f, "a.test"));
	proxy_is_unasked(&f);
	/* Another name is another. */
	fd = ask(&f, "b.a.test");
	proxy_name(&f, "b.a.test", "127.0.0.1", "");
	is_reached(&f, fd);
	proxy_stop(&f);
}

static void
an_answer_that_holds_for_no_time_serves_once(void **state)
{
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, POLICY, NULL);
	for (int i = 0; i < 3; i++) {
		int fd = ask(&f, "a.test");

		proxy_name(&f, "a.test", "127.0.0.1", "");
		is_reached(&f, fd);
	}
	proxy_stop(&f);
}

/* One that is asked for again, whenever that is: its answer is old by then. */
static bool
is_asked_again(const struct proxy_fixture *f)
{
	int fd = ask(f, "a.test");
	struct pollfd p[] = {{.fd = f->origin, .events = POLLIN},
	    {.fd = f->names, .events = POLLIN}};

	assert_true(poll(p, 2, 20000) > 0);
	if (p[1].revents == 0) {
		is_reached(f, fd);
		return false;
	}
	proxy_name(f, "a.test", "127.0.0.9", "");
	/* What was known before is not dialled. */
	is_refused(fd, "HTTP/1.1 403 ");
	return true;
}

static void
an_answer_that_is_old_is_asked_for_again(void **state)
{
	struct proxy_fixture f;
	int fd;

	(void)state;
	proxy_start(
	    &f, ".a.test:$O\norigin.test:$O\nprivate 127.0.0.1/32\n", NULL);
	f.ttl = 1;
	fd = ask(&f, "a.test");
	proxy_name(&f, "a.test", "127.0.0.1", "");
	is_reached(&f, fd);
	wait_until(is_asked_again(&f), 20000);
	proxy_stop(&f);
}

/* A name that is being asked for is not asked for again. What is said last is
 * answered last: all were read when it is. */
static void
who_asks_at_the_same_time_shares_an_answer(void **state)
{
	struct proxy_fixture f;
	int fd[5], left;

	(void)state;
	proxy_start(&f, POLICY, NULL);
	for (int i = 0; i < 5; i++)
		fd[i] = ask(&f, "a.test");
	left = ask(&f, "a.test");
	is_reached(&f, ask(&f, "origin.test"));
	/* One has left meanwhile. */
	(void)close(left);
	is_reached(&f, ask(&f, "origin.test"));
	proxy_name(&f, "a.test", "127.0.0.1", "");
	for (int i = 0; i < 5; i++)
		is_reached(&f, fd[i]);
	proxy_is_unasked(&f);
	proxy_stop(&f);
}

/* Twice at once; false where that took longer than it is remembered. */
static bool
is_none_asked_once(const struct proxy_fixture *f)
{
	int fd = ask(f, "none.a.test");

	proxy_name(f, "none.a.test", NULL, NULL);
	is_refused(fd, "HTTP/1.1 502 ");
	fd = ask(f, "none.a.test");
	struct pollfd p[] = {
	    {.fd = fd, .events = POLLIN}, {.fd = f->names, .events = POLLIN}};
	assert_true(poll(p, 2, 20000) > 0);
	bool once = p[1].revents == 0;
	if (!once)
		proxy_name(f, "none.a.test", NULL, NULL);
	is_refused(fd, "HTTP/1.1 502 ");
	/* Not for long: */
	wait_until((fd = ask(f, "none.a.test"), poll(p + 1, 1, 50) == 1) ||
		       (is_refused(fd, "HTTP/1.1 502 "), false),
	    20000);
	proxy_name(f, "none.a.test", NULL, NULL);
	is_refused(fd, "HTTP/1.1 502 ");
	return once;
}

static void
a_name_that_there_is_not_is_remembered_for_a_moment(void **state)
{
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, POLICY, NULL);
	wait_until(is_none_asked_once(&f), 60000);
	proxy_stop(&f);
}

static void
change_policy(const struct proxy_fixture *f, const char *text)
{
	struct err e = ERR_INIT;
	int fd = fd_connect_unix(proxy_path(f, "control"), 5000, &e);

	check_ok(fd, &e);
	proxy_say(f, fd, "policy\n");
	proxy_say(f, fd, text);
	(void)shutdown(fd, SHUT_WR);
	assert_string_equal(proxy_rest(fd), "ok\n");
	(void)close(fd);
}

/* What is known of a name is judged each time, and a change of the policy does
 * not make it unknown. */
static void
what_is_known_is_judged_each_time(void **state)
{
	static const char *const more[] = {"--control", "control", NULL};
	struct proxy_fixture f;
	int fd;

	(void)state;
	proxy_start(&f, POLICY, more);
	f.ttl = 255;
	fd = ask(&f, "a.test");
	proxy_name(&f, "a.test", "127.0.0.1", "");
	is_reached(&f, fd);
	change_policy(&f, ".a.test:$O\norigin.test:$O\n");
	is_refused(ask(&f, "a.test"), "HTTP/1.1 403 ");
	change_policy(&f, "b.a.test:$O\nprivate 127.0.0.0/8\n");
	is_refused(ask(&f, "a.test"), "HTTP/1.1 403 ");
	change_policy(&f, POLICY);
	is_reached(&f, ask(&f, "a.test"));
	proxy_is_unasked(&f);
	proxy_stop(&f);
}

/* -- servers that are not there -------------------------------------------- */

/* In less time than it waits for a server that is silent. */
static bool
is_found_at_once(const struct proxy_fixture *f)
{
	int fd = ask(f, "a.test");
	struct pollfd p[] = {
	    {.fd = fd, .events = POLLIN}, {.fd = f->names, .events = POLLIN}};

	assert_true(poll(p, 2, 20000) > 0);
	if (p[0].revents != 0) {
		is_refused(fd, "HTTP/1.1 504 ");
		return false;
	}
	proxy_name(f, "a.test", "127.0.0.1", "");
	is_reached(f, fd);
	return true;
}

static void
a_server_that_refuses_keeps_nobody_waiting(void **state)
{
	static const char *const more[] = {
	    "--resolv", "resolv.second", "--lookup-ms", "1500", NULL};
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, POLICY, more);
	wait_until(is_found_at_once(&f), 20000);
	proxy_stop(&f);
}

static void
where_all_servers_refuse_it_is_502(void **state)
{
	static const char *const more[] = {
	    "--resolv", "resolv.closed", "--lookup-ms", "60000", NULL};
	struct proxy_fixture f;

	(void)state;
	proxy_start(&f, POLICY, more);
	/* 504 where one of the queries was waited for in vain. */
	is_refused(ask(&f, "a.test"), "HTTP/1.1 502 ");
	is_refused(ask(&f, "b.a.test"), "HTTP/1.1 502 ");
	assert_false(is_asked(&f));
	proxy_stop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_serves_as_long_as_it_says),
	    cmocka_unit_test(an_answer_that_holds_for_no_time_serves_once),
	    cmocka_unit_test(an_answer_that_is_old_is_asked_for_again),
	    cmocka_unit_test(who_asks_at_the_same_time_shares_an_answer),
	    cmocka_unit_test(
		a_name_that_there_is_not_is_remembered_for_a_moment),
	    cmocka_unit_test(what_is_known_is_judged_each_time),
	    cmocka_unit_test(a_server_that_refuses_keeps_nobody_waiting),
	    cmocka_unit_test(where_all_servers_refuse_it_is_502),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
