/* What is bounded, and what happens when a policy changes. */
#include "../check.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "proxy_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET \
	"GET http://origin.test:$O/ HTTP/1.1\r\nHost: origin.test:$O\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static void
must_begin(const char *answer, const char *status)
{
	if (!str_starts(answer, status))
		fail_msg("not %s: %s", status, answer);
}

static void
a_connection_too_many_is_told_so(void **state)
{
	static const char *const more[] = {"--connections", "3", NULL};
	struct proxy_fixture f;
	int held[3], one;
	const char *answer;

	(void)state;
	proxy_start(&f, NULL, more);
	for (int i = 0; i < 3; i++) {
		int origin;

		held[i] = proxy_tunnel(&f, "origin.test:$O", &origin);
		(void)close(origin);
		/* Shut one way only: they stay. */
		proxy_hear_end(held[i]);
	}
	one = proxy_call(&f);
	answer = proxy_rest(one);
	must_begin(answer, "HTTP/1.1 503 ");
	assert_non_null(strstr(answer, "\r\nRetry-After: "));
	(void)close(one);
	(void)close(held[0]);
	/* There is room again, as soon as that was noticed. */
	for (bool again = true; again;) {
		one = proxy_call(&f);
		proxy_say(&f, one, "GET / HTTP/1.1\r\n\r\n");
		answer = proxy_rest(one);
		again = str_starts(answer, "HTTP/1.1 503 ");
		(void)close(one);
	}
	must_begin(answer, "HTTP/1.1 400 ");
	(void)close(held[1]);
	(void)close(held[2]);
	proxy_stop(&f);
}

static void
a_head_must_come_in_time(void **state)
{
	static const char *const more[] = {
	    "--head-ms", "150", "--wait-ms", "60000", NULL};
	struct proxy_fixture f;
	int fd, silent, origin;

	(void)state;
	proxy_start(&f, NULL, more);
	silent = proxy_call(&f);
	fd = proxy_call(&f);
	proxy_say(&f, fd, "GET http://ori");
	must_begin(proxy_rest(fd), "HTTP/1.1 408 ");
	(void)close(fd);
	/* Who has not begun has time. */
	proxy_say(&f, silent, GET);
	origin = proxy_answer(&f);
	(void)proxy_head(origin);
	proxy_say(&f, origin, OK);
	must_begin(proxy_head(silent), "HTTP/1.1 200 ");
	proxy_hear(silent, "hi");
	/* So it is with the next one. */
	proxy_say(&f, silent, "GET");
	must_begin(proxy_rest(silent), "HTTP/1.1 408 ");
	(void)close(silent);
	(void)close(origin);
	proxy_stop(&f);
}

/* The limit for heads is none for what follows: a body may drip. */
static void
what_flows_lives_longer_than_its_head_may(void **state)
{
	static const char *const more[] = {"--head-ms", "1000", "--idle-ms",
	    "20000", "--answer-ms", "1000", NULL};
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, more);
	fd = proxy_call(&f);
	proxy_say(&f, fd, GET);
	origin = proxy_answer(&f);
	(void)proxy_head(origin);
	proxy_say(&f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
	must_begin(proxy_head(fd), "HTTP/1.1 200 ");
	for (int i = 0; i < 20; i++) {
		(void)poll(NULL, 0, 60); /* the drip */
		proxy_say(&f, origin, ".");
		proxy_hear(fd, ".");
	}
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

static void
what_is_idle_too_long_ends(void **state)
{
	static const char *const more[] = {
	    "--wait-ms", "1000", "--idle-ms", "1000", NULL};
	struct proxy_fixture f;
	int fd, silent, origin;

	(void)state;
	proxy_start(&f, NULL, more);
	silent = proxy_call(&f);
	assert_string_equal(proxy_rest(silent), "");
	(void)close(silent);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_hear_end(fd);
	proxy_hear_end(origin);
	(void)close(fd);
	(void)close(origin);
	proxy_stop(&f);
}

/* -- the policy changes ---------------------------------------------------- */

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

static void
start_with_control(struct proxy_fixture *f)
{
	static const char *const more[] = {"--control", "control", NULL};

	proxy_start(f, NULL, more);
}

static void
a_changed_policy_ends_what_it_does_not_admit(void **state)
{
	struct proxy_fixture f;
	int fd, origin, kept, kept_origin, asking, asked;

	(void)state;
	start_with_control(&f);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	kept = proxy_tunnel(&f, "other.test:$O", &kept_origin);
	asking = proxy_call(&f);
	proxy_say(&f, asking, GET);
	asked = proxy_answer(&f);
	(void)proxy_head(asked);

	change_policy(&f, "other.test:$O\nprivate 127.0.0.0/8\n");
	proxy_hear_end(fd);
	proxy_hear_end(origin);
	proxy_hear_end(asking);
	proxy_hear_end(asked);
	proxy_say(&f, kept, "ping");
	proxy_hear(kept_origin, "ping");
	(void)close(fd);
	fd = proxy_call(&f);
	proxy_say(&f, fd, GET);
	must_begin(proxy_rest(fd), "HTTP/1.1 403 ");
	/* The host is still admitted; its address is not. */
	change_policy(&f, "other.test:$O\n");
	proxy_hear_end(kept);
	proxy_hear_end(kept_origin);
	/* And back. */
	change_policy(&f, "origin.test:$O\nprivate 127.0.0.0/8\n");
	(void)close(fd);
	(void)close(origin);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	const int all[] = {fd, origin, kept, kept_origin, asking, asked};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		(void)close(all[i]);
	proxy_stop(&f);
}

/* While its name is looked up, a host can cease to be admitted. */
static void
a_changed_policy_holds_for_what_is_looked_up(void **state)
{
	struct proxy_fixture f;
	int fd;

	(void)state;
	start_with_control(&f);
	change_policy(&f, "slow.test:$O\nprivate 127.0.0.0/8\n");
	fd = proxy_call(&f);
	proxy_say(&f, fd,
	    "CONNECT slow.test:$O HTTP/1.1\r\n"
	    "Host: slow.test:$O\r\n\r\n");
	struct pollfd p = {.fd = f.names, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 20000), 1);
	change_policy(&f, "origin.test:$O\n");
	proxy_hear_end(fd);
	(void)close(fd);
	proxy_name(&f, "slow.test", "127.0.0.1", "");
	proxy_is_quiet(&f);
	proxy_stop(&f);
}

static const char *
counts(const struct proxy_fixture *f)
{
	struct err e = ERR_INIT;
	int fd = fd_connect_unix(proxy_path(f, "control"), 5000, &e);

	check_ok(fd, &e);
	proxy_say(f, fd, "counts\n");
	(void)shutdown(fd, SHUT_WR);
	const char *text = proxy_rest(fd);
	(void)close(fd);
	return text;
}

static void
what_was_decided_is_counted(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	start_with_control(&f);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	proxy_say(&f, fd, "12345");
	proxy_hear(origin, "12345");
	proxy_say(&f, origin, "123");
	proxy_hear(fd, "123");
	(void)close(fd);
	proxy_hear_end(origin);
	(void)close(origin);
	wait_until(strstr(counts(&f), "\"allowed\":1,\"denied\":0,\"failed\":0,"
				      "\"up\":5,\"down\":3") != NULL,
	    20000);
	fd = proxy_call(&f);
	proxy_say(&f, fd,
	    "GET http://evil.test/ HTTP/1.1\r\n"
	    "Host: evil.test\r\n\r\n");
	must_begin(proxy_rest(fd), "HTTP/1.1 403 ");
	(void)close(fd);
	wait_until(strstr(counts(&f), "\"evil.test\"") != NULL, 20000);
	wait_until(strstr(counts(&f), "\"connections\":0") != NULL, 20000);
	proxy_stop(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_connection_too_many_is_told_so),
	    cmocka_unit_test(a_head_must_come_in_time),
	    cmocka_unit_test(what_flows_lives_longer_than_its_head_may),
	    cmocka_unit_test(what_is_idle_too_long_ends),
	    cmocka_unit_test(a_changed_policy_ends_what_it_does_not_admit),
	    cmocka_unit_test(a_changed_policy_holds_for_what_is_looked_up),
	    cmocka_unit_test(what_was_decided_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
