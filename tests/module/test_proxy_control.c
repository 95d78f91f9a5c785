/* proxy/control: changing the policy, counting, following the log. */
#include "../../proxy/control.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define LONG 399 /* bytes of a text in the longest line */

/* -- a proxy that has nothing but its control ------------------------------ */

/* In a process of its own: each byte on a pipe is a decision. */
struct server {
	pid_t pid;
	int poke; /* 'd': a short line, 'D': a long one, 'q': end in order */
	char path[64];

	/* In that process. */
	struct loop *loop;
	struct ledger *ledger;
	struct policy *policy;
	struct watch on_poke;
};

static void
decide(struct server *s, bool is_long)
{
	char text[LONG + 1] = "";

	if (is_long)
		memset(text, 1, LONG); /* 6 bytes each as JSON */
	ledger_add(s->ledger, &(struct ledger_entry){.verdict = LEDGER_DENIED,
				  .method = text,
				  .host = is_long ? text : "denied.test",
				  .port = 80,
				  .address = text,
				  .reason = text,
				  .status = 403});
}

static void
on_poke(struct watch *w, uint32_t events)
{
	struct server *s =
	    (void *)((char *)w - offsetof(struct server, on_poke));
	char bytes[4096];
	ssize_t n = read(w->fd, bytes, sizeof(bytes));

	(void)events;
	if (n <= 0 || bytes[n - 1] == 'q')
		loop_stop(s->loop);
	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] != 'q')
			decide(s, bytes[i] == 'D');
}

/* What it admits shows in the ledger. */
static void
take_policy(void *arg, struct policy *p)
{
	struct server *s = arg;
	struct err e = ERR_INIT;
	struct allow_host h;

	policy_free(s->policy);
	s->policy = p;
	if (allow_host_parse("new.test", 8, &h, &e) == 0 &&
	    policy_admits(p, &h, 443))
		ledger_add(s->ledger, &(struct ledger_entry){.method = "",
					  .host = "new.test",
					  .address = "",
					  .reason = ""});
}

static _Noreturn void
serve(struct server *s, int pokes)
{
	struct err e = ERR_INIT;
	int listener = fd_listen_unix(s->path, 0600, 16, &e);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	s->loop = loop_new(&e);
	s->ledger = ledger_new();
	s->on_poke = (struct watch){on_poke, pokes, 0};
	struct control *c =
	    control_new(s->loop, listener, s->ledger, take_policy, s, &e);
	if (listener < 0 || c == NULL ||
	    loop_watch(s->loop, &s->on_poke, EPOLLIN) != 0)
		_exit(1);
	loop_run(s->loop);
	control_free(c);
	ledger_free(s->ledger);
	policy_free(s->policy);
	loop_free(s->loop);
	_exit(0);
}

static int
start(void **state)
{
	struct server *s = calloc(1, sizeof(*s));
	int ends[2];

	if (s == NULL || pipe(ends) != 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(
	    s->path, sizeof(s->path), "/tmp/sbx-control-%d", (int)getpid());
	s->pid = fork();
	if (s->pid == 0) {
		(void)close(ends[1]);
		serve(s, ends[0]);
	}
	(void)close(ends[0]);
	s->poke = ends[1];
	*state = s;
	return s->pid < 0;
}

static int
stop(void **state)
{
	struct server *s = *state;
	int status = -1;

	(void)!write(s->poke, "q", 1);
	(void)close(s->poke);
	(void)waitpid(s->pid, &status, 0);
	(void)unlink(s->path);
	free(s);
	return status;
}

static void
poke(const struct server *s, char what, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(write(s->poke, &what, 1), 1);
}

/* -- clients --------------------------------------------------------------- */

static int
call(const struct server *s, const char *request)
{
	struct err e = ERR_INIT;
	int fd = -1;

	wait_until((fd = fd_connect_unix(s->path, 1000, &e)) >= 0, PATIENCE_MS);
	check_ok(fd_write_all(fd, request, strlen(request),
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
	return fd;
}

static bool
readable(int fd, int ms)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, ms) == 1;
}

/* All of the answer; in a static buffer. */
static const char *
ask(const struct server *s, const char *request)
{
	static char answer[1 << 20];
	FD_AUTO fd = call(s, request);
	size_t size = 0;
	ssize_t n;

	(void)shutdown(fd, SHUT_WR);
	do {
		if (!readable(fd, PATIENCE_MS))
			fail_msg("no answer to %.40s", request);
		n = read(fd, answer + size, sizeof(answer) - 1 - size);
		size += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	answer[size] = '\0';
	return answer;
}

/* The next line; in a static buffer. "" at the end. */
static const char *
line_of(int fd)
{
	static char line[16384];
	size_t size = 0;

	do {
		if (!readable(fd, PATIENCE_MS))
			fail_msg("waited in vain for a line");
		ssize_t n =
		    recv(fd, line + size, sizeof(line) - 1 - size, MSG_PEEK);
		if (n <= 0)
			break;
		char *end = memchr(line + size, '\n', (size_t)n);
		if (end != NULL)
			n = end + 1 - (line + size);
		n = recv(fd, line + size, (size_t)n, 0);
		assert_true(n > 0);
		size += (size_t)n;
	} while (line[size - 1] != '\n' && size < sizeof(line) - 1);
	line[size] = '\0';
	return line;
}

static void
hear_number(int fd, int number)
{
	char begin[32];
	const char *line = line_of(fd);

	(void)snprintf(begin, sizeof(begin), "{\"n\":%d,", number);
	if (!str_starts(line, begin))
		fail_msg("not line %d: %s", number, line);
}

static void
must_begin(const char *answer, const char *begin)
{
	if (!str_starts(answer, begin))
		fail_msg("not \"%s\": %.200s", begin, answer);
}

/* -- tests ----------------------------------------------------------------- */

static void
counts_are_one_line(void **state)
{
	poke(*state, 'd', 3);
	wait_until(strstr(ask(*state, "counts\n"), "\"denied\":3") != NULL,
	    PATIENCE_MS);
	const char *answer =
	    ask(*state, "counts"); /* no line feed at the end */
	assert_true(str_ends(answer, "}\n"));
	assert_ptr_equal(strchr(answer, '\n'), answer + strlen(answer) - 1);
}

static void
a_policy_holds_from_its_ok_on(void **state)
{
	assert_string_equal(
	    ask(*state, "policy\n# a comment\nnew.test\n"), "ok\n");
	assert_non_null(strstr(ask(*state, "counts\n"), "new.test"));
	assert_string_equal(ask(*state, "policy\n"), "ok\n");
}

static void
a_bad_policy_changes_nothing_and_says_why(void **state)
{
	const char *answer =
	    ask(*state, "policy\nnew.test\n*.test\nfine.test\n\x01.test\n");

	must_begin(answer, "error line 2: ");
	assert_non_null(strstr(answer, "line 4: "));
	assert_null(strchr(answer, '\x01'));
	assert_null(strstr(ask(*state, "counts\n"), "new.test"));
}

/* One that was killed may have sent half of it. */
static void
the_policy_of_a_client_that_has_left_changes_nothing(void **state)
{
	const struct server *s = *state;
	int fd = call(s, "policy\nnew.test\n");

	/* It is not there until the server has read it and seen the end. */
	(void)close(fd);
	for (int i = 0; i < 20; i++)
		assert_null(strstr(ask(s, "counts\n"), "new.test"));
}

static void
what_is_no_request_is_an_error(void **state)
{
	static const char *const requests[] = {"", "\n", "Counts\n",
	    "counts \n", "log\n", "log \n", "log -1\n", "log x\n",
	    "log 1 start\n", "log 99999999999999999999\n", "policy new.test\n",
	    "log "
	    "000000000000000000000000000000000000000000000000000000000000000000"
	    "1\n"};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const char *answer = ask(*state, requests[i]);

		if (!str_starts(answer, "error ") || !str_ends(answer, "\n"))
			fail_msg("\"%s\" is answered: %s", requests[i], answer);
	}
}

static void
a_policy_that_is_too_long_is_an_error(void **state)
{
	const struct server *s = *state;
	char *text = malloc(POLICY_TEXT_MAX + 65536);
	struct err e = ERR_INIT;

	assert_non_null(text);
	memset(text, '\n', POLICY_TEXT_MAX + 65536);
	FD_AUTO fd = call(s, "policy\nnew.test\n");
	(void)fd_write_all(fd, text, POLICY_TEXT_MAX + 65536,
	    clock_mono_ms() + PATIENCE_MS, &e);
	(void)shutdown(fd, SHUT_WR);
	must_begin(line_of(fd), "error ");
	free(text);
}

static void
the_log_is_read_from_a_position(void **state)
{
	poke(*state, 'd', 5);
	wait_until(
	    strstr(ask(*state, "log 5 end\n"), "\"n\":5") != NULL, PATIENCE_MS);
	must_begin(ask(*state, "log 0 end\n"), "{\"n\":1,");
	must_begin(ask(*state, "log 3 end\n"), "{\"n\":3,");
	assert_string_equal(ask(*state, "log 6 end\n"), "");
}

static void
followers_get_lines_as_they_come(void **state)
{
	const struct server *s = *state;

	poke(s, 'd', 2);
	FD_AUTO one = call(s, "log 0\n");
	FD_AUTO two = call(s, "log 2\n");
	hear_number(one, 1);
	hear_number(one, 2);
	hear_number(two, 2);
	assert_false(readable(one, 0));
	poke(s, 'd', 1);
	hear_number(one, 3);
	hear_number(two, 3);
	/* One that has nothing more to say still listens. */
	(void)shutdown(one, SHUT_WR);
	poke(s, 'd', 1);
	hear_number(one, 4);
	hear_number(two, 4);
}

/* A stopped one is left behind: what it has not taken falls out of the ring. */
static void
a_stopped_follower_holds_up_nobody(void **state)
{
	const struct server *s = *state;
	FD_AUTO stopped = call(s, "log 0\n");
	FD_AUTO reader = call(s, "log 0\n");
	size_t heard = 0;
	int last = 0, lost = 0;

	/* More than the ring and two sockets hold. */
	while (heard < 3 * LEDGER_RING) {
		poke(s, 'D', 20);
		while (readable(reader, 5)) {
			const char *line = line_of(reader);
			int number;

			if (sscanf(line, "{\"n\":%d,", &number) != 1)
				continue;
			assert_true(number > last);
			last = number;
			heard += strlen(line);
		}
	}
	while (sscanf(line_of(stopped), "{\"lost\":%d}", &lost) != 1)
		;
	assert_in_range(lost, 1, last);
}

static void
followers_leave_room_for_other_requests(void **state)
{
	const struct server *s = *state;
	int fds[CONTROL_FOLLOWERS];

	poke(s, 'd', 1);
	for (int i = 0; i < CONTROL_FOLLOWERS; i++) {
		fds[i] = call(s, "log 0\n");
		hear_number(fds[i], 1);
	}
	must_begin(ask(s, "log 0\n"), "error ");
	assert_string_equal(ask(s, "policy\nnew.test\n"), "ok\n");
	(void)close(fds[0]);
	wait_until(str_starts(ask(s, "log 0 end\n"), "{\"n\":1,"), PATIENCE_MS);
	FD_AUTO again = -1;
	wait_until((fd_close(&again), again = call(s, "log 0\n"),
		       str_starts(line_of(again), "{")),
	    PATIENCE_MS);
	for (int i = 1; i < CONTROL_FOLLOWERS; i++)
		(void)close(fds[i]);
}

static void
one_client_too_many_is_told_so(void **state)
{
	const struct server *s = *state;
	int fds[CONTROL_CLIENTS];

	for (int i = 0; i < CONTROL_CLIENTS; i++)
		fds[i] = call(s, ""); /* they say nothing */
	FD_AUTO more = call(s, "");
	must_begin(line_of(more), "error ");
	for (int i = 0; i < CONTROL_CLIENTS; i++)
		(void)close(fds[i]);
	wait_until(str_starts(ask(s, "counts\n"), "{"), PATIENCE_MS);
}

static void
who_brings_no_request_is_dropped(void **state)
{
	FD_AUTO fd = call(*state, "coun");

	assert_string_equal(line_of(fd), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(counts_are_one_line),
	    TEST(a_policy_holds_from_its_ok_on),
	    TEST(a_bad_policy_changes_nothing_and_says_why),
	    TEST(the_policy_of_a_client_that_has_left_changes_nothing),
	    TEST(what_is_no_request_is_an_error),
	    TEST(a_policy_that_is_too_long_is_an_error),
	    TEST(the_log_is_read_from_a_position),
	    TEST(followers_get_lines_as_they_come),
	    TEST(a_stopped_follower_holds_up_nobody),
	    TEST(followers_leave_room_for_other_requests),
	    TEST(one_client_too_many_is_told_so),
	    TEST(who_brings_no_request_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
