/* Other programs as contenders. */
#include "spawned.h"
#include "../e2e/harness.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS 16

extern char **environ;

static void
read_all(int fd, char *to, size_t size)
{
	static char waste[256 * 1024];
	size_t kept = 0;
	ssize_t n;

	while ((n = read(fd, waste, sizeof(waste))) > 0) {
		size_t fits = to == NULL ? 0 : size - 1 - kept;

		if (fits > (size_t)n)
			fits = (size_t)n;
		if (fits > 0)
			memcpy(to + kept, waste, fits);
		kept += fits;
	}
	if (to != NULL)
		to[kept] = '\0';
}

double
spawned(const char *const *argv, char *ret_said, size_t size)
{
	union {
		const char *const *from;
		char *const *to;
	} args = {argv};
	posix_spawn_file_actions_t files;
	int64_t start = clock_mono_us();
	int status = 0, out[2];
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	assert_int_equal(
	    posix_spawnp(&pid, argv[0], &files, NULL, args.to, environ), 0);
	posix_spawn_file_actions_destroy(&files);
	(void)close(out[1]);
	read_all(out[0], ret_said, size);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	double ms = (double)(clock_mono_us() - start) / 1000;
	assert_int_equal(status, 0);
	(void)close(out[0]);
	return ms;
}

double
spawned_docker_exec(
    const char *container, const char *const *argv, char *ret_said, size_t size)
{
	const char *all[ARGS] = {"docker", "-H", NULL, "exec", container};
	char host[128];
	size_t n = 5;

	(void)snprintf(host, sizeof(host), "unix://%s", stack.docker);
	all[2] = host;
	while (*argv != NULL && n < ARGS - 1)
		all[n++] = *argv++;
	return spawned(all, ret_said, size);
}
