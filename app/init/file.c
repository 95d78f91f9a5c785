/* One operation on files: the conversation with the host. */
#include "init/file.h"
#include "init/file_part.h"
#include "init/pack.h"
#include "init/user.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_MS 10000 /* for the host to say what to do */
/* A frame of data, and the head of the next one, which tells how much to ask
 * for then: so nearly nothing is ever moved within the buffer. */
#define IN_MAX (WIRE_HEAD + WIRE_CHUNK + WIRE_HEAD)

static const struct {
	int (*run)(struct file_op *f);
	bool changes; /* it is fenced */
} parts[] = {
    [WIRE_FILE_GET] = {file_get, false},
    [WIRE_FILE_PUT] = {file_put, true},
    [WIRE_FILE_LIST] = {file_list, false},
    [WIRE_FILE_STAT] = {file_stat, false},
    [WIRE_FILE_MKDIR] = {file_mkdir, true},
    [WIRE_FILE_MOVE] = {file_move, true},
    [WIRE_FILE_REMOVE] = {file_remove, true},
    [WIRE_FILE_PACK] = {pack_run, false},
    [WIRE_FILE_UNPACK] = {unpack_run, true},
};

/* -- waiting --------------------------------------------------------------- */

/* Until the host's end of the connection is ready; -1: not in time, or the run
 * was given to another. SIGUSR1 of PID 1 wakes this, and nothing else of ours:
 * it is blocked everywhere else, so that it is not missed. */
static int
wait_for(const struct file_op *f, short events)
{
	struct pollfd p = {f->host, events, 0};
	struct timespec most = {0, 0};
	sigset_t but_one;

	(void)sigfillset(&but_one);
	(void)sigdelset(&but_one, SIGUSR1);
	if (f->until != 0) {
		int left = clock_left(f->until);

		most.tv_sec = left / 1000;
		most.tv_nsec = left % 1000 * 1000000L;
	}
	int n = ppoll(&p, 1, f->until != 0 ? &most : NULL, &but_one);
	if (n == 0 || (n < 0 && errno != EINTR))
		return -1;
	return file_may_finish(f) ? 0 : -1;
}

bool
file_may_finish(const struct file_op *f)
{
	return !op_is_older(f->ops, f->op);
}

bool
file_is_alone(const struct file_op *f)
{
	struct pollfd p = {f->host, 0, 0};

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

/* -- to the host ----------------------------------------------------------- */

/* From there on. */
static int
send_rest(struct file_op *f, const struct buf *frames, size_t sent)
{
	while (sent < frames->size) {
		ssize_t n =
		    write(f->host, frames->data + sent, frames->size - sent);

		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN) {
			if (wait_for(f, POLLOUT) != 0)
				return -1;
		} else if (n == 0 || errno != EINTR)
			return -1;
	}
	return 0;
}

int
file_send(struct file_op *f, const struct buf *frames)
{
	return send_rest(f, frames, 0);
}

int
file_send_open(struct file_op *f, const struct buf *frames, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS}};
	struct iovec v = {frames->data, frames->size};
	const struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = &rights,
	    .msg_controllen = sizeof(rights)};

	memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
	/* What it cannot do is done without it, or fails in the same way. */
	ssize_t n = sendmsg(f->host, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return send_rest(f, frames, n > 0 ? (size_t)n : 0);
}

int
file_say(struct file_op *f, enum wire_type type)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD);

	wire_put(&frame, type, NULL, 0);
	return file_send(f, &frame);
}

int
file_fail(struct file_op *f, enum wire_fail why, const char *text)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 1 + WIRE_TEXT);

	wire_put_fail(&frame, why, text);
	(void)file_send(f, &frame);
	return -1;
}

int
file_fail_errno(struct file_op *f, const char *path, int error)
{
	struct err e = ERR_INIT;
	enum wire_fail why;

	(void)beneath_errno(path, error, &why, &e);
	return file_fail(f, why, e.text);
}

int
file_fail_fenced(struct file_op *f)
{
	return file_fail(f, WIRE_FAIL_FENCED,
	    "the run was given to another holder meanwhile");
}

/* -- from the host --------------------------------------------------------- */

/* More bytes onto f->in; -1: none will come. */
static int
receive(struct file_op *f)
{
	struct buf *b = &f->in;
	size_t want = IN_MAX;

	buf_drop(b, f->in_taken);
	f->in_taken = 0;
	if (b->size >= WIRE_HEAD)
		want = WIRE_HEAD + wire_payload_size(b->data) + WIRE_HEAD;
	char *to = want <= IN_MAX ? buf_grow(b, want - b->size) : NULL;
	if (to == NULL)
		return -1;
	for (;;) {
		ssize_t n = read(f->host, to, want - b->size);

		if (n > 0) {
			b->size += (size_t)n;
			return 0;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return -1;
		if (wait_for(f, POLLIN) != 0)
			return -1;
	}
}

/* The next frame, whose payload is valid until the next call; 0: there is
 * none. */
static enum wire_type
next(struct file_op *f, const char **ret_payload, size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type;
	size_t used;

	for (;;) {
		int rc = wire_next(f->in.data + f->in_taken,
		    f->in.size - f->in_taken, &type, ret_payload, ret_size,
		    &used, &e);

		if (rc == 1) {
			f->in_taken += used;
			return type;
		}
		if (rc < 0 || receive(f) != 0)
			return 0;
	}
}

int
file_receive(struct file_op *f, const char **ret_bytes, size_t *ret_size)
{
	enum wire_type type = 0;

	if (file_may_finish(f))
		type = next(f, ret_bytes, ret_size);
	if (type == WIRE_DATA)
		return 1;
	if (type == WIRE_DATA_END)
		return 0;
	if (!file_may_finish(f))
		(void)file_fail_fenced(f);
	return -1;
}

int
file_receive_read(struct file_op *f, struct wire_read *ret_x)
{
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	if (next(f, &payload, &size) != WIRE_READ)
		return -1;
	return wire_get_read(payload, size, ret_x, &e);
}

/* -- the operation --------------------------------------------------------- */

static void
on_fence(int number)
{
	(void)number; /* that it came is enough: ppoll(2) returns */
}

/* As the supervisor of a command (init/exec.c): not to be looked into by root
 * of the run, and ended by its KILL at most. */
static int
be_handler(void)
{
	const struct sigaction on = {.sa_handler = on_fence};
	struct rlimit files;
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigaction(SIGUSR1, &on, NULL);
	/* Modes are what is asked for. */
	(void)umask(0);
	/* A walk holds a descriptor for each directory that it is in. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return fd_set_nonblock(STDIN_FILENO, 1);
}

static int
become(struct file_op *f)
{
	struct passwd_user user;
	struct err e = ERR_INIT;

	if (user_find(f->x.user, &user, NULL, &e) != 0)
		return file_fail(f, WIRE_FAIL_USER, e.text);
	if (user_become(&user) != 0)
		return file_fail(f, WIRE_FAIL_USER, strerror(errno));
	/* Another user's process would be its own to look into. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

static int
carry_out(struct file_op *f, struct op *op)
{
	if (parts[f->x.what].changes) {
		f->op = op;
		if (!op_admit(f->ops, op, f->x.generation))
			return file_fail_fenced(f);
	} else {
		op_over(op);
	}
	if (become(f) != 0)
		return -1;
	f->root.path = f->x.root;
	f->root.fd = open(f->x.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f->root.fd < 0)
		return file_fail_errno(f, f->x.root, errno);
	return parts[f->x.what].run(f);
}

int
file_run(const struct ops *ops, struct op *op)
{
	struct file_op f = {.ops = ops,
	    .host = STDIN_FILENO,
	    .until = clock_mono_ms() + REQUEST_MS,
	    .in = BUF_INIT(IN_MAX)};
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	if (be_handler() != 0 || next(&f, &payload, &size) != WIRE_FILE)
		return 1;
	/* The request's strings outlive what comes after it. */
	char *request = mem_alloc(size);
	memcpy(request, payload, size);
	f.until = 0;
	int rc = wire_get_file(request, size, &f.x, &e) == 0
		     ? carry_out(&f, op)
		     : file_fail(&f, WIRE_FAIL_INTERNAL, e.text);
	free(request);
	return rc == 0 ? 0 : 1;
}
