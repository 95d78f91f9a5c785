/* Starting the command. */
#include "init/spawn.h"
#include "init/command.h"
#include "init/tty.h"
#include "init/user.h"
#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The supervisor must outrun what it kills: a fork bomb's processes otherwise
 * get most of the run's processor. Nice values weigh only within the run's own
 * cgroup, so this costs a command nothing against other runs and the host.
 */
#define NICE 19
#define OOM_SCORE_ADJ "500" /* taken before the supervisor and PID 1 */

enum { READ_END, WRITE_END };
enum { MASTER, SLAVE };

/* Ends for both sides of the child's four pipes, or of a terminal and one
 * pipe. */
struct ends {
	int input[2], output[2], error[2], report[2], tty[2];
};

static void
close_ends(struct ends *p)
{
	for (int i = 0; i < 2; i++) {
		fd_close(&p->input[i]);
		fd_close(&p->output[i]);
		fd_close(&p->error[i]);
		fd_close(&p->report[i]);
		fd_close(&p->tty[i]);
	}
}

/* Reads as end-of-file: /dev/null, or -1 where the image has no true one (the
 * workload may have put a fifo there). Programs tell it from a pipe. */
static int
open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode) ||
	    fd_set_nonblock(fd, 0) != 0)
		fd_close(&fd);
	return fd;
}

static int
open_pipes(struct ends *p, bool open_stdin)
{
	/* The default 64 KiB: larger pipes of 500 commands run into the
	 * kernel's limit per user (pipe(7), pipe-user-pages-soft). */
	if (pipe2(p->output, O_CLOEXEC) != 0 || pipe2(p->error, O_CLOEXEC) != 0)
		return -1;
	if (!open_stdin)
		p->input[READ_END] = open_null();
	if (p->input[READ_END] < 0 && pipe2(p->input, O_CLOEXEC) != 0)
		return -1;
	if (!open_stdin)
		fd_close(&p->input[WRITE_END]);
	else if (fd_set_nonblock(p->input[WRITE_END], 1) != 0)
		return -1;
	if (fd_set_nonblock(p->output[READ_END], 1) != 0 ||
	    fd_set_nonblock(p->error[READ_END], 1) != 0)
		return -1;
	return 0;
}

/* The master reads as output, and takes input. */
static int
open_tty(struct ends *p, const struct wire_exec *x, struct err *e)
{
	if (tty_open(x->cols, x->rows, &p->tty[MASTER], &p->tty[SLAVE], e) != 0)
		return -1;
	p->input[WRITE_END] = fcntl(p->tty[MASTER], F_DUPFD_CLOEXEC, 0);
	p->output[READ_END] = fcntl(p->tty[MASTER], F_DUPFD_CLOEXEC, 0);
	if (p->input[WRITE_END] < 0 || p->output[READ_END] < 0)
		return err_sys(e, ERR_INTERNAL, "cannot use a terminal");
	return 0;
}

static int
open_ends(struct ends *p, const struct wire_exec *x, struct err *e)
{
	if (pipe2(p->report, O_CLOEXEC) != 0 ||
	    fd_set_nonblock(p->report[READ_END], 1) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a pipe");
	if (x->cols > 0)
		return open_tty(p, x, e);
	if (open_pipes(p, x->open_stdin || x->feedable) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a pipe");
	return 0;
}

static void
write_file(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

static void
reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* /dev/stdout is opened anew through /proc: the pipe behind it must belong to
 * the user. gVisor's cannot be given away (EPERM), and a command that does not
 * open it works all the same. */
static void
give_pipes(const struct ends *p, const struct passwd_user *user)
{
	const int fd[] = {
	    p->input[READ_END], p->output[WRITE_END], p->error[WRITE_END]};
	struct stat st;

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fstat(fd[i], &st) == 0 && S_ISFIFO(st.st_mode))
			(void)!fchown(fd[i], user->uid, user->gid);
}

static int
redirect(const struct ends *p, const struct passwd_user *user)
{
	if (p->tty[SLAVE] >= 0)
		return tty_enter(p->tty[SLAVE], user->uid);
	if (geteuid() == 0)
		give_pipes(p, user);
	if (dup2(p->input[READ_END], STDIN_FILENO) < 0 ||
	    dup2(p->output[WRITE_END], STDOUT_FILENO) < 0 ||
	    dup2(p->error[WRITE_END], STDERR_FILENO) < 0)
		return -1;
	return 0;
}

static _Noreturn void
fail(int report, enum wire_fail why)
{
	struct spawn_report r = {why, errno};

	(void)!write(report, &r, sizeof(r));
	_exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

/* The child: everything that a command may not have of ours goes. */
static _Noreturn void
become(const struct ends *p, const struct wire_exec *x,
    const struct passwd_user *user, const char *const *env)
{
	int report = p->report[WRITE_END];

	(void)setsid();
	reset_signals();
	write_file("/proc/self/oom_score_adj", OOM_SCORE_ADJ);
	(void)!nice(NICE);
	(void)umask(022);
	if (redirect(p, user) != 0)
		fail(report, WIRE_FAIL_INTERNAL);
	if (user_become(user) != 0)
		fail(report, WIRE_FAIL_USER);
	/* Should root in the run kill the supervisor: at least the command
	 * goes with it. Forgotten when credentials change, so set here. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(x->cwd) != 0)
		fail(report, WIRE_FAIL_CWD);
	command_exec(x, env);
	int error = errno;
	command_explain(x, error);
	errno = error;
	fail(report, 0);
}

int
spawn_start(struct spawn *ret_s, const struct wire_exec *x,
    const struct passwd_user *user, const char *const *env,
    enum wire_fail *ret_why, struct err *e)
{
	struct ends p = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};

	*ret_why = WIRE_FAIL_INTERNAL;
	if (open_ends(&p, x, e) != 0) {
		/* It is root of the run who says what is in /dev. */
		if (x->cols > 0)
			*ret_why = WIRE_FAIL_EXEC_TTY;
		close_ends(&p);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0)
		become(&p, x, user, env);
	if (pid > 0)
		*ret_s = (struct spawn){
		    .pid = pid,
		    .input = fd_take(&p.input[WRITE_END]),
		    .output = {fd_take(&p.output[READ_END]),
			fd_take(&p.error[READ_END])},
		    .report = fd_take(&p.report[READ_END]),
		    .tty = fd_take(&p.tty[MASTER]),
		};
	int error = errno;
	close_ends(&p);
	if (pid > 0)
		return 0;
	errno = error;
	*ret_why = WIRE_FAIL_LIMIT;
	if (error == EAGAIN)
		return err_set(e, ERR_CONFLICT,
		    "the run is at its limit of processes (limits.pids)");
	return err_sys(e, ERR_CONFLICT, "cannot start a process in the run");
}
