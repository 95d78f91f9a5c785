/* Processes for operations. */
#include "init/start.h"
#include "init/attach.h"
#include "init/exec.h"
#include "init/feed.h"
#include "init/file.h"
#include "init/kept.h"
#include "lib/fd.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct refusal {
	enum wire_fail why;
	const char *text;
};

static const struct refusal no_op = {
    WIRE_FAIL_LIMIT, "the run has more commands than it can supervise"};
static const struct refusal no_pid = {
    WIRE_FAIL_LIMIT, "the run is at its limit of processes (limits.pids)"};
static const struct refusal no_way = {
    WIRE_FAIL_INTERNAL, "the run's init has no descriptor left"};
static const struct refusal many = {WIRE_FAIL_EXEC_MANY,
    "as many commands run in the background as a run can have"};

static int
refuse(const struct refusal *r, enum wire_fail *ret_why, const char **ret_text)
{
	*ret_why = r->why;
	*ret_text = r->text;
	return -1;
}

/* In the new process. way (-1: none) becomes FEED_FD. */
static void
move_in(int fd, int way, const char *name)
{
	if (dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
		_exit(1);
	if (way >= 0 && way != FEED_FD && dup3(way, FEED_FD, O_CLOEXEC) < 0)
		_exit(1);
	fd_close_from(way >= 0 ? FEED_FD + 1 : FEED_FD);
	(void)prctl(PR_SET_NAME, name);
}

/* As fork(2), for op. */
static pid_t
divide(struct op *op, int fd, int way, const char *name)
{
	pid_t pid = fork();

	if (pid == 0)
		move_in(fd, way, name);
	else
		op_forked(op, pid);
	return pid;
}

int
start_exec(struct ops *o, int fd, bool keep, uint64_t memory,
    enum wire_fail *ret_why, const char **ret_text)
{
	const struct refusal *r = NULL;
	struct op *op = ops_take(o);
	int way[2];

	if (op == NULL)
		return refuse(&no_op, ret_why, ret_text);
	if (keep && !kept_add(o, op, memory))
		r = &many;
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, way) !=
		 0)
		r = &no_way;
	if (r != NULL) {
		op_forked(op, -1);
		return refuse(r, ret_why, ret_text);
	}
	op_object(op)->feed = way[0];
	pid_t pid = divide(op, fd, way[1], "sbx-exec");
	if (pid == 0)
		_exit(exec_run(o, op));
	fd_close(&way[1]);
	return pid > 0 ? 0 : refuse(&no_pid, ret_why, ret_text);
}

int
start_file(struct ops *o, int fd, int lock, enum wire_fail *ret_why,
    const char **ret_text)
{
	struct op *op = ops_take(o);

	if (op == NULL)
		return refuse(&no_op, ret_why, ret_text);
	pid_t pid = divide(op, fd, lock, "sbx-file");
	if (pid == 0)
		_exit(file_run(o, op));
	return pid > 0 ? 0 : refuse(&no_pid, ret_why, ret_text);
}

int
start_attach(struct ops *o, int fd, const struct wire_attach *x,
    enum wire_fail *ret_why, const char **ret_text)
{
	static const struct refusal absent = {
	    WIRE_FAIL_EXEC_ABSENT, "no such command"};
	static const struct refusal unkept = {
	    WIRE_FAIL_EXEC_OUTPUT, "the output of that command is not kept"};
	struct op *target = ops_find(o, x->id);
	struct ring *ring = target != NULL ? op_object(target)->ring : NULL;

	if (ring == NULL)
		return refuse(
		    target == NULL ? &absent : &unkept, ret_why, ret_text);
	struct op *op = ops_take(o);
	if (op == NULL)
		return refuse(&no_op, ret_why, ret_text);
	pid_t pid = divide(op, fd, -1, "sbx-attach");
	if (pid == 0)
		_exit(attach_run(ring, x->offset));
	return pid > 0 ? 0 : refuse(&no_pid, ret_why, ret_text);
}

int
start_feed(struct ops *o, int fd, const struct wire_act *x, struct op *target,
    enum wire_fail *ret_why, const char **ret_text)
{
	const struct feed feed = {op_object(target), x->generation, x->close};
	struct op *op = ops_take(o);

	if (op == NULL)
		return refuse(&no_op, ret_why, ret_text);
	pid_t pid = divide(op, fd, feed.exec->feed, "sbx-feed");
	if (pid == 0)
		_exit(feed_run(o, op, &feed));
	return pid > 0 ? 0 : refuse(&no_pid, ret_why, ret_text);
}
