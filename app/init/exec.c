/* The supervisor of one command. */
#include "init/exec.h"
#include "init/command.h"
#include "init/feed.h"
#include "init/supervise.h"
#include "init/tree.h"
#include "init/user.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define REQUEST_MS 10000 /* for the host to say what to run */

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

/* What PID 1 and this share of it. */
static void
use_object(struct exec *s)
{
	if (s->x.id == NULL)
		return;
	s->object = op_object(s->op);
	s->ring = s->object->ring;
	s->host.tty = s->x.cols > 0;
	/* With a piece from elsewhere, and the end of a terminal's. */
	s->host.input.max =
	    (s->ring != NULL ? WIRE_WINDOW_KEPT : WIRE_WINDOW) + FEED_PIECE + 2;
}

static int
start(struct exec *s)
{
	struct passwd_user user;
	char root_home[PASSWD_HOME] = "/", home[COMMAND_HOME];
	struct err e = ERR_INIT;
	enum wire_fail why;

	if (!op_admit(s->ops, s->op, s->x.generation))
		return refuse(s, WIRE_FAIL_FENCED,
		    "the run was given to another holder meanwhile");
	if (user_find(s->x.user, &user, root_home, &e) != 0)
		return refuse(s, WIRE_FAIL_USER, e.text);
	const char **env =
	    command_env(&s->x, &user, root_home, tree_begin(), home);
	life_init(&s->life);
	int rc = spawn_start(&s->child, &s->x, &user, env, &why, &e);
	free(env);
	if (rc != 0)
		return refuse(s, why, e.text);
	life_begin(&s->life, s->child.pid, s->x.timeout_ms);
	use_object(s);
	supervise(s);
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
	    .feed = FEED_FD,
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
