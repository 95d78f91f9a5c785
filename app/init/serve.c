/* PID 1 as a server. */
#include "init/serve.h"
#include "init/kept.h"
#include "init/peer.h"
#include "init/start.h"
#include "init/work.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/wire_object.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 512
#define FIRST_MS 10000 /* for a connection to say what it wants */
#define FENCE_MS 3000  /* for what is older to end, before everything does */
#define ACT_MS 8000    /* for a supervisor to do as it is told */
#define LOOK_MS 2      /* between two looks at what wakes nobody */
#define FIRST_MAX 128  /* a whole frame of those that PID 1 takes itself */
#define LIST_SOME (16u * 1024) /* of a list, at a time */

void
serve_init(struct serve *s, const struct passwd_user *user, uint64_t memory_mib)
{
	for (int i = 0; i < SERVE_LISTENERS; i++)
		s->listener[i] = -1;
	s->user = user;
	s->memory = kept_memory(memory_mib);
	s->ops = NULL;
	s->lock = -1;
	lost_init(&s->lost);
	for (int i = 0; i < SERVE_PENDING; i++)
		s->connection[i] = (struct serve_connection){.fd = -1};
}

int
serve_open(struct serve *s, const char *path, struct err *e)
{
	s->ops = ops_new();
	if (s->ops == NULL)
		return err_sys(e, ERR_INTERNAL, "no shared memory");
	s->lock = memfd_create("lock", MFD_CLOEXEC);
	s->listener[0] = fd_listen_unix(PEER_SOCKET, 0600, BACKLOG, e);
	if (path == NULL)
		return s->listener[0] >= 0 ? 0 : -1;
	s->listener[1] = fd_listen_unix(path, 0600, BACKLOG, e);
	return s->listener[1] >= 0 ? 0 : -1;
}

static struct serve_connection *
free_connection(struct serve *s)
{
	for (int i = 0; i < SERVE_PENDING; i++)
		if (s->connection[i].fd < 0)
			return &s->connection[i];
	return NULL;
}

static void
become(struct serve_connection *c, enum serve_doing doing, int64_t ms)
{
	c->doing = doing;
	c->until = clock_mono_ms() + ms;
}

static void
leave(struct serve_connection *c)
{
	buf_release(&c->frames);
	fd_close(&c->fd);
}

/* -- answers of PID 1's own ------------------------------------------------ */

/* The peer reads what it likes of it: a socket's buffer holds it whole. */
static void
answer(struct serve_connection *c, const struct buf *frame)
{
	(void)!send(
	    c->fd, frame->data, frame->size, MSG_DONTWAIT | MSG_NOSIGNAL);
	leave(c);
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

static void
answer_done(struct serve_connection *c)
{
	BUF_AUTO frame = BUF_INIT(WIRE_HEAD);

	wire_put(&frame, WIRE_DONE, NULL, 0);
	answer(c, &frame);
}

/* -- fences ---------------------------------------------------------------- */

static void
begin_fence(struct serve *s, struct serve_connection *c, uint64_t generation)
{
	if (!ops_raise(s->ops, generation)) {
		const struct wire_fenced known = {false, ops_fence(s->ops)};

		answer_fence(c, &known);
		return;
	}
	become(c, SERVE_FENCES, FENCE_MS);
	c->fence = generation;
	(void)ops_end_older(s->ops, SIGUSR1);
}

/* Some act of an older generation may yet have an effect. */
static bool
acts_older(const struct serve *s, uint64_t generation)
{
	for (int i = 0; i < SERVE_PENDING; i++) {
		const struct serve_connection *c = &s->connection[i];

		if (c->fd >= 0 && c->doing == SERVE_ACTS &&
		    c->act.generation < generation && act_is_open(&c->act))
			return true;
	}
	return false;
}

/* A supervisor can be stopped by root of the run, but not hold up a fence. */
static void
go_on_fencing(struct serve *s, struct serve_connection *c)
{
	const struct wire_fenced done = {true, c->fence};

	if (ops_end_older(s->ops, SIGCONT) == 0 && !acts_older(s, c->fence) &&
	    !lost_is_busy(&s->lost))
		answer_fence(c, &done);
	else if (clock_left(c->until) == 0)
		(void)kill(-1, SIGKILL);
}

/* -- acts ------------------------------------------------------------------ */

static const char *
act_text(enum wire_fail why)
{
	switch (why) {
	case WIRE_FAIL_FENCED:
		return "the run was given to another holder meanwhile";
	case WIRE_FAIL_EXEC_ABSENT:
		return "no such command";
	case WIRE_FAIL_EXEC_TTY:
		return "the command has no terminal";
	default:
		return "the command has ended, or its input is closed";
	}
}

static void
go_on_acting(struct serve *s, struct serve_connection *c)
{
	enum act_state state = act_step(s->ops, &c->act);

	/* What it started may have lost its supervisor. */
	if (state == ACT_DONE && c->act.mail.what == MAIL_END &&
	    lost_is_busy(&s->lost))
		state = ACT_WAITS;
	if (state == ACT_DONE)
		answer_done(c);
	else if (state == ACT_FENCED)
		refuse(c, WIRE_FAIL_FENCED, act_text(WIRE_FAIL_FENCED));
	else if (clock_left(c->until) == 0)
		refuse(c, WIRE_FAIL_INTERNAL,
		    "the command's supervisor does not do it");
}

static void
begin_act(struct serve *s, struct serve_connection *c, const struct wire_act *x)
{
	enum wire_fail why;
	struct op *target;
	const char *text;

	if (act_begin(s->ops, x, &c->act, &target, &why) != 0) {
		refuse(c, why, act_text(why));
	} else if (x->what != WIRE_ACT_INPUT) {
		become(c, SERVE_ACTS, ACT_MS);
		go_on_acting(s, c);
	} else if (start_feed(s->ops, c->fd, x, target, &why, &text) != 0) {
		refuse(c, why, text);
	} else {
		leave(c);
	}
}

/* -- lists ----------------------------------------------------------------- */

/* Some more of the frames; false where those were all. */
static bool
list_more(struct serve *s, struct serve_connection *c)
{
	while (c->frames.size < LIST_SOME) {
		struct op *op = ops_next(s->ops, c->told);

		if (op == NULL)
			return false;
		c->told = op;
		if (!atomic_load(&op_object(op)->listed))
			continue;
		const struct wire_info info = object_info(op_object(op));
		wire_put_info(&c->frames, &info);
	}
	return true;
}

static void
go_on_listing(struct serve *s, struct serve_connection *c)
{
	for (bool more = true; more || c->frames.size > 0;) {
		if (more && !(more = list_more(s, c)))
			wire_put(&c->frames, WIRE_DONE, NULL, 0);
		ssize_t n = send(c->fd, c->frames.data, c->frames.size,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		buf_drop(&c->frames, (size_t)n);
	}
	leave(c);
}

/* -- connections ----------------------------------------------------------- */

/* A whole frame, of one of the types that are short. */
static void
take(struct serve *s, struct serve_connection *c, enum wire_type type,
    const char *payload, size_t size)
{
	struct wire_attach attach;
	struct wire_act act;
	struct err e = ERR_INIT;
	uint64_t generation;
	enum wire_fail why = WIRE_FAIL_INTERNAL;
	const char *text = "no operation begins so";

	if (type == WIRE_FENCE &&
	    wire_get_fence(payload, size, &generation, &e) == 0) {
		begin_fence(s, c, generation);
	} else if (type == WIRE_ACT &&
		   wire_get_act(payload, size, &act, &e) == 0) {
		begin_act(s, c, &act);
	} else if (type == WIRE_LIST) {
		become(c, SERVE_LISTS, FIRST_MS);
		go_on_listing(s, c);
	} else if (type == WIRE_ATTACH &&
		   wire_get_attach(payload, size, &attach, &e) == 0 &&
		   start_attach(s->ops, c->fd, &attach, &why, &text) == 0) {
		leave(c);
	} else {
		refuse(c, why, text);
	}
}

static void
begin(struct serve *s, struct serve_connection *c, const char *first)
{
	enum wire_fail why;
	const char *text;

	/* Such a process looks for it by itself, and as another user. */
	work_restore(s->user);
	int rc = first[WIRE_HEAD - 1] == WIRE_FILE
		     ? start_file(s->ops, c->fd, s->lock, &why, &text)
		     : start_exec(s->ops, c->fd, wire_peek_keep(first),
			   s->memory, &why, &text);

	if (rc == 0)
		leave(c);
	else
		refuse(c, why, text);
}

/* It says what it wants. A long frame is left to the process that takes it. */
static void
hear(struct serve *s, struct serve_connection *c)
{
	char first[FIRST_MAX];
	struct err e = ERR_INIT;
	enum wire_type type;
	const char *payload;
	size_t size, used;
	ssize_t n = peer_peek(c->fd, first, sizeof(first));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		leave(c);
		return;
	}
	c->in_part = true;
	if (n >= WIRE_PEEK && (first[WIRE_HEAD - 1] == WIRE_EXEC ||
				  first[WIRE_HEAD - 1] == WIRE_FILE)) {
		begin(s, c, first);
		return;
	}
	int rc = wire_next(first, (size_t)n, &type, &payload, &size, &used, &e);
	if (rc == 1) {
		(void)!recv(c->fd, first, used, MSG_DONTWAIT);
		take(s, c, type, payload, size);
	} else if (rc < 0 ||
		   (n >= WIRE_HEAD &&
		       wire_payload_size(first) > sizeof(first) - WIRE_HEAD)) {
		refuse(c, WIRE_FAIL_INTERNAL, "no operation begins so");
	}
}

static void
accept_one(struct serve *s, int listener)
{
	struct serve_connection *c = free_connection(s);

	if (c == NULL)
		return;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0 && !peer_is_host(fd))
		fd_close(&fd);
	*c = (struct serve_connection){
	    .fd = fd, .frames = BUF_INIT(LIST_SOME + 2 * WIRE_CMD_MAX)};
	become(c, SERVE_HEARS, FIRST_MS);
	if (fd >= 0)
		hear(s, c);
}

/* -- the loop's ------------------------------------------------------------ */

/* Nothing that poll(2) tells says when to go on. */
static bool
is_looked_at(const struct serve_connection *c)
{
	return c->doing == SERVE_FENCES || c->doing == SERVE_ACTS ||
	       (c->doing == SERVE_HEARS && c->in_part);
}

int
serve_arm(struct serve *s, struct pollfd *p)
{
	int64_t now = clock_mono_ms();
	int64_t wait = s->ops != NULL ? kept_expire(s->ops, now) : -1;
	int lost = lost_idle_ms(&s->lost);
	bool room = false;

	for (int i = 0; i < SERVE_PENDING; i++) {
		const struct serve_connection *c = &s->connection[i];
		bool looks = is_looked_at(c);
		int64_t left = looks ? LOOK_MS : c->until - now;

		p[i] = (struct pollfd){looks ? -1 : c->fd,
		    c->doing == SERVE_LISTS ? POLLOUT : POLLIN, 0};
		room = room || c->fd < 0;
		if (c->fd >= 0 && (wait < 0 || left < wait))
			wait = left > 0 ? left : 0;
	}
	if (lost >= 0 && (wait < 0 || lost < wait))
		wait = lost;
	for (int i = 0; i < SERVE_LISTENERS; i++)
		p[SERVE_PENDING + i] =
		    (struct pollfd){room ? s->listener[i] : -1, POLLIN, 0};
	return (int)wait;
}

static void
go_on(struct serve *s, struct serve_connection *c)
{
	switch (c->doing) {
	case SERVE_HEARS:
		hear(s, c);
		break;
	case SERVE_FENCES:
		go_on_fencing(s, c);
		break;
	case SERVE_ACTS:
		go_on_acting(s, c);
		break;
	case SERVE_LISTS:
		go_on_listing(s, c);
		break;
	}
}

void
serve_step(struct serve *s, const struct pollfd *p)
{
	lost_step(&s->lost, s->ops);
	for (int i = 0; i < SERVE_PENDING; i++) {
		struct serve_connection *c = &s->connection[i];

		if (c->fd >= 0 && (is_looked_at(c) || p[i].revents))
			go_on(s, c);
		if (c->fd >= 0 &&
		    (c->doing == SERVE_HEARS || c->doing == SERVE_LISTS) &&
		    clock_left(c->until) == 0)
			leave(c);
	}
	for (int i = 0; i < SERVE_LISTENERS; i++)
		if (p[SERVE_PENDING + i].revents)
			accept_one(s, s->listener[i]);
}

void
serve_reaped(struct serve *s, pid_t pid, int status)
{
	if (s->ops != NULL && ops_reaped(s->ops, pid) && WIFSIGNALED(status))
		lost_begin(&s->lost);
}

void
serve_resume(struct serve *s)
{
	if (s->ops != NULL)
		ops_resume(s->ops);
}
