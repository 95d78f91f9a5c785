/* PID 1 of a run. */
#include "init/pid1.h"
#include "init/serve.h"
#include "init/sockets.h"
#include "init/user.h"
#include "init/work.h"
#include "lib/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The longest life of a run: where nobody is left to end it, it ends itself. */
#define LIFE_MS (INT64_C(24) * 60 * 60 * 1000)
#define SIGNALS 3 /* that mean something */

static void
reap(struct serve *server)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		serve_reaped(server, pid, status);
}

/*
 * True where it is to end.
 *
 * Of each number one signal waits at most (signal(7)), and of one that waits
 * from inside another from outside is no more told. So a reset is taken from
 * whoever sends it: only root of the run can, who may kill all in it anyway.
 * TERM is not: a sender that this pid namespace cannot name has pid 0.
 *
 * The lowest number comes first, and no more is read than once of each: they
 * can be sent faster than they are read.
 */
static bool
on_signals(int signals)
{
	struct signalfd_siginfo si[SIGNALS];
	ssize_t got = read(signals, si, sizeof(si));
	bool end = false;

	for (size_t i = 0; (ssize_t)((i + 1) * sizeof(si[0])) <= got; i++) {
		/* The kernel kills everything in the run when PID 1 ends. */
		if (si[i].ssi_signo == SIGTERM && si[i].ssi_pid == 0)
			end = true;
		/* A takeover by force: everything but us, without a fork, so
		 * that it works where the pids are used up (kill(2): -1). */
		if (si[i].ssi_signo == SIGUSR1)
			(void)kill(-1, SIGKILL);
	}
	return end;
}

/* Those that mean something; all others wait for ever. */
static int
open_signals(void)
{
	sigset_t some;

	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGUSR1);
	(void)sigaddset(&some, SIGTERM);
	(void)sigaddset(&some, SIGCHLD);
	return signalfd(-1, &some, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
serve_until_told(struct serve *server, int signals)
{
	struct pollfd p[1 + SERVE_POLLS];
	int64_t end = clock_mono_ms() + LIFE_MS;
	int left;

	while ((left = clock_left(end)) > 0) {
		int wait = serve_arm(server, p + 1);

		if (wait < 0 || wait > left)
			wait = left;

		p[0] = (struct pollfd){signals, POLLIN, 0};
		if (poll(p, 1 + SERVE_POLLS, wait) < 0)
			continue;
		if (p[0].revents && on_signals(signals))
			return 0;
		/* Before anything is forked: a pid that is free again must not
		 * be taken for its former owner. */
		reap(server);
		/* Root of the run can stop what keeps deadlines. */
		if (p[0].revents)
			serve_resume(server);
		serve_step(server, p + 1);
	}
	return 0;
}

int
pid1_run(
    const char *user, const char *socket, uint64_t memory_mib, const char *own)
{
	struct serve server;
	struct passwd_user u = {.uid = 0};
	struct err e = ERR_INIT;
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* No ptrace, no /proc/1/mem, no /proc/1/fd for root of the run. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)umask(022);
	(void)!chdir("/");
	if (sockets_confine() != 0) {
		(void)fprintf(stderr, "sbx-init: cannot confine sockets: %s\n",
		    strerror(errno));
		return 1;
	}
	/* The run is of use all the same: an exec may name another user. */
	if (user_find(user, &u, NULL, &e) != 0)
		(void)fprintf(stderr, "sbx-init: %s\n", e.text);
	if (work_make(&u) != 0) {
		(void)fprintf(stderr, "sbx-init: cannot make %s: %s\n",
		    WORK_PATH, strerror(errno));
		return 1;
	}
	work_own(own, &u);
	int signals = open_signals();
	if (signals < 0)
		return 1;
	serve_init(&server, &u, memory_mib);
	if (serve_open(&server, socket, &e) != 0)
		(void)fprintf(stderr, "sbx-init: %s\n", e.text);
	(void)prctl(PR_SET_NAME, PID1_NAME);
	return serve_until_told(&server, signals);
}
