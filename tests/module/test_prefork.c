/* sbx-app itself: the prefork master, its workers, inherited sockets. */
#include "../wait.h"
#include "fcgi_client.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000
#define WORKERS 2 /* per pool */
#define CHILDREN_MAX 64

static char dir[64], control[96], stream[96], log_path[96], program[96];

struct children {
	pid_t pid[CHILDREN_MAX];
	int count;
};

static void
set_in_dir(const char *variable, const char *name)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(setenv(variable, path, 1), 0);
}

/* A program of its own, so that a test can put another in its place. */
static void
copy_program(void)
{
	const char *build = getenv("SBX_TEST_BUILD");
	struct err e = ERR_INIT;
	char from[512];
	size_t size;

	(void)snprintf(
	    from, sizeof(from), "%s/sbx-app", build ? build : "build");
	char *bytes = fd_read_file(from, 256 << 20, &size, &e);
	assert_non_null(bytes);
	check_ok(fd_write_file(program, 0755, bytes, size, &e), &e);
	free(bytes);
}

static int
set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_prefork.XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(control, sizeof(control), "%s/control.sock", dir);
	(void)snprintf(stream, sizeof(stream), "%s/stream.sock", dir);
	(void)snprintf(log_path, sizeof(log_path), "%s/log", dir);
	(void)snprintf(program, sizeof(program), "%s/sbx-app", dir);
	copy_program();
	assert_int_equal(setenv("SBX_RUN_DIR", dir, 1), 0);
	set_in_dir("SBX_STATE_DIR", "state");
	set_in_dir("SBX_TOKEN_FILE", "token");
	set_in_dir("SBX_DOCKER_SOCKET", "docker.sock");
	assert_int_equal(setenv("SBX_SOCKET_GROUP", "root", 1), 0);
	assert_int_equal(setenv("SBX_CONTROL_THREADS", "4", 1), 0);
	assert_int_equal(setenv("SBX_STREAM_THREADS", "4", 1), 0);
	assert_int_equal(setenv("SBX_DRAIN_SEC", "5", 1), 0);
	/* Workers of a killed master become ours, to be waited for. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	return 0;
}

static struct children
children_of(pid_t master)
{
	struct children c = {.count = 0};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)master, (int)master);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (c.count < CHILDREN_MAX && fscanf(f, "%d", &c.pid[c.count]) == 1)
		c.count++;
	(void)fclose(f);
	return c;
}

static int
tear_down(void **state)
{
	static const char *const files[] = {"control.sock", "stream.sock",
	    "control.sock.lock", "stream.sock.lock", "log", "sbx-app",
	    "state/cache/instance", "state/cache/repos", "state/cache/runs",
	    "state/cache/trash", "state/cache", "state/instance", "state"};
	char path[128];

	struct children left = children_of(getpid());

	(void)state;
	for (int i = 0; i < left.count; i++)
		(void)kill(left.pid[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		(void)remove(path);
	}
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(left.count, 0);
	return 0;
}

static pid_t
start(const char *option, const char *value)
{
	pid_t pid = fork();

	if (pid == 0) {
		int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)dup2(log, STDERR_FILENO);
		(void)execl(program, program, option, value, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static bool
serves(const char *socket)
{
	struct fcgi_reply r = fcgi_get(socket, "GET", "/health", NULL);
	int status = fcgi_status(&r);

	fcgi_reply_release(&r);
	return status == 200;
}

/* How often the log has that text. */
static int
logged(const char *text)
{
	struct err e = ERR_INIT;
	char *log = fd_read_file(log_path, 16 << 20, NULL, &e);
	int count = 0;

	for (char *at = log; at != NULL && (at = strstr(at, text)) != NULL;
	     at++)
		count++;
	free(log);
	return count;
}

static bool
among(const struct children *c, pid_t pid)
{
	for (int i = 0; i < c->count; i++)
		if (c->pid[i] == pid)
			return true;
	return false;
}

static bool
any_left(const struct children *before, pid_t master)
{
	struct children now = children_of(master);

	for (int i = 0; i < now.count; i++)
		if (among(before, now.pid[i]))
			return true;
	return false;
}

static pid_t
start_master(void)
{
	int before = logged("\"pool.started\"");
	pid_t master = start("--processes", "2");

	wait_until(logged("\"pool.started\"") == before + 2 * WORKERS, LONG_MS);
	assert_true(serves(control));
	assert_true(serves(stream));
	return master;
}

static void
check_end(pid_t pid, int status)
{
	int got;

	assert_int_equal(waitpid(pid, &got, 0), pid);
	assert_true(WIFEXITED(got));
	assert_int_equal(WEXITSTATUS(got), status);
}

static void
stop_master(pid_t master)
{
	assert_int_equal(kill(master, SIGTERM), 0);
	check_end(master, 0);
}

static void
both_pools_serve_until_sigterm(void **state)
{
	pid_t master = start_master();
	struct stat st;

	(void)state;
	assert_int_equal(stat(control, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	stop_master(master);
	assert_int_equal(access(control, F_OK), -1);
	assert_int_equal(access(stream, F_OK), -1);
}

static void
a_worker_that_dies_is_replaced(void **state)
{
	pid_t master = start_master();
	struct children before = children_of(master);

	(void)state;
	for (int i = 0; i < before.count; i++)
		assert_int_equal(kill(before.pid[i], SIGKILL), 0);
	wait_until(!any_left(&before, master) &&
		       logged("\"pool.started\"") == 4 * WORKERS,
	    LONG_MS);
	assert_int_equal(children_of(master).count, 2 * WORKERS);
	assert_true(serves(control));
	assert_true(serves(stream));
	assert_int_equal(logged("\"worker.died\""), 2 * WORKERS);
	stop_master(master);
}

static void
sighup_replaces_every_worker_and_loses_no_request(void **state)
{
	pid_t master = start_master();
	struct children before = children_of(master);

	(void)state;
	assert_int_equal(kill(master, SIGHUP), 0);
	while (any_left(&before, master)) {
		struct fcgi_reply r = fcgi_get(control, "GET", "/health", NULL);

		assert_int_equal(fcgi_status(&r), 200);
		fcgi_reply_release(&r);
	}
	wait_until(children_of(master).count == 2 * WORKERS, LONG_MS);
	assert_int_equal(logged("\"worker.died\""), 0);
	stop_master(master);
}

static void
sigttin_adds_a_worker_and_sigttou_drains_the_latest(void **state)
{
	pid_t master = start_master();
	struct children before = children_of(master);

	(void)state;
	/* One is the least; what was asked beyond is told. */
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(kill(master, SIGTTOU), 0);
	wait_until(children_of(master).count == 2, LONG_MS);
	assert_int_equal(kill(master, SIGTTOU), 0);
	wait_until(logged("\"pool.resize_refused\"") > 0, LONG_MS);
	assert_int_equal(kill(master, SIGTTIN), 0);
	wait_until(children_of(master).count == 2 * WORKERS, LONG_MS);
	assert_true(serves(control));
	/* Who came last goes first. */
	assert_int_equal(kill(master, SIGTTOU), 0);
	wait_until(children_of(master).count == 2, LONG_MS);
	struct children left = children_of(master);
	for (int i = 0; i < left.count; i++)
		assert_true(among(&before, left.pid[i]));
	assert_true(serves(stream));
	assert_int_equal(logged("\"worker.died\""), 0);
	stop_master(master);
}

/* An upgrade that does not start: the old workers go on. */
static void
sighup_with_a_broken_program_replaces_nobody(void **state)
{
	static const char broken[] = "#!/bin/false\n";
	pid_t master = start_master();
	struct children before = children_of(master);
	struct err e = ERR_INIT;

	(void)state;
	check_ok(fd_write_file(program, 0755, broken, strlen(broken), &e), &e);
	assert_int_equal(kill(master, SIGHUP), 0);
	wait_until(logged("\"worker.died\"") > 0, LONG_MS);
	struct children now = children_of(master);
	for (int i = 0; i < before.count; i++)
		assert_true(among(&now, before.pid[i]));
	assert_true(serves(control));
	/* And one that does: it takes over. */
	copy_program();
	wait_until(!any_left(&before, master), LONG_MS);
	assert_true(serves(control));
	stop_master(master);
}

static void
a_killed_master_takes_its_workers_along_and_leaves_the_path(void **state)
{
	pid_t first = start_master();
	struct children orphans = children_of(first);

	(void)state;
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitpid(first, NULL, 0), first);
	pid_t second = start_master();
	for (int i = 0; i < orphans.count; i++)
		check_end(orphans.pid[i], 0);
	assert_true(serves(control));
	stop_master(second);
}

static void
a_second_master_does_not_take_a_living_ones_sockets(void **state)
{
	pid_t master = start_master();

	(void)state;
	check_end(start("--processes", "1"), 1);
	assert_int_equal(logged("another sbx-app"), 1);
	assert_true(serves(control));
	stop_master(master);
}

static void
a_worker_alone_binds_its_pools_socket(void **state)
{
	pid_t pid = start("--pool", "stream");

	(void)state;
	wait_until(logged("\"pool.started\"") == 1, LONG_MS);
	assert_true(serves(stream));
	assert_int_equal(access(control, F_OK), -1);
	stop_master(pid);
	assert_int_equal(access(stream, F_OK), -1);
}

/* A child that finds listener as its one inherited socket. */
static pid_t
start_with(int listener, const char *option, const char *value)
{
	char text[16];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)snprintf(text, sizeof(text), "%d", (int)getpid());
	if (listener == 3)
		(void)fcntl(listener, F_SETFD, 0);
	else
		(void)dup2(listener, 3);
	(void)setenv("LISTEN_PID", text, 1);
	(void)setenv("LISTEN_FDS", "1", 1);
	(void)execl(program, program, option, value, (char *)NULL);
	_exit(127);
}

static void
a_worker_takes_the_socket_that_its_parent_hands_over(void **state)
{
	struct err e = ERR_INIT;
	int listener = fd_listen_unix(control, 0600, 16, &e);

	(void)state;
	check_ok(listener, &e);
	pid_t pid = start_with(listener, "--pool", "control");
	assert_true(serves(control));
	stop_master(pid);
	/* It is not the worker's to remove. */
	assert_int_equal(access(control, F_OK), 0);
	/* One socket cannot be both pools'. */
	check_end(start_with(listener, "--processes", "1"), 2);
	(void)close(listener);
}

static void
wrong_options_and_values_end_it_with_2(void **state)
{
	(void)state;
	check_end(start("--pool", "fast"), 2);
	check_end(start("--processes", "x"), 2);
	check_end(start("--nonsense", "x"), 2);
	check_end(start("--check-config", NULL), 0);
	assert_int_equal(setenv("SBX_WORKERS", "many", 1), 0);
	check_end(start("--check-config", NULL), 2);
	assert_int_equal(logged("SBX_WORKERS is \"many\""), 1);
	assert_int_equal(unsetenv("SBX_WORKERS"), 0);
}

#define APP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    APP_TEST(both_pools_serve_until_sigterm),
	    APP_TEST(a_worker_that_dies_is_replaced),
	    APP_TEST(sighup_replaces_every_worker_and_loses_no_request),
	    APP_TEST(sigttin_adds_a_worker_and_sigttou_drains_the_latest),
	    APP_TEST(sighup_with_a_broken_program_replaces_nobody),
	    APP_TEST(
		a_killed_master_takes_its_workers_along_and_leaves_the_path),
	    APP_TEST(a_second_master_does_not_take_a_living_ones_sockets),
	    APP_TEST(a_worker_alone_binds_its_pools_socket),
	    APP_TEST(a_worker_takes_the_socket_that_its_parent_hands_over),
	    APP_TEST(wrong_options_and_values_end_it_with_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
