/* Starting the reaper, and scripting what its engine says. */
#include "reaper_fixture.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/jw.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "run/place.h"
#include "run/warm.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIDS_MAX 4
#define KEPT_MAX 64

struct fake *engine;

static char dir[64];
static pid_t pids[PIDS_MAX];
/* Rules keep pointers: these live until the test ends. */
static char *kept[KEPT_MAX];
static size_t kept_count;

static const char *
keep(char *text)
{
	assert_true(kept_count < KEPT_MAX);
	kept[kept_count++] = text;
	return text;
}

int
reaper_group_open(void **state)
{
	return fixture_open(state);
}

int
reaper_group_close(void **state)
{
	return fixture_close(state);
}

static void
make_directory(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s%s", dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void
set_variable(const char *name, const char *value, const char *tail)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%s%s", value, tail);
	(void)setenv(name, text, 1);
}

int
reaper_test_open(void **state)
{
	char path[128];
	struct err e = ERR_INIT;
	static const char instance[] = REAPER_INSTANCE "\n";

	(void)fixture_empty(state);
	(void)snprintf(dir, sizeof(dir), "/tmp/sbx-reaper-XXXXXX");
	assert_non_null(mkdtemp(dir));
	make_directory("/run");
	make_directory("/run/runs");
	make_directory("/state");
	(void)snprintf(path, sizeof(path), "%s/state/instance", dir);
	check_ok(fd_write_file(path, 0600, instance, strlen(instance), &e), &e);
	engine = fake_new();
	fake_on(engine, (struct fake_rule){.method = "DELETE",
			    .path = "/containers/teploy-sbx-*",
			    .status = 204});
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/volumes?*" REAPER_INSTANCE "*",
			    .status = 200,
			    .body = "{\"Volumes\":null}"});
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/images/json?*" REAPER_INSTANCE "*",
			    .status = 200,
			    .body = "[]"});
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/networks?*" REAPER_INSTANCE "*",
			    .status = 200,
			    .body = "[]"});
	reaper_containers(NULL, 0);
	set_variable("SBX_RUN_DIR", dir, "/run");
	set_variable("SBX_STATE_DIR", dir, "/state");
	set_variable("SBX_CACHE_ROOT", dir, "/cache");
	set_variable("SBX_REDIS_URL", fixture.url, "");
	set_variable("SBX_DOCKER_SOCKET", fake_socket(engine), "");
	set_variable("SBX_REAP_INTERVAL", "1", "");
	return 0;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

int
reaper_test_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < PIDS_MAX; i++)
		if (pids[i] != 0)
			(void)reaper_end(pids[i], SIGKILL);
	fake_free(engine);
	(void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	while (kept_count > 0)
		free(kept[--kept_count]);
	return 0;
}

static void
exec_reaper(void)
{
	const char *build = getenv("SBX_TEST_BUILD");
	char path[512], log[96];

	(void)snprintf(path, sizeof(path), "%s/sbx-reaper",
	    build != NULL ? build : "build");
	(void)snprintf(log, sizeof(log), "%s/log", dir);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	(void)dup2(fd, STDERR_FILENO);
	(void)execl(path, path, (char *)NULL);
	_exit(127);
}

pid_t
reaper_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		exec_reaper();
	for (size_t i = 0; i < PIDS_MAX; i++)
		if (pids[i] == 0) {
			pids[i] = pid;
			return pid;
		}
	fail_msg("too many reapers");
	return -1;
}

int
reaper_end(pid_t pid, int signal_number)
{
	int status = 0;

	if (signal_number != 0)
		(void)kill(pid, signal_number);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (size_t i = 0; i < PIDS_MAX; i++)
		if (pids[i] == pid)
			pids[i] = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool
reaper_logged(const char *text)
{
	char path[96];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/log", dir);
	char *log = fd_read_file(path, 1u << 20, NULL, &e);
	bool found = log != NULL && strstr(log, text) != NULL;
	free(log);
	return found;
}

/* -- directories ------------------------------------------------------------
 */

static void
directory_path(const char *id, char to[128])
{
	(void)snprintf(to, 128, "%s/run/runs/%s", dir, id);
}

void
reaper_make_directory(const char *id, int age_sec)
{
	char path[128], env[160];
	struct err e = ERR_INIT;
	struct timespec times[2] = {{.tv_sec = time(NULL) - age_sec}};

	directory_path(id, path);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(env, sizeof(env), "%s/env", path);
	check_ok(fd_write_file(env, 0600, "A=b", 4, &e), &e);
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

void
reaper_put_file(const char *id, const char *name, const char *text)
{
	char path[128], file[160];
	struct err e = ERR_INIT;

	directory_path(id, path);
	(void)snprintf(file, sizeof(file), "%s/%s", path, name);
	check_ok(fd_write_file(file, 0600, text, strlen(text), &e), &e);
}

bool
reaper_has_directory(const char *id)
{
	char path[128];

	directory_path(id, path);
	return access(path, F_OK) == 0;
}

/* -- containers ---------------------------------------------------------------
 */

static void
put_label(
    struct jw *w, const struct listed *l, const char *word, const char *value)
{
	char key[64];

	if (l->without != NULL && str_eq(l->without, word))
		return;
	(void)snprintf(key, sizeof(key), "teploy.sandbox.%s", word);
	jw_str(w, key, value);
}

static void
put_number(
    struct jw *w, const struct listed *l, const char *word, int64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%lld", (long long)value);
	put_label(w, l, word, text);
}

static void
put_container(struct jw *w, const struct listed *l)
{
	char name[RUN_NAME_SIZE + 1] = "/";
	struct label warm[WARM_LABELS];

	run_name(l->run->id, name + 1);
	jw_open(w, '{');
	jw_str(w, "Id", name + 1); /* any text will do */
	jw_key(w, "Names");
	jw_open(w, '[');
	jw_str(w, NULL, name);
	jw_close(w, ']');
	jw_str(w, "Image", l->run->image);
	jw_str(w, "State", l->status);
	jw_int(w, "Created", time(NULL) - l->age_sec);
	jw_key(w, "Labels");
	jw_open(w, '{');
	put_label(w, l, "run", l->run_label ? l->run_label : l->run->id);
	put_label(w, l, "instance", REAPER_INSTANCE);
	put_label(w, l, "image", l->run->image);
	put_label(w, l, "network", l->run->network);
	put_label(w, l, "user", l->run->user);
	put_label(w, l, "labels", l->run->labels);
	put_label(w, l, "cpus", "0.5");
	put_number(w, l, "created", l->run->created_ms);
	put_number(w, l, "ttl", l->run->ttl_sec);
	put_number(w, l, "memory", l->run->memory_mb);
	put_number(w, l, "pids", l->run->pids);
	if (l->run->guest_wire > 0) /* older versions knew no such label */
		put_number(w, l, "wire", l->run->guest_wire);
	size_t count = warm_labels(l->run, warm);
	for (size_t i = 0; i < count; i++)
		jw_str(w, warm[i].key, warm[i].value);
	jw_close(w, '}');
	jw_close(w, '}');
}

void
reaper_containers(const struct listed *listed, size_t count)
{
	struct buf body = BUF_INIT(1u << 20);
	struct jw w = JW_INIT(&body);

	jw_open(&w, '[');
	for (size_t i = 0; i < count; i++)
		put_container(&w, &listed[i]);
	jw_close(&w, ']');
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/containers/json*" REAPER_INSTANCE "*",
			    .status = 200,
			    .body = keep(buf_take(&body))});
}

void
reaper_inspect(
    const struct run *run, const char *status, int code, bool oom_killed)
{
	struct buf body = BUF_INIT(1u << 16), path = BUF_INIT(256);
	char name[RUN_NAME_SIZE];
	bool running = str_eq(status, "running");

	run_name(run->id, name);
	buf_addf(&path, "/containers/%s/json", name);
	buf_addf(&body,
	    "{\"Id\":\"%s\",\"Name\":\"/%s\",\"Created\":\"2026-01-01T00:00:"
	    "00Z\",\"Config\":{\"Image\":\"i\",\"Labels\":{}},\"State\":{"
	    "\"Status\":\"%s\",\"Running\":%s,\"OOMKilled\":%s,\"ExitCode\":%d,"
	    "\"FinishedAt\":\"%s\",\"Pid\":0}}",
	    name, name, status, running ? "true" : "false",
	    oom_killed ? "true" : "false", code,
	    running ? "0001-01-01T00:00:00Z" : "2026-01-02T03:04:05.678Z");
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = keep(buf_take(&path)),
			    .status = 200,
			    .body = keep(buf_take(&body))});
}

size_t
reaper_removals(const char *id)
{
	char name[RUN_NAME_SIZE], path[128];

	run_name(id, name);
	(void)snprintf(path, sizeof(path), "/containers/%s*", name);
	return fake_seen(engine, "DELETE", path);
}
