/* The control socket. */
#include "control.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 64	   /* of the line */
#define PIECE (32u * 1024) /* of the log; longer than any line */
#define ANSWER_MAX (1u << 20)
#define TICK_MS 1000
#define RETRY_MS 100

struct caller {
	struct watch watch;
	struct control *control;
	struct caller *next;
	bool asked; /* the request is there: it is being answered */
	bool log, follow;
	struct buf in, out;
	size_t sent;	   /* of out */
	uint64_t position; /* in the log */
	int64_t since;	   /* when it last brought or took something */
};

struct control {
	struct loop *loop;
	struct ledger *ledger;
	void (*set)(void *arg, struct policy *p);
	void *arg;
	struct watch listener;
	struct timer tick;  /* while there are callers */
	struct timer retry; /* where there were no descriptors */
	struct caller *callers;
	int count, followers;
};

static void
drop(struct caller *c)
{
	struct control *k = c->control;
	struct caller **at = &k->callers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	k->count--;
	k->followers -= c->follow;
	loop_forget(k->loop, &c->watch);
	fd_close(&c->watch.fd);
	buf_release(&c->in);
	buf_release(&c->out);
	free(c);
}

/* -- answering ------------------------------------------------------------- */

/* More of the log, where there is. */
static void
read_log(struct caller *c)
{
	uint64_t lost;
	BUF_AUTO lines = BUF_INIT(PIECE);

	c->position =
	    ledger_log(c->control->ledger, c->position, PIECE, &lines, &lost);
	if (lost > 0)
		buf_addf(
		    &c->out, "{\"lost\":%llu}\n", (unsigned long long)lost);
	buf_add(&c->out, lines.data, lines.size);
}

/* What there is to send, and then the rest of the log. Either it is dropped, or
 * watched for what it waits for. */
static void
answer(struct caller *c)
{
	uint32_t events = EPOLLHUP;

	for (;;) {
		if (c->sent == c->out.size) {
			buf_reset(&c->out);
			c->sent = 0;
			if (c->log)
				read_log(c);
		}
		if (c->out.size == 0 && c->follow)
			break;
		if (c->out.size == 0) {
			drop(c);
			return;
		}
		ssize_t n = send(c->watch.fd, c->out.data + c->sent,
		    c->out.size - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			events |= EPOLLOUT;
			break;
		}
		if (n < 0) {
			drop(c);
			return;
		}
		c->sent += (size_t)n;
		c->since = loop_now(c->control->loop);
	}
	if (events != c->watch.events &&
	    loop_watch(c->control->loop, &c->watch, events) != 0)
		drop(c);
}

static void
refuse(struct caller *c, const char *why)
{
	buf_addf(&c->out, "error %s\n", why);
	/* It may quote what it is about; an answer is one line. */
	for (size_t i = 0; i + 1 < c->out.size; i++)
		if ((unsigned char)c->out.data[i] < ' ')
			c->out.data[i] = '?';
}

/* -- requests -------------------------------------------------------------- */

static void
set_policy(struct caller *c, const char *text, size_t size)
{
	struct pollfd p = {c->watch.fd, 0, 0};
	struct err e = ERR_INIT;

	/* One that is killed sends an end as well: unix(7) tells the two apart
	 * by what is left of the connection. */
	if (poll(&p, 1, 0) != 0) {
		refuse(c, "the client has left");
		return;
	}
	struct policy *policy = policy_parse(text, size, &e);
	if (policy == NULL) {
		refuse(c, e.text);
		return;
	}
	c->control->set(c->control->arg, policy);
	buf_adds(&c->out, "ok\n");
}

static void
start_log(struct caller *c, char *position)
{
	struct control *k = c->control;
	char *blank = strchr(position, ' ');
	bool follow = blank == NULL;
	int64_t from;

	if (blank != NULL)
		*blank = '\0';
	if (str_to_int(position, 0, INT64_MAX, &from) != 0 ||
	    (blank != NULL && !str_eq(blank + 1, "end"))) {
		refuse(c, "it is log POSITION, or log POSITION end");
		return;
	}
	if (follow && k->followers == CONTROL_FOLLOWERS) {
		refuse(c, "so many follow the log already");
		return;
	}
	ledger_settle(k->ledger);
	c->log = true;
	c->follow = follow;
	c->position = (uint64_t)from;
	k->followers += follow;
}

/* The request is all there. */
static void
take(struct caller *c, char *line, size_t behind)
{
	c->asked = true;
	if (str_eq(line, "counts")) {
		ledger_counts(c->control->ledger, &c->out);
		buf_addc(&c->out, '\n');
	} else if (str_starts(line, "log ")) {
		start_log(c, line + strlen("log "));
	} else if (str_eq(line, "policy")) {
		set_policy(c, c->in.data + behind, c->in.size - behind);
	} else {
		refuse(c, "there is policy, counts and log");
	}
	buf_release(&c->in);
	answer(c);
}

/* The line is there, or there will be none. */
static void
look(struct caller *c, bool ended)
{
	char *end = memchr(c->in.data, '\n', c->in.size);
	size_t size = end != NULL ? (size_t)(end - c->in.data) : c->in.size;
	char line[REQUEST_MAX];

	if (size >= sizeof(line) || c->in.over) {
		c->asked = true;
		refuse(c, "it is too long");
		answer(c);
		return;
	}
	if (end == NULL && !ended)
		return;
	memcpy(line, c->in.data, size);
	line[size] = '\0';
	if (ended || !str_eq(line, "policy"))
		take(c, line, size + (end != NULL));
}

static void
read_request(struct caller *c)
{
	char piece[16 * 1024];
	ssize_t n = recv(c->watch.fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		drop(c);
		return;
	}
	c->since = loop_now(c->control->loop);
	buf_add(&c->in, piece, (size_t)n);
	look(c, n == 0);
}

static void
on_caller(struct watch *w, uint32_t events)
{
	struct caller *c = (void *)((char *)w - offsetof(struct caller, watch));

	if (!c->asked)
		read_request(c);
	else if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		drop(c);
	else
		answer(c);
}

/* -- callers --------------------------------------------------------------- */

static void
on_tick(struct timer *t)
{
	struct control *k =
	    (void *)((char *)t - offsetof(struct control, tick));
	int64_t now = loop_now(k->loop);
	struct caller *next;

	ledger_settle(k->ledger);
	for (struct caller *c = k->callers; c != NULL; c = next) {
		int64_t silence = now - c->since;

		next = c->next;
		if (c->follow && c->out.size == 0) {
			if (silence < CONTROL_BEAT_MS)
				continue;
			buf_addc(&c->out, '\n');
			answer(c);
		} else if (silence >= (c->follow ? CONTROL_STALL_MS
						 : CONTROL_PATIENCE_MS)) {
			drop(c);
		}
	}
	if (k->callers != NULL)
		loop_timer(k->loop, &k->tick, TICK_MS);
}

static void
add_caller(struct control *k, int fd)
{
	struct caller *c = mem_zalloc(sizeof(*c));

	*c = (struct caller){.watch = {on_caller, fd, 0},
	    .control = k,
	    .next = k->callers,
	    .in = BUF_INIT(REQUEST_MAX + POLICY_TEXT_MAX),
	    .out = BUF_INIT(ANSWER_MAX),
	    .since = loop_now(k->loop)};
	k->callers = c;
	k->count++;
	if (loop_watch(k->loop, &c->watch, EPOLLIN) != 0) {
		drop(c);
		return;
	}
	if (k->tick.slot == 0)
		loop_timer(k->loop, &k->tick, TICK_MS);
}

static void
on_listener(struct watch *w, uint32_t events)
{
	static const char full[] = "error so many clients are there already\n";
	struct control *k =
	    (void *)((char *)w - offsetof(struct control, listener));
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			  errno == ENOMEM)) {
		/* It would be told again at once, for ever. */
		loop_forget(k->loop, w);
		loop_timer(k->loop, &k->retry, RETRY_MS);
	}
	if (fd < 0)
		return;
	if (k->count < CONTROL_CLIENTS) {
		add_caller(k, fd);
		return;
	}
	(void)!send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

static void
on_retry(struct timer *t)
{
	struct control *k =
	    (void *)((char *)t - offsetof(struct control, retry));

	(void)loop_watch(k->loop, &k->listener, EPOLLIN);
}

/* A line more: for those that wait for one. */
static void
on_line(void *arg)
{
	struct control *k = arg;
	struct caller *next;

	for (struct caller *c = k->callers; c != NULL; c = next) {
		next = c->next;
		if (c->follow && c->out.size == 0)
			answer(c);
	}
}

struct control *
control_new(struct loop *loop, int listener, struct ledger *ledger,
    void (*set)(void *arg, struct policy *p), void *arg, struct err *e)
{
	struct control *k = mem_zalloc(sizeof(*k));

	*k = (struct control){.loop = loop,
	    .ledger = ledger,
	    .set = set,
	    .arg = arg,
	    .listener = {on_listener, listener, 0},
	    .tick = {.fire = on_tick},
	    .retry = {.fire = on_retry}};
	if (loop_watch(loop, &k->listener, EPOLLIN) != 0) {
		(void)err_sys(
		    e, ERR_INTERNAL, "cannot watch the control socket");
		free(k);
		return NULL;
	}
	ledger_listen(ledger, on_line, k);
	return k;
}

void
control_free(struct control *c)
{
	if (c == NULL)
		return;
	for (struct caller *each = c->callers, *next; each != NULL;
	     each = next) {
		next = each->next;
		drop(each);
	}
	ledger_listen(c->ledger, NULL, NULL);
	loop_timer_stop(c->loop, &c->tick);
	loop_timer_stop(c->loop, &c->retry);
	loop_forget(c->loop, &c->listener);
	fd_close(&c->listener.fd);
	free(c);
}
