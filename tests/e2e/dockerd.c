/* A Docker engine that a test may end. */
#include "dockerd.h"
#include "../check.h"
#include "../wait.h"
#include "client.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "outside.h"
#include "proc.h"
#include "stack.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 60000

extern char **environ;

static char dir[40];
static int alive_fd = -1; /* its other end hangs up when this program ends */

/* app/engine.sh VERB dir. What it leaves running is not this program's, so that
 * the stack's end does not take it for the stack's. */
static void
engine(const char *verb)
{
	char script[] = "app/engine.sh", *word = strdup(verb);
	char *argv[] = {script, word, dir, NULL};
	int status = -1, adopts = 0;
	pid_t pid;

	assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &adopts), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	assert_int_equal(
	    posix_spawn(&pid, script, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, adopts), 0);
	free(word);
	if (status != 0)
		fail_msg("engine.sh %s %s failed", verb, dir);
}

/* SBX_ENGINE_CONFIG with live-restore; freed by the caller. */
static char *
config_text(bool live_restore)
{
	const char *given = getenv("SBX_ENGINE_CONFIG");
	json_auto_t *config = json_loads(given != NULL ? given : "{}", 0, NULL);

	assert_true(json_is_object(config));
	json_object_set_new(config, "live-restore", json_boolean(live_restore));
	return json_dumps(config, JSON_COMPACT);
}

/* A process that waits for our end, then cleans up. */
static void
watch(void)
{
	char command[] = "cat; app/engine.sh stop \"$0\"; rm -rf \"$0\"";
	char setsid_[] = "setsid", fork_[] = "--fork", bash[] = "bash",
	     c[] = "-c";
	char *argv[] = {setsid_, fork_, bash, c, command, dir, NULL};
	posix_spawn_file_actions_t files;
	int pair[2], status = -1;
	pid_t pid;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, pair[0], 0);
	assert_int_equal(
	    posix_spawnp(&pid, argv[0], &files, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&files);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd_close(&pair[0]);
	alive_fd = pair[1];
}

void
dockerd_start(bool live_restore)
{
	char socket[64];
	char *text = config_text(live_restore);

	(void)snprintf(dir, sizeof(dir), "/tmp/sbx-engine-XXXXXX");
	assert_non_null(mkdtemp(dir));
	watch();
	assert_int_equal(setenv("SBX_ENGINE_CONFIG", text, 1), 0);
	free(text);
	engine("start");
	(void)snprintf(socket, sizeof(socket), "%s/docker.sock", dir);
	assert_int_equal(setenv("SBX_TEST_DOCKER_SOCKET", socket, 1), 0);
}

pid_t
dockerd_pid(void)
{
	char path[64];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/docker.pid", dir);
	char *text = fd_read_file(path, 64, NULL, &e);
	if (text == NULL)
		fail_msg("%s", e.text);
	pid_t pid = (pid_t)strtol(text, NULL, 10);
	free(text);
	return pid;
}

static bool
restores(bool wanted)
{
	REPLY_AUTO r = docker_do("GET", "/info", NULL);

	return r.status == 200 &&
	       json_is_true(json_at(r.json, "LiveRestoreEnabled")) == wanted;
}

void
dockerd_live_restore(bool live_restore)
{
	char path[64];
	struct err e = ERR_INIT;
	char *text = config_text(live_restore);

	(void)snprintf(path, sizeof(path), "%s/daemon.json", dir);
	check_ok(fd_write_file(path, 0644, text, strlen(text), &e), &e);
	free(text);
	assert_int_equal(kill(dockerd_pid(), SIGHUP), 0);
	wait_until(restores(live_restore), END_MS);
}

void
dockerd_end(int number)
{
	pid_t pid = dockerd_pid();

	assert_true(proc_has(pid, "cmdline", dir));
	assert_int_equal(kill(pid, number), 0);
	wait_until(!proc_alive(pid), END_MS);
}

void
dockerd_resume(void)
{
	engine("resume");
}

void
dockerd_stop(void)
{
	fd_close(&alive_fd);
	wait_until(access(dir, F_OK) != 0, END_MS);
}
