/*
 * The connection to Redis. hiredis writes and reads the protocol; the socket
 * is ours, because hiredis' timeouts hold for each read and write, not for the
 * call, and because it writes without MSG_NOSIGNAL.
 */
#include "store/redis.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "store/redis_url.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MIN_MS 50
#define WAIT_MAX_MS 1000
#define READ_SIZE (16 * 1024)

struct redis {
	struct redis_url url;
	int fd; /* -1 while there is no connection */
	redisReader *reader;
	int64_t not_before; /* CLOCK_MONOTONIC ms of the next try to connect */
	int wait_ms;	    /* the back-off of the next failure */
};

struct redis *
redis_new(const char *url, struct err *e)
{
	struct redis_url parsed;

	if (redis_url_parse(url, &parsed, e) != 0)
		return NULL;
	struct redis *r = mem_zalloc(sizeof(*r));
	r->url = parsed;
	r->fd = -1;
	r->wait_ms = WAIT_MIN_MS;
	return r;
}

static void
disconnect(struct redis *r)
{
	fd_close(&r->fd);
	if (r->reader != NULL)
		redisReaderFree(r->reader);
	r->reader = NULL;
}

/* The connection failed: no other try before the back-off has passed. */
static void
drop(struct redis *r)
{
	disconnect(r);
	r->not_before = clock_mono_ms() + r->wait_ms;
	r->wait_ms =
	    r->wait_ms * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : r->wait_ms * 2;
}

void
redis_settle(const struct redis *r)
{
	if (r->fd < 0)
		(void)poll(NULL, 0, clock_left(r->not_before));
}

void
redis_free(struct redis *r)
{
	if (r == NULL)
		return;
	disconnect(r);
	free(r);
}

static int
wait_for(int fd, short events, int64_t deadline, struct err *e)
{
	struct pollfd p = {fd, events, 0};

	for (;;) {
		int n = poll(&p, 1, clock_left(deadline));

		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(
			    e, ERR_STORE_AWAY, "Redis did not answer in time");
		if (errno != EINTR)
			return err_sys(e, ERR_STORE_AWAY, "cannot wait");
	}
}

/* A non-blocking socket connected to one address. */
static int
connect_address(const struct addrinfo *to, int64_t deadline, struct err *e)
{
	int on = 1, idle = 15, why = 0;
	socklen_t size = sizeof(why);
	FD_AUTO fd = socket(
	    to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_sys(e, ERR_STORE_AWAY, "cannot make a socket");
	if (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
		if (errno != EINPROGRESS)
			return err_sys(
			    e, ERR_STORE_AWAY, "cannot connect to Redis");
		if (wait_for(fd, POLLOUT, deadline, e) != 0)
			return -1;
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
		errno = why;
		if (why != 0)
			return err_sys(
			    e, ERR_STORE_AWAY, "cannot connect to Redis");
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	return fd_take(&fd);
}

static int
connect_tcp(const struct redis_url *url, int64_t deadline, struct err *e)
{
	struct addrinfo hints, *list = NULL;
	int fd = -1;

	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	int rc = getaddrinfo(url->host, url->port, &hints, &list);
	if (rc != 0)
		return err_set(e, ERR_STORE_AWAY,
		    "cannot find Redis' host %s: %s", url->host,
		    gai_strerror(rc));
	for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
		fd = connect_address(at, deadline, e);
	freeaddrinfo(list);
	return fd;
}

static int
connect_socket(const struct redis_url *url, int64_t deadline, struct err *e)
{
	if (url->path[0] == '\0')
		return connect_tcp(url, deadline, e);
	int fd = fd_connect_unix(url->path, clock_left(deadline), e);
	if (fd < 0)
		e->kind = ERR_STORE_AWAY;
	else
		(void)fd_set_nonblock(fd, 1);
	return fd;
}

/* Send all of it. -1 means that Redis got less than the whole command, which
 * it therefore does not execute. */
static int
send_all(
    int fd, const char *bytes, size_t size, int64_t deadline, struct err *e)
{
	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n >= 0) {
			bytes += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (wait_for(fd, POLLOUT, deadline, e) != 0)
				return -1;
		} else if (errno != EINTR) {
			return err_sys(e, ERR_STORE_AWAY, "Redis hung up");
		}
	}
	return 0;
}

/* As many bytes as there are, or wait for some. */
static ssize_t
receive_some(int fd, char *to, size_t room, int64_t deadline, struct err *e)
{
	for (;;) {
		ssize_t n = recv(fd, to, room, 0);

		if (n > 0)
			return n;
		if (n == 0)
			return err_set(e, ERR_STORE_AWAY, "Redis hung up");
		if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, ERR_STORE_AWAY, "Redis hung up");
		if (wait_for(fd, POLLIN, deadline, e) != 0)
			return -1;
	}
}

static redisReply *
receive(struct redis *r, int64_t deadline, struct err *e)
{
	char bytes[READ_SIZE];
	size_t total = 0;
	void *reply = NULL;

	while (total <= REDIS_REPLY_MAX) {
		if (redisReaderGetReply(r->reader, &reply) != REDIS_OK) {
			(void)err_set(e, ERR_STORE,
			    "Redis answered nonsense: %s", r->reader->errstr);
			return NULL;
		}
		if (reply != NULL)
			return reply;
		ssize_t n =
		    receive_some(r->fd, bytes, sizeof(bytes), deadline, e);
		if (n < 0)
			return NULL;
		total += (size_t)n;
		(void)redisReaderFeed(r->reader, bytes, (size_t)n);
	}
	(void)err_set(e, ERR_STORE, "Redis' reply is too large");
	return NULL;
}

/* One command and its reply, or NULL; *ret_unsent then says that it was not
 * executed. */
static redisReply *
exchange(struct redis *r, int argc, const char *const *argv,
    const size_t *argv_size, int64_t deadline, bool *ret_unsent, struct err *e)
{
	char *bytes;
	/* hiredis 0.14 lacks the const; it does not write to argv. */
	const char **unconst = NULL;

	memcpy(&unconst, &argv, sizeof(argv));
	int size = redisFormatCommandArgv(&bytes, argc, unconst, argv_size);
	if (size < 0) /* out of memory */
		abort();
	int rc = send_all(r->fd, bytes, (size_t)size, deadline, e);
	redisFreeCommand(bytes);
	*ret_unsent = rc != 0;
	return rc != 0 ? NULL : receive(r, deadline, e);
}

/* A command of the handshake, which must succeed. */
static int
handshake(struct redis *r, int argc, const char *const *argv, int64_t deadline,
    struct err *e)
{
	bool unsent;
	redisReply *reply = exchange(r, argc, argv, NULL, deadline, &unsent, e);

	if (reply == NULL)
		return -1;
	int rc = 0;
	if (reply->type == REDIS_REPLY_ERROR)
		rc = err_set(e, ERR_STORE, "Redis refused %s: %.300s", argv[0],
		    reply->str);
	freeReplyObject(reply);
	return rc;
}

static int
open_connection(struct redis *r, int64_t deadline, struct err *e)
{
	const struct redis_url *url = &r->url;
	const char *auth[] = {"AUTH", url->user, url->password};
	const char *select[] = {"SELECT", url->db};
	bool user = url->user[0] != '\0';

	r->fd = connect_socket(url, deadline, e);
	if (r->fd < 0)
		return -1;
	r->reader = redisReaderCreate();
	if (r->reader == NULL)
		abort();
	if (!user)
		auth[1] = url->password;
	if (url->password[0] != '\0' &&
	    handshake(r, user ? 3 : 2, auth, deadline, e) != 0)
		return -1;
	if (url->db[0] != '\0' && handshake(r, 2, select, deadline, e) != 0)
		return -1;
	return 0;
}

/* Between commands nothing comes: what is readable is the end. */
static bool
is_stale(int fd)
{
	struct pollfd p = {fd, POLLIN | POLLRDHUP, 0};

	return poll(&p, 1, 0) != 0;
}

static int
connected(struct redis *r, int64_t deadline, struct err *e)
{
	if (r->fd >= 0 && is_stale(r->fd))
		disconnect(r);
	if (r->fd >= 0)
		return 0;
	if (clock_mono_ms() < r->not_before)
		return err_set(e, ERR_STORE_AWAY,
		    "Redis is away; the next try is in a moment");
	if (open_connection(r, deadline, e) == 0)
		return 0;
	drop(r);
	return -1;
}

/* Redis' word for it begins the text, but where a script met it, before Redis
 * 7: "ERR Error running script (...): ... -MISCONF ...". */
static bool
lacks_room(const char *text)
{
	return str_starts(text, "MISCONF ") || str_starts(text, "OOM ") ||
	       (str_starts(text, "ERR ") &&
		   (strstr(text, " -MISCONF ") || strstr(text, " -OOM ")));
}

/* An error reply as an error. Words that pass by themselves are "away". */
static int
refused(const redisReply *reply, struct err *e)
{
	static const char *const passing[] = {
	    "LOADING ", "BUSY ", "MASTERDOWN ", "TRYAGAIN "};
	enum err_kind kind =
	    lacks_room(reply->str) ? ERR_STORE_SPACE : ERR_STORE;

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (str_starts(reply->str, passing[i]))
			kind = ERR_STORE_AWAY;
	return err_set(e, kind, "%.400s", reply->str);
}

struct redisReply *
redis_command(struct redis *r, int argc, const char *const *argv,
    const size_t *argv_size, struct err *e)
{
	int64_t deadline = clock_mono_ms() + REDIS_CALL_MS;
	redisReply *reply = NULL;
	bool unsent;

	for (int try = 0;; try++) {
		if (connected(r, deadline, e) != 0)
			return NULL;
		reply =
		    exchange(r, argc, argv, argv_size, deadline, &unsent, e);
		if (reply != NULL)
			break;
		if (try > 0 || !unsent || clock_left(deadline) == 0) {
			drop(r);
			return NULL;
		}
		disconnect(r);
	}
	r->wait_ms = WAIT_MIN_MS;
	if (reply->type != REDIS_REPLY_ERROR)
		return reply;
	(void)refused(reply, e);
	freeReplyObject(reply);
	return NULL;
}

int
redis_ping(struct redis *r, struct err *e)
{
	const char *argv[] = {"PING"};
	struct redisReply *reply = redis_command(r, 1, argv, NULL, e);

	redis_reply_free(reply);
	return reply != NULL ? 0 : -1;
}

void
redis_reply_free(struct redisReply *reply)
{
	if (reply != NULL)
		freeReplyObject(reply);
}

size_t
reply_count(const struct redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ARRAY
		   ? reply->elements
		   : 0;
}

const struct redisReply *
reply_at(const struct redisReply *reply, size_t i)
{
	return i < reply_count(reply) ? reply->element[i] : NULL;
}

const char *
reply_text(const struct redisReply *reply)
{
	if (reply == NULL || (reply->type != REDIS_REPLY_STRING &&
				 reply->type != REDIS_REPLY_STATUS))
		return NULL;
	return reply->str;
}

int64_t
reply_int(const struct redisReply *reply)
{
	const char *text = reply_text(reply);
	int64_t value = 0;

	if (text != NULL)
		(void)str_to_int(text, INT64_MIN, INT64_MAX, &value);
	else if (reply != NULL && reply->type == REDIS_REPLY_INTEGER)
		value = reply->integer;
	return value;
}
