/* Starting and ending a run's proxy. */
#include "run/egress_proxy.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 10000 /* some ms, but for a box that is very busy */
#define END_MS 2000    /* for it to see that its init has ended */
#define SYSTEMCTL "/usr/bin/systemctl"
#define ARGUMENTS 17
#define LOG_MAX (1u << 20)
#define SAID_MAX 300 /* bytes of its last words that an error quotes */

/* -- a program that is waited for ------------------------------------------ */

static int
set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	int rc = posix_spawnattr_setsigmask(attr, &none);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(attr, &all);
	if (rc == 0)
		rc = posix_spawnattr_setflags(
		    attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return rc;
}

/* Nothing of this process is the program's: neither its signal mask, nor its
 * descriptors, nor its environment, which can hold a secret. */
static int
spawn(pid_t *ret_pid, const char *program, char *const *argv, const char *log)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const env[] = {path, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;

	int rc = posix_spawn_file_actions_init(&files);
	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return rc;
	}
	rc = set_attributes(&attr);
	if (rc == 0)
		rc = posix_spawn_file_actions_addopen(
		    &files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO,
		    log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(
		    &files, STDOUT_FILENO, STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(
		    &files, STDERR_FILENO + 1);
	if (rc == 0)
		rc = posix_spawn(ret_pid, program, &files, &attr, argv, env);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Its wait(2) status; one that takes too long is killed. */
static int
await(pid_t pid)
{
	int status = -1;
	FD_AUTO fd = pidfd_open(pid, 0);
	struct pollfd p = {fd, POLLIN, 0};
	int64_t deadline = clock_mono_ms() + START_MS;

	while (poll(&p, 1, clock_left(deadline)) < 0 && errno == EINTR)
		;
	if (p.revents == 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The last line of what it said, which is why it failed. */
static int
failed(const char *program, int status, const char *log, struct err *e)
{
	struct err ignored = ERR_INIT;
	size_t size = 0;
	char *said = fd_read_file(log, LOG_MAX, &size, &ignored);
	const char *last = "";

	while (size > 0 && said[size - 1] == '\n')
		said[--size] = '\0';
	if (size > 0) {
		last = strrchr(said, '\n');
		last = last != NULL ? last + 1 : said;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		(void)err_set(e, ERR_PROXY, "%s took too long: %.*s", program,
		    SAID_MAX, last);
	else
		(void)err_set(e, ERR_PROXY, "%s failed (%#x): %.*s", program,
		    (unsigned)status, SAID_MAX, last);
	free(said);
	return -1;
}

/* Of the arguments the program's name is none. */
static int
run_program(const char *program, const char *const *arguments, const char *log,
    struct err *e)
{
	char *argv[ARGUMENTS + 2] = {NULL};
	pid_t pid = -1;

	/* Nobody writes to them: posix_spawn(3) is older than const. */
	memcpy(&argv[0], &program, sizeof(argv[0]));
	for (size_t i = 0; i < ARGUMENTS && arguments[i] != NULL; i++)
		memcpy(&argv[i + 1], &arguments[i], sizeof(argv[0]));
	int rc = spawn(&pid, program, argv, log);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, ERR_PROXY, "cannot run %s", program);
	}
	int status = await(pid);
	return status == 0 ? 0 : failed(program, status, log, e);
}

/* -- two ways -------------------------------------------------------------- */

/* As one user all proxies would have the pipes of one (pipe(7)). "" for
 * nobody. */
static void
user_of(const struct config *config, const char *id, char to[24])
{
	int64_t user = config->egress_uid_base + (str_hash(id) & 0xffff);

	to[0] = '\0';
	if (config->egress_uid_base > 0)
		(void)snprintf(to, 24, "%lld", (long long)user);
}

static int
start_spawn(const struct config *config, const struct egress_place *at,
    const char *log, struct err *e)
{
	char policy[RUN_PATH_SIZE], control[RUN_PATH_SIZE], pid[24], user[24];
	const char *arguments[ARGUMENTS + 1] = {"--netns", at->netns, "--pid",
	    pid, "--policy", policy, "--control", control, "--resolv",
	    config->egress_resolv, "--run", at->id, "--detach"};
	size_t n = 13;

	run_path(config, at->id, EGRESS_POLICY, policy);
	run_path(config, at->id, EGRESS_SOCKET, control);
	(void)snprintf(pid, sizeof(pid), "%lld", (long long)at->pid);
	user_of(config, at->id, user);
	if (*user != '\0') {
		arguments[n++] = "--user";
		arguments[n++] = user;
	}
	if (*at->subnet != '\0') {
		arguments[n++] = "--subnet";
		arguments[n++] = at->subnet;
	}
	return run_program(config->proxy, arguments, log, e);
}

/* Its words are in the journal. Restart: one that hangs must go. */
static int
start_systemd(const struct config *config, const struct egress_place *at,
    const char *log, struct err *e)
{
	static const char strange[] = " \t\n\"'\\$";
	char path[RUN_PATH_SIZE], unit[64], text[RUN_PATH_SIZE + 4096];
	char user[24];
	const char *const arguments[] = {
	    "--quiet", "--no-ask-password", "restart", unit, NULL};

	user_of(config, at->id, user);
	int n = snprintf(text, sizeof(text),
	    "NETNS=%s\nPID=%lld\nRESOLV=%s\nMORE=\"%s%s %s%s\"\n", at->netns,
	    (long long)at->pid, config->egress_resolv,
	    *user != '\0' ? "--user " : "", user,
	    *at->subnet != '\0' ? "--subnet " : "", at->subnet);
	if (n < 0 || (size_t)n >= sizeof(text) ||
	    strpbrk(at->netns, strange) != NULL ||
	    strpbrk(config->egress_resolv, strange) != NULL)
		return err_set(e, ERR_PROXY,
		    "the path of a network namespace, or SBX_EGRESS_RESOLV, is "
		    "a strange one");
	(void)snprintf(unit, sizeof(unit), "sbx-proxy@%s.service", at->id);
	run_path(config, at->id, EGRESS_UNIT, path);
	if (fd_write_file(path, 0600, text, (size_t)n, e) != 0)
		return -1;
	return run_program(SYSTEMCTL, arguments, log, e);
}

/* setns(2) takes CAP_SYS_ADMIN, which our units leave to the proxy's. */
static bool
by_systemd(const struct config *config)
{
	if (!str_eq(config->egress_start, "auto"))
		return str_eq(config->egress_start, "systemd");
	return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0;
}

int
egress_proxy_start(
    const struct config *config, const struct egress_place *at, struct err *e)
{
	char log[RUN_PATH_SIZE];

	run_path(config, at->id, EGRESS_LOG, log);
	return by_systemd(config) ? start_systemd(config, at, log, e)
				  : start_spawn(config, at, log, e);
}

/* -- the end --------------------------------------------------------------- */

/* Who listens on the control socket, as a pidfd; -1 where nobody does. */
static int
find_process(const char *path)
{
	struct err ignored = ERR_INIT;
	struct ucred peer = {0, 0, 0};
	socklen_t size = sizeof(peer);
	FD_AUTO fd = fd_connect_unix(path, END_MS, &ignored);

	if (fd < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	    peer.pid <= 0)
		return -1;
	return pidfd_open(peer.pid, 0);
}

static bool
has_ended(int pidfd, int timeout_ms)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	return poll(&p, 1, timeout_ms) > 0;
}

int
egress_proxy_end(const struct config *config, const char *id, struct err *e)
{
	char path[RUN_PATH_SIZE];

	run_path(config, id, EGRESS_SOCKET, path);
	FD_AUTO fd = find_process(path);
	if (fd < 0 || has_ended(fd, END_MS))
		return 0;
	if (pidfd_send_signal(fd, SIGKILL, NULL, 0) != 0 && errno != ESRCH)
		return err_sys(e, ERR_PROXY, "cannot end a proxy");
	if (!has_ended(fd, END_MS))
		return err_set(e, ERR_PROXY, "a proxy does not end");
	return 0;
}
