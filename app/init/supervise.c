/* The loop of a command's supervisor. */
#include "init/supervise.h"
#include "init/feed.h"
#include "init/tty.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
	if (life_reap(&s->life))
		count_owed(s);
}

static void
on_signal(struct exec *s)
{
	struct signalfd_siginfo si[2];

	/* Once: root of the run can send faster than this is read. */
	(void)!read(s->signals, si, sizeof(si));
	reap(s);
}

/* What PID 1 asks for. */
static void
on_mail(struct exec *s)
{
	struct mail mail;

	if (s->object == NULL || !object_mail(s->object, &mail))
		return;
	pid_t front = s->child.tty >= 0 ? tty_foreground(s->child.tty) : -1;
	pid_t group = front > 0 ? front : s->life.pid;
	if (mail.what == MAIL_END) {
		life_end(&s->life, LIFE_TERM_KILL_MS);
	} else if (mail.what == MAIL_RESIZE) {
		(void)tty_resize(s->child.tty, mail.cols, mail.rows);
		/* gVisor neither knows who is in front, nor tells it. */
		if (front < 0 && !s->life.dead)
			(void)kill(-group, SIGWINCH);
	} else if (!s->life.dead) {
		(void)kill(-group, mail.signal);
	}
	object_took(s->object);
}

/* The child did not become the command. */
static void
explain(struct exec *s, const struct spawn_report *r)
{
	const char *what = "cannot set up", *whom = "the command";
	char text[WIRE_TEXT];

	if (r->why == WIRE_FAIL_CWD) {
		what = "cannot enter";
		whom = s->x.cwd;
	} else if (r->why == WIRE_FAIL_USER) {
		what = "cannot become user";
		whom = s->x.user;
	}
	(void)snprintf(text, sizeof(text), "%s %.200s: %s", what, whom,
	    strerror(r->error));
	wire_put_fail(output_frames(&s->out), r->why, text);
	s->concluded = true;
}

/* The child's report: a refusal, or that it runs. */
static void
on_report(struct exec *s)
{
	struct spawn_report r = {0, 0};
	ssize_t n = read(s->child.report, &r, sizeof(r));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	fd_close(&s->child.report);
	s->not_found = n == (ssize_t)sizeof(r);
	if (s->not_found && r.why != 0) {
		explain(s, &r);
		return;
	}
	if (s->object != NULL)
		object_tell(s->object, &s->x);
	wire_put(output_frames(&s->out), WIRE_STARTED, NULL, 0);
	s->running = true;
	buf_release(&s->frame);
	buf_release(&s->store);
}

/* The host gets the output; else the ring alone does. */
static bool
host_listens(const struct exec *s)
{
	return s->ring == NULL ||
	       (!s->background && !s->host.gone && !s->out.broken);
}

/* There is room for more of it. */
static bool
takes_output(const struct exec *s)
{
	return s->running && !s->concluded &&
	       (!host_listens(s) || output_has_room(&s->out));
}

static void
on_output(struct exec *s, int i)
{
	static char piece[WIRE_CHUNK];
	const enum wire_type type = i == 0 ? WIRE_STDOUT : WIRE_STDERR;
	int *fd = &s->child.output[i];
	const char *bytes = piece;
	ssize_t n = host_listens(s) ? output_take(&s->out, type, *fd, &bytes)
				    : read(*fd, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fd_close(fd);
		return;
	}
	s->owed[i] -= (size_t)n < s->owed[i] ? (size_t)n : s->owed[i];
	if (s->ring != NULL)
		ring_put(s->ring, type, bytes, (size_t)n);
}

/* The host leaves the command to itself: no fence is about it any more. False
 * where one was already. */
static bool
leave(struct exec *s)
{
	if (op_is_older(s->ops, s->op))
		return false;
	op_over(s->op);
	s->background = true;
	atomic_store(&s->object->detached, true);
	if (!s->x.feedable)
		host_end_input(&s->host);
	return true;
}

static void
on_host(struct exec *s)
{
	host_receive(&s->host);
	if (s->host.kill)
		life_end(&s->life, LIFE_TERM_KILL_MS);
	if (!s->host.detach || s->concluded)
		return;
	if (s->ring == NULL || !s->running)
		s->host.gone = true; /* nonsense */
	else if (leave(s))
		wire_put(output_frames(&s->out), WIRE_DONE, NULL, 0);
}

/* The host has gone without a farewell. */
static void
on_loss(struct exec *s)
{
	if (s->ring == NULL || !s->x.go_on || !s->running || !leave(s))
		life_end(&s->life, LIFE_TERM_KILL_MS);
}

static void
on_feed(struct exec *s)
{
	static char piece[FEED_PIECE];
	bool close = false;
	ssize_t n = feed_take(s->feed, piece, &close);

	if (n < 0 && errno == EPIPE)
		fd_close(&s->feed);
	if (n > 0)
		host_add_input(&s->host, piece, (size_t)n);
	if (close)
		host_end_input(&s->host);
}

/* The host was about to leave a command that has ended by itself meanwhile:
 * that comes to the same. Its WIRE_DETACH may come when nobody is here to read
 * it, so what was asked for tells (before version 4: kept, but for neither a
 * terminal nor a lost host). */
static void
leave_ended(struct exec *s)
{
	bool leaving = s->x.leaving || (!s->x.go_on && s->x.cols == 0);

	if (s->ring != NULL && leaving && s->life.ending_at == LIFE_NEVER)
		atomic_store(&s->object->detached, true);
}

/* Put the exit frame out once all that must precede it is. */
static void
conclude(struct exec *s)
{
	const struct life *l = &s->life;
	bool settled = l->dead;

	if (s->concluded || !s->running)
		return;
	for (int i = 0; i < 2; i++)
		if (s->child.output[i] >= 0 &&
		    (s->owed[i] > 0 ||
			clock_mono_ms() < l->died_at + LIFE_GRACE_MS))
			settled = false;
	if (l->ending_at != LIFE_NEVER)
		settled = (settled && l->alone) || life_is_late(l);
	if (!settled)
		return;
	struct wire_exit exit = life_exit(l, s->not_found);
	if (!s->background)
		wire_put_exit(output_frames(&s->out), &exit);
	leave_ended(s);
	if (s->object != NULL)
		object_over(s->object, &exit);
	fd_close(&s->feed);
	s->concluded = true;
	if (l->alone || l->ending_at == LIFE_NEVER)
		op_over(s->op);
}

enum {
	P_SIGNALS,
	P_REPORT,
	P_HOST,
	P_OUT,
	P_INPUT,
	P_FEED,
	P_OUTPUT,
	P_COUNT = P_OUTPUT + 2
};

static void
arm(const struct exec *s, struct pollfd p[P_COUNT])
{
	bool silent = s->host.gone || s->background;
	bool hungry = s->running && !s->concluded && !s->host.input_end &&
		      s->host.input.size == 0;

	p[P_SIGNALS] = (struct pollfd){s->signals, POLLIN, 0};
	p[P_REPORT] = (struct pollfd){s->child.report, POLLIN, 0};
	p[P_HOST] = (struct pollfd){silent ? -1 : s->host.fd, POLLIN, 0};
	/* Without events: POLLERR tells that nobody reads any more. */
	p[P_OUT] = (struct pollfd){s->out.broken ? -1 : s->out.fd,
	    output_empty(&s->out) ? 0 : POLLOUT, 0};
	p[P_INPUT] = (struct pollfd){
	    host_has_input(&s->host) ? s->child.input : -1, POLLOUT, 0};
	p[P_FEED] = (struct pollfd){hungry ? s->feed : -1, POLLIN, 0};
	for (int i = 0; i < 2; i++)
		p[P_OUTPUT + i] = (struct pollfd){
		    takes_output(s) ? s->child.output[i] : -1, POLLIN, 0};
}

/* Give back what the command took of its input. */
static void
give_room(struct exec *s)
{
	if (s->concluded || s->background || !output_has_room(&s->out))
		return;
	uint32_t room = host_take_room(&s->host);
	if (room > 0)
		wire_put_room(output_frames(&s->out), room);
}

static void
feed_command(struct exec *s)
{
	if (s->child.input >= 0 && host_has_input(&s->host))
		host_feed(&s->host, &s->child.input);
	if (s->object != NULL && s->host.input_closed)
		atomic_store(&s->object->closed, true);
	give_room(s);
}

/* PID 1 may have woken us by SIGUSR1. */
static void
look_around(struct exec *s)
{
	/* The run was given to somebody else. */
	if (!s->concluded && !s->background && op_is_older(s->ops, s->op)) {
		s->life.fenced = true;
		life_end(&s->life, 0);
	}
	on_mail(s);
	if (s->ring != NULL && !s->concluded)
		ring_trim(s->ring);
}

static void
step(struct exec *s)
{
	struct pollfd p[P_COUNT];

	arm(s, p);
	if (poll(p, P_COUNT, life_idle_ms(&s->life, s->concluded)) < 0)
		memset(p, 0, sizeof(p)); /* EINTR */
	if (p[P_SIGNALS].revents)
		on_signal(s);
	look_around(s);
	if (p[P_REPORT].revents)
		on_report(s);
	for (int i = 0; i < 2; i++)
		if (p[P_OUTPUT + i].revents && takes_output(s))
			on_output(s, i);
	if (p[P_OUT].revents & ~POLLOUT)
		s->out.broken = true;
	if (p[P_HOST].revents)
		on_host(s);
	if (p[P_FEED].revents)
		on_feed(s);
	feed_command(s);
	if (life_step(&s->life))
		reap(s);
	conclude(s);
	output_flush(&s->out);
	if (!s->background && (s->host.gone || s->out.broken) &&
	    !(s->concluded && output_empty(&s->out)))
		on_loss(s);
	if (s->object != NULL && s->concluded && s->life.alone)
		atomic_store(&s->object->gone, true);
}

static bool
finished(const struct exec *s)
{
	if (s->concluded && (s->background || output_empty(&s->out)))
		return true;
	return !s->background && (s->host.gone || s->out.broken) &&
	       (s->life.alone || life_is_late(&s->life)) &&
	       (s->ring == NULL || s->concluded);
}

/* Nobody hears of it any more. What still lives may live on, and gets no
 * SIGPIPE from writing to nobody; or it is being killed, and stubborn. */
static void
linger(struct exec *s)
{
	struct life *l = &s->life;
	int again = 5;
	char dropped[4096];

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)close(fd);
	fd_close(&s->child.input);
	fd_close(&s->feed);
	ring_free(s->ring);
	s->ring = NULL;
	while (!l->alone) {
		struct pollfd p[3] = {{s->signals, POLLIN, 0},
		    {s->child.output[0], POLLIN, 0},
		    {s->child.output[1], POLLIN, 0}};
		bool killing = clock_mono_ms() >= l->kill_at;

		if (poll(p, 3, killing ? again : life_idle_ms(l, true)) == 0 &&
		    killing && again < 1000)
			again *= 2;
		for (int i = 0; i < 2; i++)
			if (p[1 + i].revents &&
			    read(s->child.output[i], dropped,
				sizeof(dropped)) <= 0)
				fd_close(&s->child.output[i]);
		on_mail(s);
		(void)life_step(l);
		on_signal(s);
	}
}

void
supervise(struct exec *s)
{
	while (!finished(s))
		step(s);
	linger(s);
}
