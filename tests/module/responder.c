/* A FastCGI application for the tests of nginx. */
#include "responder.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum record { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };

#define WAIT_MS 60000
#define KEEP 1

struct conn {
	const struct responder *setup;
	int fd, log;
	unsigned char bytes[8192]; /* as much as libfcgi reads at once */
	size_t have, at;

	unsigned char flags;
	struct buf params;
	size_t body;
	bool body_ended;
};

/* Exactly size bytes, or the process ends: nginx is gone. */
static void
take(struct conn *c, void *to, size_t size)
{
	for (unsigned char *at = to; size > 0; size--) {
		if (c->at == c->have) {
			ssize_t n = read(c->fd, c->bytes, sizeof(c->bytes));

			if (n <= 0)
				_exit(0);
			c->have = (size_t)n;
			c->at = 0;
		}
		*at++ = c->bytes[c->at++];
	}
}

/* The next record; what is no record ends the process, as libfcgi closes. */
static enum record
take_record(struct conn *c, struct buf *ret_content)
{
	unsigned char head[8], padding[255];

	take(c, head, sizeof(head));
	if (head[0] != 1)
		_exit(0);
	size_t size = (size_t)head[4] << 8 | head[5];
	buf_reset(ret_content);
	take(c, buf_grow(ret_content, size), size);
	ret_content->size += size;
	take(c, padding, head[6]);
	return head[1];
}

static void
put(struct conn *c, enum record type, const void *bytes, size_t size)
{
	unsigned char head[8] = {1, (unsigned char)type, 0, 1,
	    (unsigned char)(size >> 8), (unsigned char)size, 0, 0};
	struct err e = ERR_INIT;
	int64_t deadline = clock_mono_ms() + WAIT_MS;

	if (fd_write_all(c->fd, head, sizeof(head), deadline, &e) != 0 ||
	    fd_write_all(c->fd, bytes, size, deadline, &e) != 0)
		_exit(0);
}

static void
note(const struct conn *c, const char *text)
{
	char line[9000];
	int size = snprintf(line, sizeof(line), "%s\n", text);

	if (write(c->log, line, (size_t)size) != size)
		_exit(1);
}

/* A parameter's value, or "". FastCGI 1.0, 3.4: lengths, then bytes. */
static const char *
param(const struct conn *c, const char *name, char *to, size_t room)
{
	const unsigned char *at = (const unsigned char *)c->params.data;
	const unsigned char *end = at + c->params.size;

	*to = '\0';
	while (at < end) {
		size_t size[2];

		for (int i = 0; i < 2; i++) {
			size[i] = *at++;
			if ((size[i] & 0x80) == 0)
				continue;
			size[i] = (size[i] & 0x7f) << 24 | (size_t)at[0] << 16 |
				  (size_t)at[1] << 8 | at[2];
			at += 3;
		}
		if (size[0] == strlen(name) && memcmp(at, name, size[0]) == 0)
			(void)snprintf(
			    to, room, "%.*s", (int)size[1], at + size[0]);
		at += size[0] + size[1];
	}
	return to;
}

/* BEGIN_REQUEST and the parameters. */
static void
take_request(struct conn *c)
{
	BUF_AUTO content = BUF_INIT(70000);
	char line[9000], method[64], target[8400];

	if (take_record(c, &content) != BEGIN || content.size != 8)
		_exit(0);
	c->flags = (unsigned char)content.data[2];
	c->body = 0;
	c->body_ended = false;
	buf_reset(&c->params);
	while (take_record(c, &content) == PARAMS && content.size > 0)
		buf_add(&c->params, content.data, content.size);
	(void)snprintf(line, sizeof(line), "%s %s %s", c->setup->pool,
	    param(c, "REQUEST_METHOD", method, sizeof(method)),
	    param(c, "REQUEST_URI", target, sizeof(target)));
	note(c, line);
}

static void
take_body(struct conn *c)
{
	BUF_AUTO content = BUF_INIT(70000);
	char line[64];

	while (!c->body_ended) {
		c->body_ended =
		    take_record(c, &content) == STDIN && content.size == 0;
		if (c->body == 0 && content.size > 0) {
			(void)snprintf(
			    line, sizeof(line), "first %zu", content.size);
			note(c, line);
		}
		c->body += content.size;
	}
}

static void
answer(struct conn *c)
{
	static const struct {
		const char *name, *of;
	} told[] = {{"method", "REQUEST_METHOD"}, {"id", "HTTP_X_REQUEST_ID"},
	    {"auth", "HTTP_AUTHORIZATION"}, {"proxy", "HTTP_PROXY"},
	    {"target", "REQUEST_URI"}};
	BUF_AUTO text = BUF_INIT(64 * 1024);
	BUF_AUTO head = BUF_INIT(1024);
	char value[8400];

	buf_addf(&text, "pool=%s\nkeep=%d\nbody=%zu\n", c->setup->pool,
	    c->flags & KEEP, c->body);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		buf_addf(&text, "%s=%s\n", told[i].name,
		    param(c, told[i].of, value, sizeof(value)));
	buf_addf(&head,
	    "Content-Type: text/plain\r\nX-Request-Id: the worker's\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    text.size);
	put(c, STDOUT, head.data, head.size);
	put(c, STDOUT, text.data, text.size);
}

/* Wait for a ticket (its byte), or for nginx to close (-1). */
static int
await_ticket(const struct conn *c, bool tickets)
{
	struct pollfd fds[2] = {{c->fd, POLLIN | POLLRDHUP, 0},
	    {tickets ? c->setup->tickets : -1, POLLIN, 0}};
	char ticket = 0;

	if (poll(fds, 2, WAIT_MS) <= 0)
		_exit(1);
	if ((fds[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
		note(c, "gone");
		return -1;
	}
	if (recv(c->setup->tickets, &ticket, 1, 0) != 1)
		_exit(1);
	return ticket;
}

static void
stream(struct conn *c)
{
	const char head[] = "Content-Type: text/event-stream\r\n\r\n: ok\n\n";
	int ticket;

	put(c, STDOUT, head, sizeof(head) - 1);
	while ((ticket = await_ticket(c, true)) > 0) {
		char event[64];
		int size = snprintf(
		    event, sizeof(event), "event: tick\ndata: %d\n\n", ticket);

		put(c, STDOUT, event, (size_t)size);
	}
	if (ticket < 0)
		_exit(0);
}

static void
answer_large(struct conn *c)
{
	static const char zeros[32768];
	const char head[] = "Content-Type: application/octet-stream\r\n\r\n";

	put(c, STDOUT, head, sizeof(head) - 1);
	for (size_t i = 0; i < RESPONDER_LARGE / sizeof(zeros); i++)
		put(c, STDOUT, zeros, sizeof(zeros));
}

static void
act(struct conn *c)
{
	const unsigned char done[8] = {0};
	char what[16];

	param(c, "HTTP_X_ACT", what, sizeof(what));
	if (!str_eq(what, "ignore"))
		take_body(c);
	if (str_eq(what, "hang")) {
		(void)await_ticket(c, false);
		_exit(0);
	}
	if (str_eq(what, "stream"))
		stream(c);
	else if (str_eq(what, "large"))
		answer_large(c);
	else
		answer(c);
	put(c, STDOUT, "", 0);
	put(c, END, done, sizeof(done));
}

/* One connection, from its first request to its close. */
static void
converse(const struct responder *r, int fd)
{
	struct conn c = {.setup = r, .fd = fd, .params = BUF_INIT(70000)};

	c.log = open(r->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	do {
		take_request(&c);
		act(&c);
		c.at = c.have; /* the reader is thrown away with the request */
	} while ((c.flags & KEEP) != 0);
	/* Unread bytes at close would reset the answer away. */
	(void)shutdown(fd, SHUT_WR);
	while (read(fd, c.bytes, sizeof(c.bytes)) > 0)
		continue;
	_exit(0);
}

static void
serve(const struct responder *r, int listener)
{
	for (;;) {
		struct pollfd ready = {listener, POLLIN, 0};

		(void)poll(&ready, 1, -1);
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			converse(r, fd);
		}
		(void)close(fd);
	}
}

pid_t
responder_start(const struct responder *r)
{
	struct err e = ERR_INIT;
	FD_AUTO listener = fd_listen_unix(r->socket, 0666, 128, &e);
	pid_t pid = listener < 0 ? -1 : fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGCHLD, SIG_IGN);
		(void)signal(SIGPIPE, SIG_IGN);
		serve(r, listener);
	}
	return pid;
}
