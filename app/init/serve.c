/* PID 1 as a server. */
#include "init/serve.h"
#include "init/exec.h"
#include "init/file.h"
#include "init/peer.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/wire.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 512
#define FIRST_MS 10000 /* for a connection to say what it wants */
#define FENCE_MS 3000  /* for what is older to end, before everything does */
#define FENCE_LOOK_MS 2

void
serve_init(struct serve *s)
{
	s->listener = -1;
	s->ops = NULL;
	for (int i = 0; i < SERVE_PENDING; i++)
		s->connection[i] = (struct serve_connection){.fd = -1};
}

int
serve_open(struct serve *s, const char *path, struct err *e)
{
	s->ops = ops_new();
	if (s->ops == NULL)
		return err_sys(e, ERR_INTERNAL, "no shared memory");
	s->listener = fd_listen_unix(
	    path != NULL ? path : PEER_SOCKET, 0600, BACKLOG, e);
	return s->listener >= 0 ? 0 : -1;
}

static struct serve_connection *
free_connection(struct serve *s)
{
	for (int i = 0; i < SERVE_PENDING; i++)
		if (s->connection[i].fd < 0)
			return &s->connection[i];
	return NULL;
}

/* -- answers of PID 1's own ------------------------------------------------ */

/* The peer reads what it likes of it: a socket's buffer holds it whole. */
static void
answer(struct serve_connection *c, const struct buf *frame)
{
	(void)!send(
	    c->fd, frame->data, frame->size, MSG_DONTWAIT | MSG_NOSIGNAL);
	fd_close(&c->fd);
}

static void
refuse(struct serve_connection *c, enum wire_fail why, const char *text)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD + 1 + WIRE_TEXT);

	wire_put_fail(&frame, why, text);
	answer(c, &frame);
}

static void
answer_fence(struct serve_connection *c, const struct wire_fenced *fenced)
{
	BUF_AUTO frame = BUF_INIT(64);

	wire_put_fenced(&frame, fenced);
	answer(c, &frame);
}

/* -- operations ------------------------------------------------------------ */

typedef int run_fn(const struct ops *ops, struct op *op);

/* A process for an operation: run, under that name, speaks with the peer. */
static void
start(
    struct serve *s, struct serve_connection *c, run_fn *run, const char *name)
{
	struct op *op = ops_take(s->ops);

	if (op == NULL) {
		refuse(c, WIRE_FAIL_LIMIT,
		    "the run has more commands than it can supervise");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		if (dup2(c->fd, STDIN_FILENO) < 0 ||
		    dup2(c->fd, STDOUT_FILENO) < 0)
			_exit(1);
		fd_close_from(STDERR_FILENO + 1);
		(void)prctl(PR_SET_NAME, name);
		_exit(run(s->ops, op));
	}
	op_forked(op, pid);
	if (pid > 0)
		fd_close(&c->fd);
	else
		refuse(c, WIRE_FAIL_LIMIT,
		    "the run is at its limit of processes (limits.pids)");
}

static void
begin_fence(struct serve *s, struct serve_connection *c)
{
	char frame[64];
	struct err e = ERR_INIT;
	enum wire_type type;
	const char *payload;
	uint64_t generation;
	size_t size, used;
	ssize_t n = recv(c->fd, frame, sizeof(frame), MSG_DONTWAIT);

	if (n <= 0 ||
	    wire_next(frame, (size_t)n, &type, &payload, &size, &used, &e) !=
		1 ||
	    type != WIRE_FENCE ||
	    wire_get_fence(payload, size, &generation, &e) != 0) {
		fd_close(&c->fd);
		return;
	}
	if (!ops_raise(s->ops, generation)) {
		const struct wire_fenced known = {false, ops_fence(s->ops)};

		answer_fence(c, &known);
		return;
	}
	c->fence = generation;
	c->until = clock_mono_ms() + FENCE_MS;
	(void)ops_end_older(s->ops, SIGUSR1);
}

/* A supervisor can be stopped by root of the run, but not hold up a fence. */
static void
go_on_fencing(struct serve *s, struct serve_connection *c)
{
	const struct wire_fenced done = {true, c->fence};

	if (ops_end_older(s->ops, SIGCONT) == 0)
		answer_fence(c, &done);
	else if (clock_left(c->until) == 0)
		(void)kill(-1, SIGKILL);
}

/* -- connections ----------------------------------------------------------- */

/* It says what it wants: the head of a frame, which comes whole. */
static void
hear(struct serve *s, struct serve_connection *c)
{
	char head[WIRE_HEAD];
	ssize_t n = peer_peek(c->fd, head, sizeof(head));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != WIRE_HEAD)
		fd_close(&c->fd);
	else if (head[WIRE_HEAD - 1] == WIRE_FENCE)
		begin_fence(s, c);
	else if (head[WIRE_HEAD - 1] == WIRE_FILE)
		start(s, c, file_run, "sbx-file");
	else
		start(s, c, exec_run, "sbx-exec");
}

static void
accept_one(struct serve *s)
{
	struct serve_connection *c = free_connection(s);

	if (c == NULL)
		return;
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0 && !peer_is_host(fd))
		fd_close(&fd);
	*c = (struct serve_connection){fd, clock_mono_ms() + FIRST_MS, 0};
	if (fd >= 0)
		hear(s, c);
}

/* -- the loop's ------------------------------------------------------------ */

int
serve_arm(const struct serve *s, struct pollfd *p)
{
	int64_t now = clock_mono_ms(), wait = -1;
	bool room = false;

	for (int i = 0; i < SERVE_PENDING; i++) {
		const struct serve_connection *c = &s->connection[i];
		int64_t left = c->fence ? FENCE_LOOK_MS : c->until - now;

		p[1 + i] = (struct pollfd){c->fence ? -1 : c->fd, POLLIN, 0};
		room = room || c->fd < 0;
		if (c->fd >= 0 && (wait < 0 || left < wait))
			wait = left > 0 ? left : 0;
	}
	p[0] = (struct pollfd){room ? s->listener : -1, POLLIN, 0};
	return (int)wait;
}

void
serve_step(struct serve *s, const struct pollfd *p)
{
	for (int i = 0; i < SERVE_PENDING; i++) {
		struct serve_connection *c = &s->connection[i];

		if (c->fd < 0)
			continue;
		if (c->fence == 0 && p[1 + i].revents)
			hear(s, c);
		else if (c->fence == 0 && clock_left(c->until) == 0)
			fd_close(&c->fd);
		if (c->fd >= 0 && c->fence != 0)
			go_on_fencing(s, c);
	}
	if (p[0].revents)
		accept_one(s);
}

void
serve_reaped(struct serve *s, pid_t pid)
{
	if (s->ops != NULL)
		ops_reaped(s->ops, pid);
}
