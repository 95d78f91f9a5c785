/* sbx-proxy as a run has it: in its network, in the background, to its end. */
#include "../../proxy/place.h"
#include "../wait.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "netns_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define USER "2000000001"

/* -- a run and its proxy --------------------------------------------------- */

struct run {
	struct netns netns;
	char dir[64];
};

static const char *
path_of(const struct run *r, const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", r->dir, name);
	return path;
}

static void
put(const struct run *r, const char *name, const char *text)
{
	struct err e = ERR_INIT;

	check_ok(
	    fd_write_file(path_of(r, name), 0600, text, strlen(text), &e), &e);
}

/* What it has said so far; the caller frees it. */
static char *
log_of(const struct run *r)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(path_of(r, "log"), 1 << 20, NULL, &e);

	if (text == NULL)
		fail_msg("%s", e.text);
	return text;
}

static bool
log_has(const struct run *r, const char *what)
{
	char *text = log_of(r);
	bool has = strstr(text, what) != NULL;

	free(text);
	return has;
}

static int
start(void **state)
{
	struct run *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -1;
	*state = r;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(r->dir, sizeof(r->dir), "/tmp/sbx-run-XXXXXX");
	if (mkdtemp(r->dir) == NULL)
		return -1;
	put(r, "policy", "admitted.test:1\nprivate 127.0.0.0/8\n");
	put(r, "hosts", "127.0.0.1 admitted.test new.test\n");
	put(r, "empty", "");
	put(r, "log", "");
	return 0;
}

static int
stop(void **state)
{
	static const char *const files[] = {
	    "policy", "hosts", "empty", "log", "control"};
	struct run *r = *state;

	netns_end(&r->netns);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(path_of(r, files[i]));
	int rc = rmdir(r->dir);
	free(r);
	return rc;
}

/* What the command that starts it ends with. */
static int
start_proxy(const struct run *r, pid_t init, const char *policy)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[256], pid[24];
	int status = -1;

	(void)snprintf(program, sizeof(program), "%s/sbx-proxy",
	    build != NULL ? build : "build");
	(void)snprintf(pid, sizeof(pid), "%d", (int)init);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int log = open(path_of(r, "log"), O_WRONLY | O_APPEND);

		/* Who is confined cannot look for leaks. */
		(void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		(void)dup2(log, STDERR_FILENO);
		(void)execl(program, program, "--netns", r->netns.path, "--pid",
		    pid, "--policy", path_of(r, policy), "--control",
		    path_of(r, "control"), "--resolv", path_of(r, "empty"),
		    "--hosts", path_of(r, "hosts"), "--user", USER, "--run",
		    "R1", "--detach", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
must_start(struct run *r)
{
	netns_start(&r->netns);
	int rc = start_proxy(r, r->netns.pid, "policy");
	if (rc != 0)
		fail_msg("it ends with %d; see %s", rc, path_of(r, "log"));
}

/* -- talking to it --------------------------------------------------------- */

/* Everything that is answered; in a static buffer. */
static const char *
exchange(int fd, const char *request)
{
	static char answer[65536];
	struct err e = ERR_INIT;
	size_t size = 0;
	ssize_t n;

	check_ok(fd_write_all(fd, request, strlen(request),
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
	(void)shutdown(fd, SHUT_WR);
	do {
		struct pollfd p = {fd, POLLIN, 0};

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		n = read(fd, answer + size, sizeof(answer) - 1 - size);
		size += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	answer[size] = '\0';
	return answer;
}

static const char *
control(const struct run *r, const char *request)
{
	struct err e = ERR_INIT;
	FD_AUTO fd = fd_connect_unix(path_of(r, "control"), 1000, &e);

	check_ok(fd, &e);
	return exchange(fd, request);
}

/* The status of a request for a host from inside. */
static int
get(const struct run *r, const char *host)
{
	char request[256];
	int status = 0;
	FD_AUTO fd = netns_connect(&r->netns, PLACE_PORT);

	assert_true(fd >= 0);
	(void)snprintf(request, sizeof(request),
	    "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
	    host, host);
	assert_int_equal(
	    sscanf(exchange(fd, request), "HTTP/1.1 %d", &status), 1);
	return status;
}

/* The process that listens on the control socket, as a pidfd. */
static int
proxy_of(const struct run *r, pid_t *ret_pid)
{
	struct err e = ERR_INIT;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	FD_AUTO fd = fd_connect_unix(path_of(r, "control"), 1000, &e);

	check_ok(fd, &e);
	assert_int_equal(
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
	int pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	assert_true(pidfd >= 0);
	*ret_pid = peer.pid;
	return pidfd;
}

static bool
has_ended(int pidfd, int ms)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	return poll(&p, 1, ms) == 1;
}

/* -- tests ----------------------------------------------------------------- */

/* Nothing is tried again here: the first connection must do. */
static void
the_command_ends_when_the_proxy_serves(void **state)
{
	struct run *r = *state;

	must_start(r);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		assert_int_equal(get(r, "denied.test"), 403);
		FD_AUTO pidfd = proxy_of(r, &pid);
		assert_true(log_has(r, "\"proxy.started\",\"run\":\"R1\""));
		netns_end(&r->netns);
		assert_true(has_ended(pidfd, PATIENCE_MS));
		must_start(r);
	}
}

static void
it_has_left_whoever_started_it(void **state)
{
	struct run *r = *state;
	char path[64], to[64];
	pid_t pid;

	must_start(r);
	FD_AUTO pidfd = proxy_of(r, &pid);
	assert_false(has_ended(pidfd, 0));
	assert_int_equal(getsid(pid), pid);
	for (int fd = 0; fd <= 1; fd++) {
		(void)snprintf(
		    path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		ssize_t n = readlink(path, to, sizeof(to) - 1);
		assert_true(n > 0);
		to[n] = '\0';
		assert_string_equal(to, "/dev/null");
	}
}

static void
it_is_the_user_that_it_was_told(void **state)
{
	static const char own[] =
	    "\nUid:\t" USER "\t" USER "\t" USER "\t" USER "\n"
	    "Gid:\t" USER "\t" USER "\t" USER "\t" USER "\n";
	struct run *r = *state;
	struct err e = ERR_INIT;
	char path[64];
	pid_t pid;

	must_start(r);
	FD_AUTO pidfd = proxy_of(r, &pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	char *status = fd_read_file(path, 1 << 16, NULL, &e);
	assert_non_null(status);
	/* Nobody where there is no such number: user_namespaces(7). */
	if (strstr(status, own) == NULL)
		assert_non_null(strstr(status, "\nUid:\t65534\t65534\t65534"));
	assert_non_null(strstr(status, "\nGroups:\t \n"));
	free(status);
}

static void
it_ends_with_its_run_and_frees_the_network(void **state)
{
	struct run *r = *state;
	pid_t pid;

	must_start(r);
	FD_AUTO pidfd = proxy_of(r, &pid);
	FD_AUTO idle = netns_connect(&r->netns, PLACE_PORT);
	assert_true(idle >= 0);
	assert_false(has_ended(pidfd, 0));
	netns_end(&r->netns);
	assert_true(has_ended(pidfd, PATIENCE_MS));
	assert_true(log_has(r, "\"why\":\"run\""));
}

/* Nobody could find it: it would keep the port from the next. */
static void
it_ends_with_its_control_sockets_file(void **state)
{
	struct run *r = *state;
	pid_t pid;

	must_start(r);
	for (int i = 0; i < 3; i++) {
		FD_AUTO pidfd = proxy_of(r, &pid);

		/* What else happens there is no reason. */
		put(r, "policy", "admitted.test:1\n");
		put(r, "other", "");
		assert_int_equal(unlink(path_of(r, "other")), 0);
		assert_int_equal(get(r, "denied.test"), 403);
		assert_false(has_ended(pidfd, 0));
		assert_int_equal(unlink(path_of(r, "control")), 0);
		assert_true(has_ended(pidfd, PATIENCE_MS));
		assert_int_equal(start_proxy(r, r->netns.pid, "policy"), 0);
	}
	assert_true(log_has(r, "\"why\":\"socket\""));
}

static void
one_that_died_is_followed_by_another(void **state)
{
	struct run *r = *state;
	pid_t pid;

	must_start(r);
	for (int i = 0; i < 3; i++) {
		FD_AUTO pidfd = proxy_of(r, &pid);
		FD_AUTO client = netns_connect(&r->netns, PLACE_PORT);

		assert_true(client >= 0);
		assert_int_equal(get(r, "denied.test"), 403);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_true(has_ended(pidfd, PATIENCE_MS));
		assert_int_equal(netns_connect(&r->netns, PLACE_PORT), -1);
		assert_int_equal(start_proxy(r, r->netns.pid, "policy"), 0);
	}
}

static void
a_port_that_is_taken_is_said_so(void **state)
{
	struct run *r = *state;

	netns_start(&r->netns);
	FD_AUTO other = netns_listen(&r->netns, PLACE_PORT, false);
	assert_true(other >= 0);
	assert_int_equal(start_proxy(r, r->netns.pid, "policy"), 1);
	char *said = log_of(r);
	assert_string_equal(said, "sbx-proxy: cannot listen at 127.0.0.1:3128: "
				  "Address already in use\n");
	free(said);
	assert_int_equal(access(path_of(r, "control"), F_OK), -1);
}

static void
what_keeps_it_from_serving_is_one_line(void **state)
{
	struct run *r = *state;
	char *said;

	netns_start(&r->netns);
	/* This process is in another network. */
	assert_int_equal(start_proxy(r, getpid(), "policy"), 1);
	assert_true(log_has(r, "is not in the network"));
	put(r, "log", "");
	assert_int_equal(start_proxy(r, r->netns.pid, "missing"), 1);
	said = log_of(r);
	assert_true(str_starts(said, "sbx-proxy: "));
	assert_non_null(strstr(said, "missing"));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(said);
	put(r, "log", "");
	put(r, "policy", "fine.test\n*.test\nhttp://x.test/\n");
	assert_int_equal(start_proxy(r, r->netns.pid, "policy"), 1);
	said = log_of(r);
	assert_non_null(strstr(said, "policy: line 2: "));
	assert_non_null(strstr(said, "; line 3: "));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(said);
	assert_int_equal(netns_connect(&r->netns, PLACE_PORT), -1);
}

static void
an_empty_policy_denies_all(void **state)
{
	struct run *r = *state;

	netns_start(&r->netns);
	assert_int_equal(start_proxy(r, r->netns.pid, "empty"), 0);
	assert_int_equal(get(r, "admitted.test:1"), 403);
}

/* 502: it is admitted, and nobody listens there. */
static void
the_policy_changes_while_it_runs(void **state)
{
	struct run *r = *state;
	struct stat st;

	must_start(r);
	assert_int_equal(stat(path_of(r, "control"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(get(r, "admitted.test:1"), 502);
	assert_int_equal(get(r, "new.test:1"), 403);
	assert_string_equal(
	    control(r, "policy\nnew.test:1\nprivate 127.0.0.0/8\n"), "ok\n");
	assert_int_equal(get(r, "admitted.test:1"), 403);
	assert_int_equal(get(r, "new.test:1"), 502);
	assert_true(str_starts(control(r, "policy\n*\n"), "error line 1: "));
	assert_int_equal(get(r, "new.test:1"), 502);
	assert_true(log_has(r, "\"policy.changed\""));
	const char *counts = control(r, "counts\n");
	assert_non_null(strstr(counts,
	    "{\"host\":\"new.test\",\"port\":1,\"allowed\":0,\"denied\":1,"
	    "\"failed\":2,"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_command_ends_when_the_proxy_serves),
	    TEST(it_has_left_whoever_started_it),
	    TEST(it_is_the_user_that_it_was_told),
	    TEST(it_ends_with_its_run_and_frees_the_network),
	    TEST(it_ends_with_its_control_sockets_file),
	    TEST(one_that_died_is_followed_by_another),
	    TEST(a_port_that_is_taken_is_said_so),
	    TEST(what_keeps_it_from_serving_is_one_line),
	    TEST(an_empty_policy_denies_all),
	    TEST(the_policy_changes_while_it_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
