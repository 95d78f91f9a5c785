/* A thread that accepts, and one per connection: command there, reply back. */
#include "redis_proxy.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX (16u << 20)
#define LINKS_MAX 256
#define LATE_MS 1300 /* a client of ours gives up after 1000 */
#define NAMES_MAX (4u << 20)

struct link {
	struct redis_proxy *proxy; /* NULL: the slot is free */
	int client, server;
};

struct redis_proxy {
	char directory[32], socket[64], url[80], redis[108];
	char *names;	      /* the generated header that has the scripts' */
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	struct link link[LINKS_MAX];
	size_t open, late;
	size_t fail_in; /* commands until the one that fails; 0: none */
	enum redis_fault how;
	int down, hit;
	char failed[256];
	pthread_t acceptor;
	int listener;
};

static void
must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "redis proxy: %s: %s\n", what, strerror(errno));
	abort();
}

/* -- what failed ---------------------------------------------------------- */

/* A digest's script, from "#define LUA_SHA_run_create \"...\"". */
static void
add_name(const struct redis_proxy *p, const char *digest, struct buf *to)
{
	static const char before[] = "LUA_SHA_";
	const char *at = strstr(p->names, digest);

	while (at != NULL && at > p->names && !str_starts(at, before))
		at--;
	if (at != NULL && str_starts(at, before))
		buf_addf(to, "%.*s", (int)strcspn(at, " ") - 8, at + 8);
	else
		buf_adds(to, digest);
}

static void
name_command(struct redis_proxy *p, const redisReply *command)
{
	BUF_AUTO text = BUF_INIT(MESSAGE_MAX);

	for (size_t i = 0; i < command->elements && i < 5; i++) {
		const char *word = command->element[i]->str;

		if (i == 1 && str_eq(command->element[0]->str, "EVALSHA"))
			add_name(p, word, &text);
		else if (i == 1 && str_eq(command->element[0]->str, "EVAL"))
			buf_adds(&text, "(its text)");
		else
			buf_adds(&text, word);
		buf_addc(&text, ' ');
	}
	(void)snprintf(p->failed, sizeof(p->failed), "%s", text.data);
}

/* What befalls this command; REDIS_FAULTS is nothing. */
static enum redis_fault
next_fault(struct redis_proxy *p, const redisReply *command)
{
	enum redis_fault how = REDIS_FAULTS;

	(void)pthread_mutex_lock(&p->lock);
	if (p->down) {
		how = REDIS_DOWN;
	} else if (p->fail_in > 0 && --p->fail_in == 0) {
		how = p->how;
		p->hit = 1;
		p->down = how == REDIS_DOWN;
		p->late += how == REDIS_LATE;
		name_command(p, command);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return how;
}

/* -- one connection ------------------------------------------------------- */

/* One whole message into bytes, and parsed; NULL at the end. Commands have the
 * form of replies (RESP). */
static redisReply *
read_message(int fd, struct buf *bytes)
{
	redisReader *reader = redisReaderCreate();
	void *message = NULL;
	char piece[16384];
	ssize_t n = 1;

	buf_reset(bytes);
	while (message == NULL && n > 0) {
		n = recv(fd, piece, sizeof(piece), 0);
		if (n <= 0)
			break;
		buf_add(bytes, piece, (size_t)n);
		must(redisReaderFeed(reader, piece, (size_t)n) == REDIS_OK &&
			 redisReaderGetReply(reader, &message) == REDIS_OK,
		    "not RESP");
	}
	redisReaderFree(reader);
	return message;
}

static int
send_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The command to Redis, and its reply to the client unless it is lost. False
 * where the connection is over. */
static int
pass_on(struct link *l, const struct buf *command, int lost)
{
	BUF_AUTO bytes = BUF_INIT(MESSAGE_MAX);

	if (send_all(l->server, command->data, command->size) != 0)
		return 0;
	redisReply *reply = read_message(l->server, &bytes);
	if (reply == NULL)
		return 0;
	freeReplyObject(reply);
	return !lost && send_all(l->client, bytes.data, bytes.size) == 0;
}

static int
say(struct link *l, const char *error)
{
	return send_all(l->client, error, strlen(error)) == 0;
}

static void
execute_late(struct link *l, const struct buf *command)
{
	struct redis_proxy *p = l->proxy;

	(void)poll(NULL, 0, LATE_MS);
	(void)pass_on(l, command, 1);
	(void)pthread_mutex_lock(&p->lock);
	p->late--;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
}

/* Carry one command out as the fault says. False where the connection is over.
 */
static int
obey(struct link *l, const struct buf *command, enum redis_fault how)
{
	switch (how) {
	case REDIS_DROP:
	case REDIS_DOWN:
		return 0;
	case REDIS_LOADING:
		return say(l, "-LOADING Redis is loading the dataset\r\n");
	case REDIS_FULL:
		return say(l, "-OOM command not allowed\r\n");
	case REDIS_NOSCRIPT:
		return say(l, "-NOSCRIPT No matching script.\r\n");
	case REDIS_LATE:
		execute_late(l, command);
		return 0;
	default:
		return pass_on(l, command, how == REDIS_LOSE);
	}
}

static void *
run_link(void *arg)
{
	struct link *l = arg;
	struct redis_proxy *p = l->proxy;
	BUF_AUTO bytes = BUF_INIT(MESSAGE_MAX);
	redisReply *command;
	int more = 1;

	while (more && (command = read_message(l->client, &bytes)) != NULL) {
		enum redis_fault how = next_fault(p, command);

		freeReplyObject(command);
		more = obey(l, &bytes, how);
	}
	(void)pthread_mutex_lock(&p->lock);
	fd_close(&l->client);
	fd_close(&l->server);
	l->proxy = NULL;
	p->open--;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void
begin_link(struct redis_proxy *p, int client)
{
	struct err e = ERR_INIT;
	int server = fd_connect_unix(p->redis, 1000, &e);
	pthread_t thread;
	size_t i = 0;

	if (server < 0) { /* Redis is down: so are we */
		fd_close(&client);
		return;
	}
	(void)pthread_mutex_lock(&p->lock);
	while (i < LINKS_MAX && p->link[i].proxy != NULL)
		i++;
	must(i < LINKS_MAX, "too many connections");
	p->link[i] = (struct link){p, client, server};
	p->open++;
	(void)pthread_mutex_unlock(&p->lock);
	must(pthread_create(&thread, NULL, run_link, &p->link[i]) == 0,
	    "pthread_create");
	(void)pthread_detach(thread);
}

static void *
run_acceptor(void *arg)
{
	struct redis_proxy *p = arg;

	for (;;) {
		int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return NULL; /* shut down */
		begin_link(p, fd);
	}
}

/* -- the test's side ------------------------------------------------------ */

struct redis_proxy *
redis_proxy_new(const char *redis_socket)
{
	struct redis_proxy *p = mem_zalloc(sizeof(*p));
	const char *build = getenv("SBX_TEST_BUILD");
	struct err e = ERR_INIT;
	char header[512];

	memcpy(p->directory, "/tmp/sbx-proxy-XXXXXX", 22);
	must(mkdtemp(p->directory) != NULL, "mkdtemp");
	(void)snprintf(
	    p->socket, sizeof(p->socket), "%s/redis.sock", p->directory);
	(void)snprintf(p->url, sizeof(p->url), "unix://%s", p->socket);
	(void)snprintf(p->redis, sizeof(p->redis), "%s", redis_socket);
	(void)snprintf(header, sizeof(header), "%s/gen/lua.h",
	    build != NULL ? build : "build");
	p->names = fd_read_file(header, NAMES_MAX, NULL, &e);
	must(p->names != NULL, header);
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	p->listener = fd_listen_unix(p->socket, 0600, 128, &e);
	must(p->listener >= 0 && fd_set_nonblock(p->listener, 0) == 0, e.text);
	must(pthread_create(&p->acceptor, NULL, run_acceptor, p) == 0,
	    "pthread_create");
	return p;
}

void
redis_proxy_free(struct redis_proxy *p)
{
	(void)shutdown(p->listener, SHUT_RDWR);
	(void)pthread_join(p->acceptor, NULL);
	fd_close(&p->listener);
	(void)pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < LINKS_MAX; i++)
		if (p->link[i].proxy != NULL) {
			(void)shutdown(p->link[i].client, SHUT_RDWR);
			(void)shutdown(p->link[i].server, SHUT_RDWR);
		}
	while (p->open > 0)
		(void)pthread_cond_wait(&p->changed, &p->lock);
	(void)pthread_mutex_unlock(&p->lock);
	(void)unlink(p->socket);
	(void)rmdir(p->directory);
	(void)pthread_cond_destroy(&p->changed);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->names);
	free(p);
}

const char *
redis_proxy_url(const struct redis_proxy *p)
{
	return p->url;
}

void
redis_proxy_fail(struct redis_proxy *p, size_t n, enum redis_fault how)
{
	(void)pthread_mutex_lock(&p->lock);
	p->fail_in = n;
	p->how = how;
	p->down = p->hit = 0;
	(void)pthread_mutex_unlock(&p->lock);
}

const char *
redis_proxy_heal(struct redis_proxy *p)
{
	(void)pthread_mutex_lock(&p->lock);
	p->fail_in = 0;
	p->down = 0;
	while (p->late > 0)
		(void)pthread_cond_wait(&p->changed, &p->lock);
	const char *failed = p->hit ? p->failed : NULL;
	(void)pthread_mutex_unlock(&p->lock);
	return failed;
}
