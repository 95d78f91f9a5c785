/* The far end of a proxy. */
#include "hostile_origin.h"
#include "../../proxy/chunk.h"
#include "../check.h"
#include "../port.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS 64
#define SEEN_MAX (4u << 20)
#define SYNC "SYNC\r\n\r\n"

enum { AT_LISTEN, AT_LISTEN_OTHER, AT_DNS, AT_CONNECTIONS };

struct connection {
	struct buf in;
	bool invited; /* 100 (Continue) was said for what is in it */
};

static struct {
	struct pollfd fd[AT_CONNECTIONS + CONNECTIONS];
	struct connection connection[AT_CONNECTIONS + CONNECTIONS];
	int port, dns_port;
	pthread_t thread;
	atomic_bool over;
	pthread_mutex_t mutex; /* of what follows */
	struct buf seen, names;
	int requests;
	const char *says;
} origin = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* -- requests -------------------------------------------------------------- */

/* Bytes of the body behind that head, of which so many are there; -1: more are
 * needed. The proxy's requests are what a strict origin expects. */
static long
body_size(const char *head, const char *body, size_t size)
{
	const char *length = strcasestr(head, "\r\nContent-Length: ");

	if (length != NULL && length < body) {
		long want = strtol(length + 18, NULL, 10);

		return (size_t)want <= size ? want : -1;
	}
	const char *coding = strcasestr(head, "\r\nTransfer-Encoding: ");
	if (coding == NULL || coding > body)
		return 0;
	struct chunk c = CHUNK_INIT;
	bool done = false;
	long used = chunk_feed(&c, body, size, &done);
	return done ? used : -1;
}

static void
say(int fd, const char *text)
{
	struct err e = ERR_INIT;

	(void)fd_write_all(fd, text, strlen(text), clock_mono_ms() + 5000, &e);
}

static bool
has(const char *head, const char *end, const char *field)
{
	const char *at = strcasestr(head, field);

	return at != NULL && at < end;
}

/* False: hang up. */
static bool
answer(int fd, const char *head, const char *end)
{
	bool is_end = has(head, end, " /end HTTP/1.1");

	(void)pthread_mutex_lock(&origin.mutex);
	const char *says = is_end ? NULL : origin.says;
	origin.requests++;
	(void)pthread_mutex_unlock(&origin.mutex);
	if (says != NULL) {
		say(fd, says);
		return false;
	}
	say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
	if (strncmp(head, "HEAD ", 5) != 0)
		say(fd, "ok");
	return !has(head, end, "\r\nConnection: close\r\n");
}

/* Every whole request in what has come; false: hang up. */
static bool
take_requests(int fd, struct connection *c)
{
	const char *end;

	while ((end = strstr(c->in.data, "\r\n\r\n")) != NULL) {
		const char *body = end + 4;
		size_t there = c->in.size - (size_t)(body - c->in.data);

		if (strncmp(c->in.data, SYNC, sizeof(SYNC) - 1) == 0) {
			say(fd, "y");
			return false;
		}
		long size = body_size(c->in.data, body, there);
		if (size < 0) {
			if (!c->invited &&
			    has(c->in.data, body, "\r\nExpect: 100-continue"))
				say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
			c->invited = true;
			return true;
		}
		if (!c->invited &&
		    has(c->in.data, body, "\r\nExpect: 100-continue"))
			say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
		c->invited = false;
		if (!answer(fd, c->in.data, body))
			return false;
		buf_drop(&c->in, (size_t)(body - c->in.data) + (size_t)size);
	}
	return true;
}

/* -- connections ----------------------------------------------------------- */

static void
take_connection(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int at = AT_CONNECTIONS;

	if (fd < 0)
		return;
	while (at < AT_CONNECTIONS + CONNECTIONS && origin.fd[at].fd >= 0)
		at++;
	if (at == AT_CONNECTIONS + CONNECTIONS)
		abort();
	origin.fd[at] = (struct pollfd){.fd = fd, .events = POLLIN};
	origin.connection[at] =
	    (struct connection){.in = BUF_INIT(SEEN_MAX), .invited = false};
}

static void
hang_up(int at)
{
	fd_close(&origin.fd[at].fd);
	buf_release(&origin.connection[at].in);
}

static void
take_bytes(int at)
{
	struct connection *c = &origin.connection[at];
	char bytes[65536];
	ssize_t got = recv(origin.fd[at].fd, bytes, sizeof(bytes), 0);

	if (got <= 0) {
		hang_up(at);
		return;
	}
	buf_add(&c->in, bytes, (size_t)got);
	if (memmem(bytes, (size_t)got, SYNC, sizeof(SYNC) - 1) == NULL) {
		(void)pthread_mutex_lock(&origin.mutex);
		buf_add(&origin.seen, bytes, (size_t)got);
		(void)pthread_mutex_unlock(&origin.mutex);
	}
	if (!take_requests(origin.fd[at].fd, c))
		hang_up(at);
}

/* RFC 1035 4.1: the question comes back, as an answer that there is no such
 * name. */
static void
take_question(int fd)
{
	unsigned char bytes[512];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t got = recvfrom(
	    fd, bytes, sizeof(bytes) - 1, 0, (struct sockaddr *)&from, &size);

	if (got < 17)
		return;
	bytes[got] = '\0';
	(void)pthread_mutex_lock(&origin.mutex);
	for (const unsigned char *at = bytes + 12; *at != 0; at += *at + 1) {
		if (at + *at > bytes + got)
			abort();
		buf_add(&origin.names, at + 1, *at);
		buf_addc(&origin.names, at[*at + 1] != 0 ? '.' : '\n');
	}
	(void)pthread_mutex_unlock(&origin.mutex);
	bytes[2] |= 0x80;
	bytes[3] = 0x83;
	/* No record but the question (an OPT would have to be one of ours). */
	memset(bytes + 6, 0, 6);
	const unsigned char *end = bytes + 12;
	while (*end != 0)
		end += *end + 1;
	(void)sendto(fd, bytes, (size_t)(end + 5 - bytes), 0,
	    (struct sockaddr *)&from, size);
}

static void *
run(void *arg)
{
	(void)arg;
	while (!atomic_load(&origin.over)) {
		if (poll(origin.fd, AT_CONNECTIONS + CONNECTIONS, 50) <= 0)
			continue;
		for (int at = AT_CONNECTIONS; at < AT_CONNECTIONS + CONNECTIONS;
		     at++)
			if (origin.fd[at].fd >= 0 && origin.fd[at].revents != 0)
				take_bytes(at);
		if (origin.fd[AT_DNS].revents != 0)
			take_question(origin.fd[AT_DNS].fd);
		for (int at = AT_LISTEN; at <= AT_LISTEN_OTHER; at++)
			if (origin.fd[at].revents != 0)
				take_connection(origin.fd[at].fd);
	}
	return NULL;
}

/* -- the test's side ------------------------------------------------------- */

static int
bound(int type, const char *address, int port)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	int one = 1;

	assert_int_equal(inet_pton(AF_INET, address, &a.sin_addr), 1);
	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 64), 0);
	return fd;
}

void
origin_start(void)
{
	for (int at = 0; at < AT_CONNECTIONS + CONNECTIONS; at++)
		origin.fd[at] = (struct pollfd){.fd = -1, .events = POLLIN};
	origin.port = port_free();
	origin.dns_port = port_free();
	origin.fd[AT_LISTEN].fd = bound(SOCK_STREAM, "127.0.0.1", origin.port);
	origin.fd[AT_LISTEN_OTHER].fd =
	    bound(SOCK_STREAM, "127.0.0.3", origin.port);
	origin.fd[AT_DNS].fd = bound(SOCK_DGRAM, "127.0.0.1", origin.dns_port);
	origin.seen = (struct buf)BUF_INIT(SEEN_MAX);
	origin.names = (struct buf)BUF_INIT(SEEN_MAX);
	assert_int_equal(pthread_create(&origin.thread, NULL, run, NULL), 0);
}

void
origin_stop(void)
{
	atomic_store(&origin.over, true);
	(void)pthread_join(origin.thread, NULL);
	for (int at = 0; at < AT_CONNECTIONS + CONNECTIONS; at++)
		hang_up(at);
	buf_release(&origin.seen);
	buf_release(&origin.names);
}

int
origin_port(void)
{
	return origin.port;
}

int
origin_dns_port(void)
{
	return origin.dns_port;
}

void
origin_play(const char *says)
{
	(void)pthread_mutex_lock(&origin.mutex);
	origin.says = says;
	origin.requests = 0;
	buf_reset(&origin.seen);
	buf_reset(&origin.names);
	(void)pthread_mutex_unlock(&origin.mutex);
}

/* What came before the answer to a connection of ours was looked at. */
static void
catch_up(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)origin.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	FD_AUTO fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	say(fd, SYNC);
	assert_int_equal(recv(fd, &byte, 1, 0), 1);
}

int
origin_seen(struct buf *bytes, struct buf *names)
{
	catch_up();
	(void)pthread_mutex_lock(&origin.mutex);
	buf_reset(bytes);
	buf_add(bytes, origin.seen.data, origin.seen.size);
	buf_reset(names);
	buf_add(names, origin.names.data, origin.names.size);
	int requests = origin.requests;
	(void)pthread_mutex_unlock(&origin.mutex);
	return requests;
}
