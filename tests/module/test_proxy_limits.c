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

/* Up to its line feed; in a static buffer. */
static const char *
hear_line(int fd)
{
	static char line[PROXY_TEXT];
	size_t size = 0;

	do {
		proxy_must_be_readable(fd, "a line");
		if (recv(fd, line + size, 1, 0) != 1)
			fail_msg("it ends");
	} while (line[size++] != '\n' && size < sizeof(line) - 1);
	line[size] = '\0';
	return line;
}

static void
who_follows_the_log_hears_how_tunnels_ended(void **state)
{
	struct proxy_fixture f;
	struct err e = ERR_INIT;
	int fd[3], origin[3], log;
	size_t lines = 0;

	(void)state;
	start_with_control(&f);
	log = fd_connect_unix(proxy_path(&f, "control"), 5000, &e);
	check_ok(log, &e);
	proxy_say(&f, log, "log 0\n");
	fd[0] = proxy_call(&f);
	proxy_say(&f, fd[0], "GET / HTTP/1.1\r\n\r\n");
	(void)proxy_rest(fd[0]);
	(void)close(fd[0]);
	assert_non_null(strstr(hear_line(log), "\"malformed\""));
	for (int i = 0; i < 3; i++)
		fd[i] = proxy_tunnel(&f, "origin.test:$O", &origin[i]);
	proxy_stop(&f);
	for (const char *at = proxy_rest(log); *at != '\0'; lines++) {
		const char *end = strchr(at, '\n');

		assert_non_null(end);
		assert_non_null(strstr(at, "\"verdict\":\"allowed\""));
		at = end + 1;
	}
	assert_int_equal(lines, 3);
	(void)close(log);
	for (int i = 0; i < 3; i++) {
		(void)close(fd[i]);
		(void)close(origin[i]);
	}
}

/* Sixteen addresses each, that are tried one beside the other, but not all by
 * everybody: there are descriptors left for who has a better host. */
static void
dials_in_vain_take_a_bounded_number_of_descriptors(void **state)
{
	static const char *const more[] = {"--connections", "40", "--control",
	    "control", "--connect-ms", "60000", NULL};
	const int most = 2 * 40 + 128; /* DIALS_MORE */
	struct proxy_fixture f;
	char text[256], addresses[256] = "";
	int port, fd[40], hole = proxy_black_hole(&port), before;

	(void)state;
	for (int i = 1; i <= 16; i++)
		(void)snprintf(addresses + strlen(addresses), 16,
		    "%s127.0.1.%d", i > 1 ? " " : "", i);
	(void)snprintf(
	    text, sizeof(text), "hole.test:%d\nprivate 127.0.0.0/8\n", port);
	proxy_start(&f, text, more);
	/* Some come and go: who asks for counts, and names. */
	before = proxy_descriptors(&f);
	f.ttl = 255;
	(void)snprintf(text, sizeof(text),
	    "CONNECT hole.test:%d HTTP/1.1\r\nHost: hole.test\r\n\r\n", port);
	for (int i = 0; i < 40; i++) {
		fd[i] = proxy_call(&f);
		proxy_say(&f, fd[i], text);
	}
	proxy_name(&f, "hole.test", addresses, "");
	wait_until(proxy_descriptors(&f) >= before + most - 8, 20000);
	for (int i = 0; i < 40; i++) {
		assert_true(proxy_descriptors(&f) <= before + most + 8);
		assert_non_null(strstr(counts(&f), "\"connections\":40"));
		(void)poll(NULL, 0, 20); /* they would become more */
	}
	for (int i = 0; i < 40; i++)
		(void)close(fd[i]);
	(void)close(hole);
	proxy_stop(&f);
}

/* Established sockets at that place in the proxy's table of TCP; of column 1
 * the local, of 2 the remote port. *ret_kept: those with a timer that sees
 * whether the other end is still there. */
static int
sockets_at(int column, int port, int *ret_kept)
{
	FILE *table = fopen("/proc/net/tcp", "re");
	char line[256];
	int count = 0;

	assert_non_null(table);
	for (*ret_kept = 0; fgets(line, sizeof(line), table) != NULL;) {
		unsigned ports[2], state, timer;

		if (sscanf(line, " %*d: %*8x:%x %*8x:%x %x %*x:%*x %x:",
			&ports[0], &ports[1], &state, &timer) != 4 ||
		    (int)ports[column - 1] != port || state != 1)
			continue;
		count++;
		*ret_kept += timer == 2;
	}
	(void)fclose(table);
	return count;
}

static bool
all_are_kept(int column, int port)
{
	int kept, count = sockets_at(column, port, &kept);

	return count > 0 && kept == count;
}

static void
ends_that_are_gone_without_a_word_are_noticed(void **state)
{
	struct proxy_fixture f;
	int fd, origin;

	(void)state;
	proxy_start(&f, NULL, NULL);
	fd = proxy_tunnel(&f, "origin.test:$O", &origin);
	wait_until(all_are_kept(1, f.port), 20000);
	wait_until(all_are_kept(2, f.origin_port), 20000);
	(void)close(fd);
	(void)close(origin);
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
	    cmocka_unit_test(
		dials_in_vain_take_a_bounded_number_of_descriptors),
	    cmocka_unit_test(ends_that_are_gone_without_a_word_are_noticed),
	    cmocka_unit_test(who_follows_the_log_hears_how_tunnels_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
