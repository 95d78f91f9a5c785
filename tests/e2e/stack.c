/* Starting the real stack, and finding its processes. */
#include "stack.h"
#include "../check.h"
#include "../port.h"
#include "../wait.h"
#include "client.h"
#include "left.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "proc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 90000
#define STOP_MS 60000

struct stack stack;

extern char **environ;

/* What serve is started with, over this process' environment; restarts use it
 * again. */
static char settings[32][300];
static size_t setting_count;

static void
set(const char *name, const char *value)
{
	size_t i = 0, size = strlen(name);

	while (i < setting_count &&
	       !(str_starts(settings[i], name) && settings[i][size] == '='))
		i++;
	assert_true(i < sizeof(settings) / sizeof(settings[0]));
	(void)snprintf(settings[i], sizeof(settings[i]), "%s=%s", name, value);
	setting_count += i == setting_count;
}

void
stack_set(const char *setting)
{
	char *name = strndup(setting, strcspn(setting, "="));

	set(name, setting + strlen(name) + 1);
	free(name);
}

const char *
stack_setting(const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < setting_count; i++)
		if (str_starts(settings[i], name) && settings[i][size] == '=')
			return settings[i] + size + 1;
	return "";
}

/* Everything of a stack is in one directory, on a tmpfs as SBX_RUN_DIR must be.
 * Redis and nginx change users and must be able to pass through. */
static void
make_dirs(void)
{
	(void)snprintf(
	    stack.base, sizeof(stack.base), "/dev/shm/sbx-e2e-XXXXXX");
	if (mkdtemp(stack.base) == NULL || chmod(stack.base, 0711) != 0)
		fail_msg("cannot make %s", stack.base);
	(void)snprintf(
	    stack.run_dir, sizeof(stack.run_dir), "%s/run", stack.base);
	(void)snprintf(
	    stack.state_dir, sizeof(stack.state_dir), "%s/state", stack.base);
}

static void
configure(const char *const *env)
{
	const char *docker = getenv("SBX_TEST_DOCKER_SOCKET");
	const char *runtime = getenv("SBX_TEST_RUNTIME");
	char text[128];

	make_dirs();
	stack.port = port_free();
	(void)snprintf(
	    stack.url, sizeof(stack.url), "http://127.0.0.1:%d", stack.port);
	(void)snprintf(stack.docker, sizeof(stack.docker), "%s",
	    docker != NULL ? docker : "/var/run/docker.sock");
	set("SBX_ADDR", stack.url + strlen("http://"));
	set("SBX_RUN_DIR", stack.run_dir);
	set("SBX_STATE_DIR", stack.state_dir);
	set("SBX_DOCKER_SOCKET", stack.docker);
	set("SBX_RUNTIME", runtime != NULL ? runtime : "");
	set("SBX_SERVER", "test-box");
	set("SBX_REAP_INTERVAL", "1");
	set("SBX_STREAM_THREADS", "64");
	set("SBX_CONTROL_THREADS", "8");
	(void)snprintf(text, sizeof(text), "%s/token", stack.base);
	set("SBX_TOKEN_FILE", text);
	(void)snprintf(text, sizeof(text), "%s/cache", stack.base);
	set("SBX_CACHE_ROOT", text);
	/* Evicted for this box' sake are templates by those tests only that
	 * ask for it. */
	set("SBX_DISK_MIN_FREE_GB", "0");
	/* The same tests over either transport. */
	if (getenv("SBX_TEST_GUEST") != NULL)
		set("SBX_GUEST", getenv("SBX_TEST_GUEST"));
	for (; env != NULL && *env != NULL; env++)
		stack_set(*env);
}

/* serve's own words so far. */
static char *
said(void)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/serve.out", stack.base);
	char *text = fd_read_file(path, 1 << 20, NULL, &e);
	return text != NULL ? text : strdup("(nothing)");
}

/* teploy-sandbox with the stack's settings. It ends with this program, however
 * that ends. */
static pid_t
spawn_tool(const char *const *arguments)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char program[512], out[128], *env[2048];
	char *argv[16] = {"setpriv", "--pdeathsig", "TERM", program};
	posix_spawn_file_actions_t files;
	size_t count = 0, argc = 4;
	pid_t pid;

	(void)snprintf(program, sizeof(program), "%s/teploy-sandbox",
	    build != NULL ? build : "build");
	(void)snprintf(out, sizeof(out), "%s/serve.out", stack.base);
	for (; *arguments != NULL && argc < 15; arguments++)
		argv[argc++] = strdup(*arguments);
	for (char **at = environ; *at != NULL && count < 1900; at++)
		if (!str_starts(*at, "SBX_"))
			env[count++] = *at;
	for (size_t i = 0; i < setting_count; i++)
		env[count++] = settings[i];
	env[count] = NULL;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(
	    &files, 1, out, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&files, 1, 2);
	assert_int_equal(
	    posix_spawnp(&pid, argv[0], &files, NULL, argv, env), 0);
	posix_spawn_file_actions_destroy(&files);
	while (argc > 4)
		free(argv[--argc]);
	return pid;
}

static void
spawn_serve(void)
{
	static const char *const serve[] = {"serve", NULL};

	stack.serve = spawn_tool(serve);
}

int
stack_tool(const char *first, ...)
{
	const char *arguments[12] = {first};
	size_t count = 0;
	int status = 0;
	va_list ap;

	va_start(ap, first);
	while (arguments[count] != NULL && count < 11)
		arguments[++count] = va_arg(ap, const char *);
	va_end(ap);
	assert_int_not_equal(waitpid(spawn_tool(arguments), &status, 0), -1);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
stack_gvisor(void)
{
	const char *runtime = getenv("SBX_TEST_RUNTIME");

	return runtime != NULL && str_starts(runtime, "runsc");
}

static void
skip_one(void **state)
{
	printf("skipped on gVisor: %s\n", (const char *)*state);
	skip();
}

int
stack_skip(const char *name, const struct CMUnitTest *tests, size_t count,
    const char *why)
{
	char *reason = strdup(why);
	struct CMUnitTest *all = calloc(count, sizeof(*all));

	assert_true(reason != NULL && all != NULL);
	for (size_t i = 0; i < count; i++)
		all[i] = (struct CMUnitTest){
		    tests[i].name, skip_one, NULL, NULL, reason};
	int rc = _cmocka_run_group_tests(name, all, count, NULL, NULL);
	free(all);
	free(reason);
	return rc;
}

bool
stack_ready(void)
{
	REPLY_AUTO r = http_do("GET", "/health/ready", NULL, NULL);

	return r.status == 200;
}

static void
await_ready(void)
{
	int64_t deadline = clock_mono_ms() + START_MS;

	while (!stack_ready()) {
		int ended = waitpid(stack.serve, NULL, WNOHANG) != 0;

		if (ended)
			stack.serve = 0;
		if (ended || clock_mono_ms() > deadline)
			fail_msg("serve %s: %s",
			    ended ? "ended" : "is not ready", said());
		(void)poll(NULL, 0, 20);
	}
}

/* The first line of a small file. */
static void
first_line(const char *name, const char *dir, char *to, size_t room)
{
	char path[160];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	char *text = fd_read_file(path, 4096, NULL, &e);
	if (text == NULL)
		fail_msg("%s", e.text);
	(void)snprintf(to, room, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

/* However the program ends, short of SIGKILL: a teardown that failed has not
 * come to stack_stop's end. */
static void
clean_at_exit(void)
{
	if (stack.base[0] != '\0')
		left_clean();
}

void
stack_start(const char *const *env)
{
	configure(env);
	assert_int_equal(atexit(clean_at_exit), 0);
	/* What loses its parent becomes our child: nothing can hide. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	spawn_serve();
	await_ready();
	first_line("token", stack.base, stack.token, sizeof(stack.token));
	first_line("instance", stack.state_dir, stack.instance,
	    sizeof(stack.instance));
}

/* Signal; true where serve ended by itself with status 0. */
static bool
end_serve(int number)
{
	int status = 0;
	int64_t deadline = clock_mono_ms() + STOP_MS;

	(void)kill(stack.serve, number);
	while (waitpid(stack.serve, &status, WNOHANG) == 0) {
		if (clock_mono_ms() > deadline)
			(void)kill(stack.serve, SIGKILL);
		(void)poll(NULL, 0, 10);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void
stack_restart(int number)
{
	if (!end_serve(number) && number == SIGTERM)
		fail_msg("serve did not end well: %s", said());
	spawn_serve();
	await_ready();
}

int
stack_stop(void **state)
{
	BUF_AUTO faults = BUF_INIT(1 << 20);

	(void)state;
	if (stack.serve == 0) { /* it never came up, and that was told */
		left_clean();
		return 0;
	}
	left_before_stop(&faults);
	if (!end_serve(SIGTERM)) {
		char *text = said();

		buf_addf(&faults, "serve did not end well: %s\n", text);
		free(text);
	}
	left_after_stop(&faults);
	left_clean();
	if (faults.size == 0)
		return 0;
	/* cmocka cuts a message at 1024 characters. */
	fprintf(stderr, "%s\n", faults.data);
	fail_msg("the stack did not end cleanly");
	return -1;
}

static const struct {
	const char *name, *arguments;
} kinds[STACK_KINDS] = {
    [STACK_MASTER] = {"sbx-app", " --processes "},
    [STACK_STREAM] = {"sbx-app", " --pool stream"},
    [STACK_CONTROL] = {"sbx-app", " --pool control"},
    [STACK_NGINX] = {"nginx", "nginx: master process"},
    [STACK_NGINX_WORKER] = {"nginx", "nginx: worker process"},
    [STACK_REDIS] = {"redis-server", ""},
    [STACK_REAPER] = {"sbx-reaper", ""},
};

size_t
stack_pids(enum stack_kind kind, pid_t *to, size_t most)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), found = 0;

	for (size_t i = 0; i < count && found < most; i++) {
		const struct proc *p = &all[i];

		if (str_eq(p->name, kinds[kind].name) && p->state != 'Z' &&
		    proc_descends(all, count, p->pid, getpid()) &&
		    proc_has(p->pid, "cmdline", kinds[kind].arguments))
			to[found++] = p->pid;
	}
	return found;
}

void
stack_kill(enum stack_kind kind)
{
	pid_t pid[64];
	size_t count = stack_pids(kind, pid, 64);

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++)
		(void)kill(pid[i], SIGKILL);
	for (size_t i = 0; i < count; i++)
		wait_until(!proc_alive(pid[i]), 10000);
}

size_t
stack_new(enum stack_kind kind, const pid_t *old, size_t old_count)
{
	pid_t now[64];
	size_t count = stack_pids(kind, now, 64), found = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < old_count && old[k] != now[i])
			k++;
		found += k == old_count;
	}
	return found;
}

bool
stack_logged(const char *text)
{
	char pattern[160];
	struct err e = ERR_INIT;
	bool found = false;
	glob_t g;

	(void)snprintf(pattern, sizeof(pattern), "%s/log/*", stack.state_dir);
	if (glob(pattern, 0, NULL, &g) != 0)
		fail_msg("there are no logs in %s", pattern);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		char *bytes = fd_read_file(g.gl_pathv[i], 256 << 20, NULL, &e);

		found |= bytes != NULL && strstr(bytes, text) != NULL;
		free(bytes);
	}
	globfree(&g);
	return found;
}
