/* `teploy-sandbox serve`: what it refuses, and what its end leaves. */
#include "harness.h"
#include "lib/fd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 30000

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

/* What serve and the tools said so far has the text. */
static bool
said(const char *text)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/serve.out", stack.base);
	char *all = fd_read_file(path, 1 << 20, NULL, &e);
	bool found = all != NULL && strstr(all, text) != NULL;
	free(all);
	return found;
}

static void
its_token_is_for_root_alone_and_never_shown(void **state)
{
	char path[128];
	struct stat st;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/token", stack.base);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(strlen(stack.token), 64);
	wait_until(said(path), END_MS); /* it says so last */
	assert_false(said(stack.token));
	assert_false(stack_logged(stack.token));
	assert_int_equal(proc_count(stack.token), 0);
}

/* Another user of this box, whose groups are none of ours. */
static bool
somebody_may(const char *path)
{
	assert_int_equal(setegid(65534), 0);
	assert_int_equal(seteuid(65534), 0);
	bool may = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ||
		   faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	return may;
}

/* What is said of the stack itself, and nothing of a run or a token. */
static size_t plain;

static int
look(const char *path, const struct stat *st, int type, struct FTW *at)
{
	static const char *const names[] = {
	    "/nginx.conf", "/problems.conf", "/nginx.pid", "/serve.lock"};

	(void)st;
	(void)at;
	if (type == FTW_D || !somebody_may(path))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_ends(path, names[i])) {
			plain++;
			return 0;
		}
	fail_msg("anybody may open %s", path);
	return -1;
}

static void
other_users_of_the_box_reach_neither_runs_nor_redis_nor_workers(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s, s:{s:s}}", "image", IMAGE_PLAIN, "env", "KEY",
		     "secret"),
	    id);
	plain = 0;
	assert_int_equal(nftw(stack.base, look, 16, FTW_PHYS), 0);
	assert_int_equal(plain, 4);
	run_end(id);
}

static void
a_second_one_on_the_same_directories_is_refused(void **state)
{
	(void)state;
	assert_int_equal(stack_tool("serve", NULL), 1);
	assert_true(said("another teploy-sandbox serve"));
	assert_true(stack_ready());
}

/* A path in the stack's directory, as that setting. */
static void
set_path(const char *name, const char *file)
{
	char setting[160];

	(void)snprintf(
	    setting, sizeof(setting), "%s=%s/%s", name, stack.base, file);
	stack_set(setting);
}

static void
a_second_stack_takes_neither_the_state_nor_the_cache_of_the_first(void **state)
{
	pid_t was[STACK_KINDS], is[STACK_KINDS];
	char text[160];

	(void)state;
	for (int kind = 0; kind < STACK_KINDS; kind++)
		assert_true(
		    stack_pids((enum stack_kind)kind, &was[kind], 1) > 0);
	set_path("SBX_RUN_DIR", "run2");
	assert_int_equal(stack_tool("serve", "--addr=127.0.0.1:1", NULL), 1);
	(void)snprintf(text, sizeof(text),
	    "(pid %d) runs on SBX_STATE_DIR (%s)", (int)stack.serve,
	    stack.state_dir);
	assert_true(said(text));
	assert_true(said("set SBX_STATE_DIR to a directory of this one's own"));
	set_path("SBX_STATE_DIR", "state2");
	assert_int_equal(stack_tool("serve", "--addr=127.0.0.1:1", NULL), 1);
	assert_true(said("is another stack's, which would lose"));
	assert_true(said("app did not start"));
	assert_false(said("that an earlier serve left running"));
	for (int kind = 0; kind < STACK_KINDS; kind++) {
		(void)stack_pids((enum stack_kind)kind, &is[kind], 1);
		assert_int_equal(is[kind], was[kind]);
	}
	assert_true(stack_ready());
	set_path("SBX_RUN_DIR", stack.run_dir + strlen(stack.base) + 1);
	set_path("SBX_STATE_DIR", stack.state_dir + strlen(stack.base) + 1);
}

static void
what_makes_no_sense_is_misuse(void **state)
{
	(void)state;
	assert_int_equal(stack_tool("serve", "--workers", "0", NULL), 2);
	assert_true(said("SBX_WORKERS is \"0\""));
	assert_int_equal(stack_tool("serve", "--addr=0.0.0.0:80", NULL), 2);
	assert_true(said("not loopback"));
	assert_int_equal(stack_tool("serve", "--port", "1", NULL), 2);
	assert_true(said("unknown flag: --port"));
	assert_int_equal(stack_tool("serve", "--workers", NULL), 2);
	assert_int_equal(stack_tool("token", NULL), 2);
	assert_int_equal(stack_tool("start", NULL), 2);
	assert_int_equal(stack_tool("version", NULL), 0);
	assert_true(stack_ready());
}

/* The pid in serve's lock file. */
static pid_t
lock_holder(void)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/serve.lock", stack.run_dir);
	char *text = fd_read_file(path, 32, NULL, &e);
	assert_non_null(text);
	pid_t pid = (pid_t)strtol(text, NULL, 10);
	free(text);
	return pid;
}

static int
end_process(pid_t pid)
{
	int status = -1;

	wait_until(waitpid(pid, &status, WNOHANG) != 0, END_MS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* serve with that flag, beside this program. */
static pid_t
start_tool(const char *flag, const char *value)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(stack_tool("serve", flag, value, NULL));
	return pid;
}

static void
check_finds_what_is_at_fault_and_nothing_else(void **state)
{
	const char *runtime = getenv("SBX_TEST_RUNTIME");
	char setting[160];

	(void)state;
	assert_int_equal(stack_tool("check", NULL), 0);
	assert_true(said("ok     docker "));
	assert_true(said("ok     redis "));
	assert_true(said("ok     cache "));
	assert_false(said("FAULT"));
	stack_set("SBX_RUNTIME=nonesuch");
	stack_set("SBX_EGRESS_RESOLV=/nonexistent/resolv.conf");
	assert_int_equal(stack_tool("check", NULL), 1);
	assert_true(said("Docker knows no runtime nonesuch"));
	assert_true(said("register it in /etc/docker/daemon.json"));
	assert_true(said("set SBX_EGRESS_RESOLV to a file"));
	(void)snprintf(setting, sizeof(setting), "SBX_RUNTIME=%s",
	    runtime != NULL ? runtime : "");
	stack_set(setting);
	stack_set("SBX_EGRESS_RESOLV=");
}

static void
it_destroys_the_runs_where_it_is_told_to(void **state)
{
	char kept[3][ULID_SIZE];

	(void)state;
	for (int i = 0; i < 3; i++)
		run_new(IMAGE_PLAIN, kept[i]);
	assert_int_equal(kill(stack.serve, SIGTERM), 0);
	assert_int_equal(end_process(stack.serve), 0);
	assert_int_equal(docker_count(), 3);
	pid_t tool = start_tool("--destroy-runs", NULL);
	wait_until(stack_ready(), END_MS);
	assert_int_equal(docker_count(), 3);
	assert_int_equal(kill(lock_holder(), SIGTERM), 0);
	assert_int_equal(end_process(tool), 0);
	assert_int_equal(docker_count(), 0);
	stack_restart(SIGTERM);
}

static void
a_port_in_use_is_said_and_nothing_is_left(void **state)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)stack.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(kill(stack.serve, SIGTERM), 0);
	assert_int_equal(end_process(stack.serve), 0);
	wait_until(
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, END_MS);
	/* Bound and deaf: only nginx itself finds out, when all else runs. */
	assert_int_equal(stack_tool("serve", NULL), 1);
	assert_true(said("Address already in use"));
	assert_true(said("nginx did not start"));
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(stack_tool("serve", NULL), 1);
	assert_true(said("something already listens on"));
	for (int kind = 0; kind < STACK_KINDS; kind++) {
		pid_t left;

		assert_int_equal(
		    stack_pids((enum stack_kind)kind, &left, 1), 0);
	}
	fd_close(&fd);
	stack_restart(SIGTERM);
}

static void
a_killed_one_takes_its_processes_along(void **state)
{
	pid_t old[STACK_KINDS][16];
	size_t count[STACK_KINDS];

	(void)state;
	for (int kind = 0; kind < STACK_KINDS; kind++) {
		count[kind] = stack_pids((enum stack_kind)kind, old[kind], 16);
		assert_true(count[kind] > 0);
	}
	/* nginx' workers lose their master first: the next serve ends them. */
	assert_int_equal(kill(old[STACK_NGINX][0], SIGSTOP), 0);
	assert_int_equal(kill(stack.serve, SIGKILL), 0);
	assert_int_equal(kill(old[STACK_NGINX][0], SIGKILL), 0);
	stack_restart(SIGKILL);
	for (int kind = 0; kind < STACK_KINDS; kind++)
		for (size_t i = 0; i < count[kind]; i++)
			wait_until(!proc_alive(old[kind][i]), END_MS);
	assert_true(said("ending the nginx that an earlier serve left"));
	/* Until now it may have been one of the old ones that answered. */
	wait_until(stack_ready(), END_MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(its_token_is_for_root_alone_and_never_shown),
	    cmocka_unit_test(
		other_users_of_the_box_reach_neither_runs_nor_redis_nor_workers),
	    cmocka_unit_test(a_second_one_on_the_same_directories_is_refused),
	    cmocka_unit_test(
		a_second_stack_takes_neither_the_state_nor_the_cache_of_the_first),
	    cmocka_unit_test(what_makes_no_sense_is_misuse),
	    cmocka_unit_test(check_finds_what_is_at_fault_and_nothing_else),
	    cmocka_unit_test(it_destroys_the_runs_where_it_is_told_to),
	    cmocka_unit_test(a_port_in_use_is_said_and_nothing_is_left),
	    cmocka_unit_test(a_killed_one_takes_its_processes_along),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
