/*
 * The supervisor of one command: one loop around poll(2).
 *
 * Nothing in it blocks on the host: frames wait in a bounded buffer, the
 * command's pipes are not read while that is full (so a slow reader slows the
 * command), and deadlines and kills go on meanwhile.
 */
#include "init/exec.h"
#include "init/command.h"
#include "init/host.h"
#include "init/oom.h"
#include "init/output.h"
#include "init/pid1.h"
#include "init/spawn.h"
#include "init/tree.h"
#include "init/user.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MS 10000  /* for the host to say what to run */
#define READY_MS 5000	  /* for PID 1 to make /work */
#define GRACE_MS 100	  /* for bytes of what outlives the command */
#define TERM_MS 2000	  /* from TERM to KILL */
#define TERM_KILL_MS 1500 /* the same on WIRE_KILL, or where the host left */
#define LAST_MS 2800	  /* from TERM to the exit frame, whatever happens */
#define KILL_AGAIN_MS 5	  /* between two rounds of killing */
#define LOOK_MS 1000	  /* between two looks at what tells no end */
#define NEVER INT64_MAX

struct exec {
	const struct ops *ops;
	struct op *op;	    /* NULL: nothing fences it */
	struct wire_exec x; /* in these two, until it runs: */
	struct buf frame, store;
	struct host host;
	struct output out;
	struct spawn child;
	int signals;	/* signalfd of SIGCHLD */
	bool running;	/* WIRE_STARTED is out */
	bool not_found; /* it could not be executed */
	bool dead;	/* the command itself; its status: */
	int status;
	bool alone;	/* nothing is left below us */
	bool concluded; /* the last frame is in out */
	bool timed_out, fenced;
	int64_t deadline, died_at;
	int64_t ending_at; /* when TERM was sent, or NEVER */
	int64_t kill_at;   /* when KILL follows */
	int64_t oom_before;
	size_t owed[2]; /* bytes in the pipes that must precede the exit */
};

/* What is in the pipes now was written in time, however late we read it. */
static void
count_owed(struct exec *s)
{
	for (int i = 0; i < 2; i++) {
		int bytes = 0;

		s->owed[i] = 0;
		if (s->child.output[i] >= 0 &&
		    ioctl(s->child.output[i], FIONREAD, &bytes) == 0)
			s->owed[i] = (size_t)bytes;
	}
}

static void
reap(struct exec *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != s->child.pid)
			continue;
		s->dead = true;
		s->status = status;
		s->died_at = clock_mono_ms();
		count_owed(s);
	}
	if (pid < 0 && errno == ECHILD && !s->alone && tree_gone()) {
		s->alone = true;
		count_owed(s);
	}
}

/* Begin to end everything: TERM now, KILL after so many milliseconds. */
static void
end(struct exec *s, int64_t term_ms)
{
	int64_t now = clock_mono_ms();

	if (s->kill_at > now + term_ms)
		s->kill_at = now + term_ms;
	if (s->ending_at != NEVER)
		return;
	s->ending_at = now;
	tree_signal(SIGTERM);
}

static void
on_time(struct exec *s)
{
	int64_t now = clock_mono_ms();

	if (now >= s->deadline && !s->dead && s->ending_at == NEVER) {
		s->timed_out = true;
		end(s, TERM_MS);
	}
	if (now >= s->kill_at && !s->alone) {
		tree_kill();
		reap(s);
	}
}

static void
on_signal(struct exec *s)
{
	struct signalfd_siginfo si[8];

	while (read(s->signals, si, sizeof(si)) > 0)
		continue;
	reap(s);
}

/* The child's report: a refusal, or that it runs. */
static void
on_report(struct exec *s)
{
	struct spawn_report r = {0, 0};
	ssize_t n = read(s->child.report, &r, sizeof(r));
	struct buf *frames = output_frames(&s->out);
	char text[WIRE_TEXT];

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	fd_close(&s->child.report);
	s->not_found = n == (ssize_t)sizeof(r);
	if (s->not_found && r.why != 0) {
		(void)snprintf(text, sizeof(text), "%s %.200s: %s",
		    r.why == WIRE_FAIL_CWD ? "cannot enter"
					   : "cannot become user",
		    r.why == WIRE_FAIL_CWD ? s->x.cwd : s->x.user,
		    strerror(r.error));
		wire_put_fail(frames, r.why, text);
		s->concluded = true;
		return;
	}
	wire_put(frames, WIRE_STARTED, NULL, 0);
	s->running = true;
	buf_release(&s->frame);
	buf_release(&s->store);
}

static void
on_output(struct exec *s, int i)
{
	ssize_t n = output_take(
	    &s->out, i == 0 ? WIRE_STDOUT : WIRE_STDERR, s->child.output[i]);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		fd_close(&s->child.output[i]);
	else
		s->owed[i] -= (size_t)n < s->owed[i] ? (size_t)n : s->owed[i];
}

static void
on_host(struct exec *s)
{
	host_receive(&s->host);
	if (s->host.kill)
		end(s, TERM_KILL_MS);
}

static struct wire_exit
exit_of(const struct exec *s)
{
	struct wire_exit exit = {
	    .code = -1, .timed_out = s->timed_out, .fenced = s->fenced};

	if (s->timed_out || s->fenced)
		return exit;
	/* Not even KILL ended it within LAST_MS: say what it would be. */
	int signal = s->dead ? WTERMSIG(s->status) : SIGKILL;
	if (s->dead && WIFEXITED(s->status))
		signal = 0;
	exit.signal = (uint8_t)signal;
	exit.code = signal ? 128 + signal : WEXITSTATUS(s->status);
	exit.not_found = s->not_found;
	/* A shell passes on the KILL of its last command as 137. */
	exit.oom_killed = exit.code == 128 + SIGKILL && s->oom_before >= 0 &&
			  oom_count() > s->oom_before;
	return exit;
}

static void
sooner(int64_t *next, int64_t at, int64_t now)
{
	if (at > now && at < *next)
		*next = at;
}

/* How long nothing needs doing unless something happens, for poll(2). */
static int
idle_ms(const struct exec *s)
{
	int64_t now = clock_mono_ms(), next = NEVER;

	if (!s->dead && s->ending_at == NEVER)
		sooner(&next, s->deadline, now);
	if (s->dead && !s->concluded)
		sooner(&next, s->died_at + GRACE_MS, now);
	if (s->ending_at != NEVER && !s->concluded)
		sooner(&next, s->ending_at + LAST_MS, now);
	if (!s->alone && s->kill_at != NEVER)
		sooner(&next,
		    s->kill_at > now ? s->kill_at : now + KILL_AGAIN_MS, now);
	return next == NEVER ? -1 : clock_left(next);
}

/* Put the exit frame out once all that must precede it is. */
static void
conclude(struct exec *s)
{
	int64_t now = clock_mono_ms();
	bool settled = s->dead;

	if (s->concluded || !s->running)
		return;
	for (int i = 0; i < 2; i++)
		if (s->child.output[i] >= 0 &&
		    (s->owed[i] > 0 || now < s->died_at + GRACE_MS))
			settled = false;
	if (s->ending_at != NEVER)
		settled =
		    (settled && s->alone) || now >= s->ending_at + LAST_MS;
	if (!settled)
		return;
	struct wire_exit exit = exit_of(s);
	wire_put_exit(output_frames(&s->out), &exit);
	s->concluded = true;
	if (s->alone || s->ending_at == NEVER)
		op_over(s->op);
}

enum { P_SIGNALS, P_REPORT, P_HOST, P_OUT, P_INPUT, P_OUTPUT, P_COUNT = 7 };

static void
arm(const struct exec *s, struct pollfd p[P_COUNT])
{
	bool room = s->running && !s->concluded && output_has_room(&s->out);

	p[P_SIGNALS] = (struct pollfd){s->signals, POLLIN, 0};
	p[P_REPORT] = (struct pollfd){s->child.report, POLLIN, 0};
	p[P_HOST] = (struct pollfd){s->host.gone ? -1 : s->host.fd, POLLIN, 0};
	/* Without events: POLLERR tells that nobody reads any more. */
	p[P_OUT] = (struct pollfd){s->out.broken ? -1 : s->out.fd,
	    output_empty(&s->out) ? 0 : POLLOUT, 0};
	p[P_INPUT] = (struct pollfd){
	    host_has_input(&s->host) ? s->child.input : -1, POLLOUT, 0};
	for (int i = 0; i < 2; i++)
		p[P_OUTPUT + i] =
		    (struct pollfd){room ? s->child.output[i] : -1, POLLIN, 0};
}

/* Give back what the command took of its input, in not too small coins. */
static void
give_room(struct exec *s)
{
	struct host *h = &s->host;

	if (h->taken == 0 || !output_has_room(&s->out) ||
	    (h->taken < WIRE_WINDOW / 2 && h->input.size > 0))
		return;
	wire_put_room(output_frames(&s->out), h->taken);
	h->taken = 0;
}

static void
step(struct exec *s)
{
	struct pollfd p[P_COUNT];

	arm(s, p);
	if (poll(p, P_COUNT, idle_ms(s)) < 0)
		memset(p, 0, sizeof(p)); /* EINTR */
	if (p[P_SIGNALS].revents)
		on_signal(s);
	/* The run was given to somebody else: SIGUSR1 of PID 1 woke us. */
	if (!s->concluded && op_is_older(s->ops, s->op)) {
		s->fenced = true;
		end(s, 0);
	}
	if (p[P_REPORT].revents)
		on_report(s);
	for (int i = 0; i < 2; i++)
		if (p[P_OUTPUT + i].revents && output_has_room(&s->out))
			on_output(s, i);
	if (p[P_OUT].revents & ~POLLOUT)
		s->out.broken = true;
	if (p[P_HOST].revents)
		on_host(s);
	if (s->child.input >= 0 && host_has_input(&s->host))
		host_feed(&s->host, &s->child.input);
	on_time(s);
	conclude(s);
	if (!s->concluded)
		give_room(s);
	output_flush(&s->out);
	if ((s->host.gone || s->out.broken) &&
	    !(s->concluded && output_empty(&s->out)))
		end(s, TERM_KILL_MS);
}

static bool
finished(const struct exec *s)
{
	if (s->host.gone || s->out.broken)
		return s->alone || clock_mono_ms() >= s->ending_at + LAST_MS;
	return s->concluded && output_empty(&s->out);
}

/* The host has its answer. What still lives may live on, and gets no SIGPIPE
 * from writing to nobody; or it is being killed, and stubborn. */
static void
linger(struct exec *s)
{
	bool killing = s->kill_at != NEVER;
	int wait = killing ? KILL_AGAIN_MS : tree_tells() ? -1 : LOOK_MS;
	char dropped[4096];

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	fd_close(&s->child.input);
	while (!s->alone) {
		struct pollfd p[3] = {{s->signals, POLLIN, 0},
		    {s->child.output[0], POLLIN, 0},
		    {s->child.output[1], POLLIN, 0}};

		if (poll(p, 3, wait) == 0 && wait < 1000)
			wait *= 2;
		for (int i = 0; i < 2; i++)
			if (p[1 + i].revents &&
			    read(s->child.output[i], dropped,
				sizeof(dropped)) == 0)
				fd_close(&s->child.output[i]);
		if (killing)
			tree_kill();
		on_signal(s);
	}
}

static int
refuse(struct exec *s, enum wire_fail why, const char *text)
{
	struct buf frame = BUF_INIT(WIRE_HEAD + 1 + WIRE_TEXT);
	struct err e = ERR_INIT;

	wire_put_fail(&frame, why, text);
	return fd_write_all(s->out.fd, frame.data, frame.size,
		   clock_mono_ms() + REQUEST_MS, &e) == 0
		   ? 0
		   : 1;
}

static int
start(struct exec *s)
{
	struct passwd_user user;
	char root_home[PASSWD_HOME] = "/", home[COMMAND_HOME];
	struct err e = ERR_INIT;
	enum wire_fail why;

	if (s->op == NULL) /* else PID 1 was, to fork this */
		pid1_wait_ready(READY_MS);
	if (!op_admit(s->ops, s->op, s->x.generation))
		return refuse(s, WIRE_FAIL_FENCED,
		    "the run was given to another holder meanwhile");
	if (user_find(s->x.user, &user, root_home, &e) != 0)
		return refuse(s, WIRE_FAIL_USER, e.text);
	const char **env =
	    command_env(&s->x, &user, root_home, tree_begin(), home);
	s->oom_before = oom_count();
	int rc = spawn_start(&s->child, &s->x, &user, env, &why, &e);
	free(env);
	if (rc != 0)
		return refuse(s, why, e.text);
	tree_command(s->child.pid);
	s->alone = false;
	if (s->x.timeout_ms > 0)
		s->deadline = clock_mono_ms() + s->x.timeout_ms;
	while (!finished(s))
		step(s);
	linger(s);
	return 0;
}

static int
be_supervisor(void)
{
	sigset_t signals;

	/* No ptrace and no /proc/PID/fd for root of the run; and it takes
	 * more than a TERM from there to end this. A write to nobody is
	 * EPIPE, with SIGPIPE blocked. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)sigfillset(&signals);
	(void)sigprocmask(SIG_SETMASK, &signals, NULL);
	if (fd_set_nonblock(STDIN_FILENO, 1) != 0 ||
	    fd_set_nonblock(STDOUT_FILENO, 1) != 0)
		return -1;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGUSR1);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int
exec_run(const struct ops *ops, struct op *op)
{
	struct exec s = {
	    .ops = ops,
	    .op = op,
	    .frame = BUF_INIT(WIRE_HEAD + WIRE_MAX),
	    .store = BUF_INIT(8 * WIRE_MAX),
	    .host = HOST_INIT(STDIN_FILENO),
	    .out = OUTPUT_INIT(STDOUT_FILENO),
	    .signals = be_supervisor(),
	    .alone = true,
	    .deadline = NEVER,
	    .ending_at = NEVER,
	    .kill_at = NEVER,
	};
	struct err e = ERR_INIT;

	if (s.signals < 0)
		return 1;
	if (host_request(&s.host, clock_mono_ms() + REQUEST_MS, &s.frame,
		&s.store, &s.x, &e) == 0)
		return start(&s);
	if (e.kind == ERR_GONE_AWAY)
		return 1;
	return refuse(&s,
	    e.kind == ERR_UNSUPPORTED ? WIRE_FAIL_VERSION : WIRE_FAIL_INTERNAL,
	    e.text);
}
