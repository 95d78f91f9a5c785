/* The child that serves. */
#include "origin.h"
#include "../check.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct origin origin = {.input = -1};

extern char **environ;

/* Start it with a pipe on either side; what it says is read from *ret_from. */
static void
spawn(int *ret_from)
{
	char program[] = "python3", script[] = "tests/e2e/clients/origin.py";
	char *argv[] = {program, script, origin.dir, NULL};
	posix_spawn_file_actions_t actions;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(
	    &actions, from[1], STDOUT_FILENO);
	int rc =
	    posix_spawnp(&origin.pid, program, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(to[0]);
	(void)close(from[1]);
	assert_int_equal(rc, 0);
	origin.input = to[1];
	*ret_from = from[0];
}

void
origin_start(void)
{
	int from;

	(void)snprintf(
	    origin.dir, sizeof(origin.dir), "/tmp/sbx-origin-XXXXXX");
	assert_non_null(mkdtemp(origin.dir));
	spawn(&from);
	FILE *said = fdopen(from, "r");
	assert_non_null(said);
	if (fscanf(said, "%d %d %d %d", &origin.http, &origin.https,
		&origin.wild, &origin.refused) != 4)
		fail_msg("origin.py did not start");
	(void)fclose(said);
	(void)snprintf(
	    origin.www, sizeof(origin.www), "www.test:%d", origin.http);
	(void)snprintf(
	    origin.git, sizeof(origin.git), "git.test:%d", origin.http);
	(void)snprintf(origin.resolv, sizeof(origin.resolv),
	    "SBX_EGRESS_RESOLV=%s/resolv.conf", origin.dir);
	(void)snprintf(origin.private, sizeof(origin.private),
	    "SBX_EGRESS_PRIVATE=127.0.0.0/8");
}

static void
remove_tree(char *dir)
{
	char program[] = "rm", flags[] = "-rf";
	char *argv[] = {program, flags, dir, NULL};
	pid_t pid;

	if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

void
origin_stop(void)
{
	if (origin.input == -1)
		return;
	(void)close(origin.input);
	(void)waitpid(origin.pid, NULL, 0);
	remove_tree(origin.dir);
	origin.input = -1;
}

bool
origin_asked(const char *name)
{
	char path[64], line[300];
	bool found = false;

	(void)snprintf(path, sizeof(path), "%s/queries", origin.dir);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strcmp(line, name) == 0;
	}
	(void)fclose(f);
	return found;
}
