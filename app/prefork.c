/* The prefork master. */
#include "prefork.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 512 /* draining ones of earlier SIGHUPs included */
#define NOTIFY_FD (LISTENER_FIRST_FD + 1)
#define SHORT_LIFE_MS 10000 /* a child that dies younger slows the next */
#define BACK_OFF_MIN_MS 100
#define BACK_OFF_MAX_MS 5000
#define KILL_AFTER_SEC 10 /* beyond SBX_DRAIN_SEC */

struct child {
	pid_t pid;
	enum pool pool;
	int generation; /* SIGHUP begins a new one */
	int ready_fd;	/* read end; -1 once it takes requests */
	bool ending;	/* told to drain */
	int64_t started;
};

struct master {
	const struct prefork_setup *setup;
	char program[PATH_MAX];
	struct listener listener[POOLS];
	int64_t next_start[POOLS], back_off[POOLS];
	struct child child[CHILDREN_MAX];
	int count, generation, signals;
	int want; /* workers per pool */
	sigset_t handled;
	int64_t kill_at; /* 0 unless stopping */
};

static void
log_child(const char *event, const struct child *c)
{
	LOG_EVENT(w, event)
	{
		jw_str(&w, "pool", pool_name[c->pool]);
		jw_int(&w, "worker", c->pid);
	}
}

/* -- a child's life ------------------------------------------------------ */

/* In the child. Descriptors of the protocol go to their numbers by way of
 * high ones, since each may lie at the other's. */
_Noreturn static void
become_worker(const struct master *m, enum pool pool, int ready, pid_t master)
{
	char pid[16], notify[16], name[16];
	int listener = fcntl(m->listener[pool].fd, F_DUPFD_CLOEXEC, 10);

	ready = fcntl(ready, F_DUPFD_CLOEXEC, 10);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(notify, sizeof(notify), "%d", NOTIFY_FD);
	(void)snprintf(name, sizeof(name), "%s", pool_name[pool]);
	if (dup2(listener, LISTENER_FIRST_FD) < 0 ||
	    dup2(ready, NOTIFY_FD) < 0 || setenv("LISTEN_PID", pid, 1) != 0 ||
	    setenv("LISTEN_FDS", "1", 1) != 0 ||
	    setenv("LISTEN_FDNAMES", name, 1) != 0)
		_exit(EXIT_FAILURE);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != master)
		_exit(EXIT_FAILURE);
	(void)sigprocmask(SIG_UNBLOCK, &m->handled, NULL);
	(void)execl(m->program, "sbx-app", "--pool", name, "--notify-fd",
	    notify, (char *)NULL);
	_exit(EXIT_FAILURE);
}

static void
start_child(struct master *m, enum pool pool)
{
	pid_t master = getpid();
	int ready[2];

	if (m->count == CHILDREN_MAX || pipe2(ready, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		become_worker(m, pool, ready[1], master);
	(void)close(ready[1]);
	if (pid < 0) {
		(void)close(ready[0]);
		return;
	}
	struct child *c = &m->child[m->count++];
	*c = (struct child){
	    pid, pool, m->generation, ready[0], false, clock_mono_ms()};
	log_child("worker.started", c);
}

static void
end_child(struct child *c)
{
	if (c->ending)
		return;
	c->ending = true;
	(void)kill(c->pid, SIGTERM);
}

static void
bury(struct master *m, struct child *c, int status)
{
	int64_t now = clock_mono_ms(), *back_off = &m->back_off[c->pool];

	if (!c->ending) {
		if (now - c->started >= SHORT_LIFE_MS)
			*back_off = 0;
		else if (*back_off == 0)
			*back_off = BACK_OFF_MIN_MS;
		else if (*back_off < BACK_OFF_MAX_MS)
			*back_off *= 2;
		m->next_start[c->pool] = now + *back_off;
		LOG_AT(LEVEL_ERROR, w, "worker.died")
		{
			jw_str(&w, "pool", pool_name[c->pool]);
			jw_int(&w, "worker", c->pid);
			if (WIFSIGNALED(status))
				jw_int(&w, "signal", WTERMSIG(status));
			else
				jw_int(&w, "exit", WEXITSTATUS(status));
		}
	} else {
		log_child("worker.ended", c);
	}
	fd_close(&c->ready_fd);
	*c = m->child[--m->count];
}

static void
reap(struct master *m)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < m->count; i++)
			if (m->child[i].pid == pid) {
				bury(m, &m->child[i], status);
				break;
			}
}

/* -- keeping the pools at their size ------------------------------------- */

struct census {
	int fresh, waiting, old; /* waiting: the fresh ones not ready yet */
	struct child *spare;	 /* the first to go, where there are too many */
};

/* Of an earlier generation the one that has served longest; of this one the
 * latest, which has the least to finish. */
static bool
goes_before(const struct child *c, const struct child *spare, int generation)
{
	if (spare == NULL)
		return true;
	if (c->generation != generation)
		return spare->generation == generation ||
		       c->started < spare->started;
	return spare->generation == generation && c->started >= spare->started;
}

static struct census
take_census(struct master *m, enum pool pool)
{
	struct census n = {0, 0, 0, NULL};

	for (int i = 0; i < m->count; i++) {
		struct child *c = &m->child[i];

		if (c->pool != pool || c->ending)
			continue;
		bool fresh = c->generation == m->generation;
		n.fresh += fresh;
		n.old += !fresh;
		if (fresh && c->ready_fd >= 0)
			n.waiting++;
		else if (goes_before(c, n.spare, m->generation))
			n.spare = c;
	}
	return n;
}

/* During a replacement each new child is waited for, and an old one drains for
 * each that got ready: at no time do fewer than all of them serve. A new
 * program that does not come up replaces nobody. */
static void
keep_pool(struct master *m, enum pool pool)
{
	int want = m->want;
	struct census n = take_census(m, pool);

	while (n.spare != NULL && n.old + n.fresh - n.waiting > want) {
		end_child(n.spare);
		n = take_census(m, pool);
	}
	if (clock_mono_ms() < m->next_start[pool])
		return;
	int start = want - n.fresh;
	if (n.old > 0 && start > 0)
		start = n.waiting > 0 ? 0 : 1;
	while (start-- > 0)
		start_child(m, pool);
}

static void
keep_pools(struct master *m)
{
	for (int pool = 0; pool < POOLS; pool++)
		if (m->kill_at == 0 && m->setup->serves[pool])
			keep_pool(m, (enum pool)pool);
	if (m->kill_at != 0 && clock_mono_ms() >= m->kill_at)
		for (int i = 0; i < m->count; i++)
			(void)kill(m->child[i].pid, SIGKILL);
}

static void
stop(struct master *m)
{
	if (m->kill_at != 0)
		return;
	m->kill_at = clock_mono_ms() +
		     (m->setup->config->drain_sec + KILL_AFTER_SEC) * 1000;
	/* Nobody may queue on a socket that nobody accepts from. */
	for (int pool = 0; pool < POOLS; pool++)
		listener_close(&m->listener[pool]);
	for (int i = 0; i < m->count; i++)
		end_child(&m->child[i]);
}

static void
resize(struct master *m, int by)
{
	bool refused = m->want + by < 1 || m->want + by > PREFORK_MAX;

	if (m->kill_at != 0)
		return;
	if (!refused)
		m->want += by;
	LOG_AT(refused ? LEVEL_WARNING : LEVEL_INFO, w,
	    refused ? "pool.resize_refused" : "pool.resized")
	jw_int(&w, "processes", m->want);
}

static void
take_signal(struct master *m)
{
	struct signalfd_siginfo info;

	if (read(m->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap(m);
	else if (info.ssi_signo == SIGHUP)
		m->generation++;
	else if (info.ssi_signo == SIGTTIN || info.ssi_signo == SIGTTOU)
		resize(m, info.ssi_signo == SIGTTIN ? 1 : -1);
	else
		stop(m);
}

/* A line; or the end of the pipe, from a child that will never say it. */
static void
take_ready(struct child *c)
{
	char line;

	if (read(c->ready_fd, &line, 1) == 1)
		fd_close(&c->ready_fd);
	else
		(void)kill(c->pid, SIGKILL);
}

static void
wait_event(struct master *m)
{
	struct pollfd p[1 + CHILDREN_MAX];
	int count = m->count;

	p[0] = (struct pollfd){m->signals, POLLIN, 0};
	for (int i = 0; i < count; i++)
		p[1 + i] = (struct pollfd){m->child[i].ready_fd, POLLIN, 0};
	/* Once a second: a start that was put off, or failed, comes again. */
	if (poll(p, (nfds_t)count + 1, m->count > 0 ? 1000 : 100) <= 0)
		return;
	for (int i = 0; i < count; i++)
		if (p[1 + i].revents != 0)
			take_ready(&m->child[i]);
	if (p[0].revents & POLLIN)
		take_signal(m);
}

static int
open_master(struct master *m, struct err *e)
{
	/* The path, not /proc/self/exe: an upgrade puts a new file there. */
	ssize_t n =
	    readlink("/proc/self/exe", m->program, sizeof(m->program) - 1);

	if (n < 0)
		return err_sys(e, ERR_INTERNAL, "cannot read /proc/self/exe");
	m->program[n] = '\0';
	(void)sigemptyset(&m->handled);
	(void)sigaddset(&m->handled, SIGTERM);
	(void)sigaddset(&m->handled, SIGINT);
	(void)sigaddset(&m->handled, SIGHUP);
	(void)sigaddset(&m->handled, SIGTTIN);
	(void)sigaddset(&m->handled, SIGTTOU);
	(void)sigaddset(&m->handled, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &m->handled, NULL);
	m->signals = signalfd(-1, &m->handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (m->signals < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a signalfd");
	for (int pool = 0; pool < POOLS; pool++)
		if (m->setup->serves[pool] &&
		    listener_open(m->setup->config, (enum pool)pool,
			&m->listener[pool], e) != 0)
			return -1;
	if (m->listener[POOL_CONTROL].fd == m->listener[POOL_STREAM].fd)
		return err_set(e, ERR_INPUT,
		    "one socket was handed over for two pools: name them "
		    "(LISTEN_FDNAMES), or one pool (--pool)");
	return 0;
}

int
prefork_run(const struct prefork_setup *setup, struct err *e)
{
	struct master m = {
	    .setup = setup, .want = setup->processes, .signals = -1};
	int rc;

	for (int pool = 0; pool < POOLS; pool++)
		m.listener[pool].fd = -1;
	rc = open_master(&m, e);
	while (rc == 0 && (m.kill_at == 0 || m.count > 0)) {
		keep_pools(&m);
		wait_event(&m);
	}
	for (int pool = 0; pool < POOLS; pool++)
		listener_close(&m.listener[pool]);
	fd_close(&m.signals);
	return rc;
}
