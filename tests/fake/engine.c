/* The scripted engine: a thread that accepts, and one per connection. */
#include "engine.h"
#include "answer.h"
#include "lib/buf.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_MAX (128u * 1024)
#define BODY_MAX (4u << 20)
#define BODY_KEPT (1u << 20)
#define RULES_MAX 64
#define REQUESTS_MAX 8192
#define CONNECTIONS_MAX 1024

struct connection {
	struct fake *fake; /* NULL: the slot is free */
	int fd;
};

struct fake {
	char directory[32], socket[64];
	pthread_mutex_t lock; /* of everything below */
	char oldest[16], newest[16];
	struct fake_rule rules[RULES_MAX];
	size_t rule_count;
	struct fake_request requests[REQUESTS_MAX];
	size_t request_count;
	size_t fail_at; /* as a request_count; 0 is never */
	enum fake_end fail_end;
	fake_handler handler;
	void *handler_arg;
	struct connection connections[CONNECTIONS_MAX]; /* open ones */
	size_t open_count, connection_count;
	pthread_cond_t closed;
	pthread_t acceptor;
	int listener; /* -1 while down */
};

static const char nothing[] = "";

static void
must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fake engine: %s: %s\n", what, strerror(errno));
	abort();
}

/* -- requests ------------------------------------------------------------- */

static bool
matches(const struct fake_request *r, const char *method, const char *path)
{
	return (method == NULL || strcmp(method, r->method) == 0) &&
	       (path == NULL || fnmatch(path, r->path, 0) == 0);
}

/* "POST /v1.41/a?b HTTP/1.1": taken apart into copies. */
static struct fake_request
parse_request(const char *head)
{
	struct fake_request r = {.head = mem_strdup(head), .body = nothing};
	size_t method = strcspn(head, " ");
	const char *target = head + method + 1;
	size_t version = 0;

	must(head[method] == ' ', "no request line");
	r.method = mem_strndup(head, method);
	if (strncmp(target, "/v1.", 4) == 0)
		version = strcspn(target + 1, "/") + 1;
	r.version =
	    version ? mem_strndup(target + 2, version - 2) : mem_strdup("");
	target += version;
	r.path = mem_strndup(target, strcspn(target, " "));
	return r;
}

/* Wait for a whole head and leave it in the socket. False at end-of-file. */
static bool
peek_head(int fd, struct buf *head)
{
	for (;;) {
		buf_reset(head);
		char *to = buf_grow(head, HEAD_MAX);
		ssize_t n = recv(fd, to, HEAD_MAX, MSG_PEEK);

		if (n <= 0)
			return false;
		to[n] = '\0';
		char *end = strstr(to, "\r\n\r\n");
		if (end != NULL) {
			end[4] = '\0';
			head->size = (size_t)(end + 4 - to);
			return true;
		}
		(void)poll(NULL, 0, 1); /* peeked bytes wake no poll */
	}
}

static bool
read_exactly(int fd, struct buf *to, size_t size)
{
	char *at = buf_grow(to, size);

	must(at != NULL, "request too large");
	for (size_t got = 0; got < size;) {
		ssize_t n = recv(fd, at + got, size - got, 0);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	to->size += size;
	return true;
}

/* "1f4\r\n" and so many bytes and "\r\n", to an empty one. Of a large body the
 * beginning is kept. */
static bool
read_chunks(int fd, struct buf *body)
{
	BUF_AUTO chunk = BUF_INIT(BODY_MAX);

	for (size_t size = 1; size > 0;) {
		buf_reset(&chunk);
		do {
			if (!read_exactly(fd, &chunk, 1))
				return false;
		} while (chunk.data[chunk.size - 1] != '\n');
		size = strtoul(chunk.data, NULL, 16);
		buf_reset(&chunk);
		if (!read_exactly(fd, &chunk, size + 2))
			return false;
		if (body->size + size < BODY_KEPT)
			buf_add(body, chunk.data, size);
	}
	return true;
}

static bool
read_body(int fd, const char *head, struct buf *body)
{
	const char *length = strcasestr(head, "\r\nContent-Length:");

	if (strcasestr(head, "\r\nTransfer-Encoding: chunked") != NULL)
		return read_chunks(fd, body);
	if (length == NULL)
		return true;
	return read_exactly(fd, body, strtoul(length + 17, NULL, 10));
}

/* -- choosing ------------------------------------------------------------- */

static int
minor(const char *version)
{
	return (int)strtol(version + 2, NULL, 10);
}

/* What a rule in the script would say, or the engine by itself. */
static struct fake_rule
choose_locked(struct fake *f, const struct fake_request *r, struct buf *body)
{
	if (f->fail_at != 0 && f->request_count == f->fail_at)
		return (struct fake_rule){.raw = "", .end = f->fail_end};
	if (r->version[0] != '\0' &&
	    (minor(r->version) < minor(f->oldest) ||
		minor(r->version) > minor(f->newest))) {
		buf_addf(body, "{\"message\":\"client version %s is too %s\"}",
		    r->version,
		    minor(r->version) < minor(f->oldest) ? "old" : "new");
		return (struct fake_rule){.status = 400, .body = body->data};
	}
	for (size_t i = f->rule_count; i-- > 0;) {
		struct fake_rule *rule = &f->rules[i];

		if (rule->times < 0 || !matches(r, rule->method, rule->path))
			continue;
		/* 1 is used up by this, and becomes -1; 0 stays. */
		if (rule->times > 0 && --rule->times == 0)
			rule->times = -1;
		return *rule;
	}
	if (strcmp(r->path, "/_ping") == 0)
		return (struct fake_rule){.status = 200, .body = "OK"};
	if (strcmp(r->path, "/version") == 0) {
		buf_addf(body,
		    "{\"ApiVersion\":\"%s\",\"MinAPIVersion\":\"%s\"}",
		    f->newest, f->oldest);
		return (struct fake_rule){.status = 200, .body = body->data};
	}
	return (struct fake_rule){
	    .status = 404, .body = "{\"message\":\"page not found\"}"};
}

static void
free_request(const struct fake_request *r)
{
	free((void *)(uintptr_t)r->method);
	free((void *)(uintptr_t)r->version);
	free((void *)(uintptr_t)r->path);
	free((void *)(uintptr_t)r->head);
	if (r->body != nothing)
		free((void *)(uintptr_t)r->body);
}

/* By the handler, from a whole head in the socket on. */
static bool
serve_handled(struct fake *f, int fd, const struct buf *head)
{
	BUF_AUTO dropped = BUF_INIT(HEAD_MAX);
	BUF_AUTO body = BUF_INIT(BODY_MAX);
	BUF_AUTO text = BUF_INIT(BODY_MAX);
	struct fake_request r = parse_request(head->data);
	bool more = false;

	if (read_exactly(fd, &dropped, head->size) &&
	    read_body(fd, head->data, &body)) {
		r.body = mem_strdup(body.data);
		struct fake_rule rule = f->handler(f->handler_arg, &r, &text);
		more = fake_answer(fd, &rule);
	}
	free_request(&r);
	return more;
}

/* Serve one request; false where the connection is done. */
static bool
serve_one(struct fake *f, int fd)
{
	BUF_AUTO head = BUF_INIT(HEAD_MAX);
	BUF_AUTO dropped = BUF_INIT(HEAD_MAX);
	BUF_AUTO body = BUF_INIT(BODY_MAX);
	BUF_AUTO own = BUF_INIT(1024);

	if (!peek_head(fd, &head))
		return false;
	if (f->handler != NULL)
		return serve_handled(f, fd, &head);
	struct fake_request r = parse_request(head.data);
	(void)pthread_mutex_lock(&f->lock);
	must(f->request_count < REQUESTS_MAX, "too many requests");
	size_t number = f->request_count++;
	f->requests[number] = r;
	struct fake_rule rule = choose_locked(f, &r, &own);
	(void)pthread_mutex_unlock(&f->lock);
	/* Closing a unix socket with unread bytes resets its peer. */
	if (rule.end == FAKE_RESET)
		return false;
	if (!read_exactly(fd, &dropped, head.size) ||
	    !read_body(fd, head.data, &body))
		return false;
	(void)pthread_mutex_lock(&f->lock);
	f->requests[number].body = mem_strdup(body.data);
	(void)pthread_mutex_unlock(&f->lock);
	return fake_answer(fd, &rule);
}

/* -- connections ---------------------------------------------------------- */

static void *
run_connection(void *arg)
{
	struct connection *c = arg;
	struct fake *f = c->fake;

	while (serve_one(f, c->fd))
		;
	(void)pthread_mutex_lock(&f->lock);
	fd_close(&c->fd);
	c->fake = NULL;
	f->open_count--;
	(void)pthread_cond_signal(&f->closed);
	(void)pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void
begin_connection(struct fake *f, int fd)
{
	pthread_t thread;
	size_t i = 0;

	(void)pthread_mutex_lock(&f->lock);
	while (i < CONNECTIONS_MAX && f->connections[i].fake != NULL)
		i++;
	must(i < CONNECTIONS_MAX, "too many connections");
	f->connections[i] = (struct connection){f, fd};
	f->open_count++;
	f->connection_count++;
	(void)pthread_mutex_unlock(&f->lock);
	must(pthread_create(
		 &thread, NULL, run_connection, &f->connections[i]) == 0,
	    "pthread_create");
	(void)pthread_detach(thread);
}

static void *
run_acceptor(void *arg)
{
	struct fake *f = arg;

	for (;;) {
		int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return NULL; /* shut down */
		begin_connection(f, fd);
	}
}

void
fake_cut_all(struct fake *f)
{
	(void)pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (f->connections[i].fake != NULL)
			(void)shutdown(f->connections[i].fd, SHUT_RDWR);
	while (f->open_count > 0)
		(void)pthread_cond_wait(&f->closed, &f->lock);
	(void)pthread_mutex_unlock(&f->lock);
}

void
fake_down(struct fake *f)
{
	if (f->listener < 0)
		return;
	/* Wakes the accept; what waits in the backlog is cut by the close. */
	(void)shutdown(f->listener, SHUT_RDWR);
	(void)pthread_join(f->acceptor, NULL);
	fd_close(&f->listener);
	(void)unlink(f->socket);
	fake_cut_all(f);
}

void
fake_up(struct fake *f)
{
	struct err e = ERR_INIT;

	f->listener = fd_listen_unix(f->socket, 0600, 128, &e);
	must(f->listener >= 0 && fd_set_nonblock(f->listener, 0) == 0, e.text);
	must(pthread_create(&f->acceptor, NULL, run_acceptor, f) == 0,
	    "pthread_create");
}

/* -- the test's side ------------------------------------------------------ */

struct fake *
fake_new(void)
{
	struct fake *f = mem_zalloc(sizeof(*f));

	memcpy(f->directory, "/tmp/sbx-fake-XXXXXX", 21);
	must(mkdtemp(f->directory) != NULL, "mkdtemp");
	(void)snprintf(
	    f->socket, sizeof(f->socket), "%s/docker.sock", f->directory);
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->closed, NULL);
	fake_speaks(f, "1.12", "1.41");
	fake_up(f);
	return f;
}

void
fake_free(struct fake *f)
{
	fake_down(f);
	(void)rmdir(f->directory);
	for (size_t i = 0; i < f->request_count; i++)
		free_request(&f->requests[i]);
	(void)pthread_mutex_destroy(&f->lock);
	(void)pthread_cond_destroy(&f->closed);
	free(f);
}

const char *
fake_socket(const struct fake *f)
{
	return f->socket;
}

void
fake_speaks(struct fake *f, const char *oldest, const char *newest)
{
	(void)pthread_mutex_lock(&f->lock);
	(void)snprintf(f->oldest, sizeof(f->oldest), "%s", oldest);
	(void)snprintf(f->newest, sizeof(f->newest), "%s", newest);
	(void)pthread_mutex_unlock(&f->lock);
}

void
fake_serve(struct fake *f, fake_handler handler, void *arg)
{
	f->handler = handler;
	f->handler_arg = arg;
}

void
fake_on(struct fake *f, struct fake_rule rule)
{
	(void)pthread_mutex_lock(&f->lock);
	must(f->rule_count < RULES_MAX, "too many rules");
	f->rules[f->rule_count++] = rule;
	(void)pthread_mutex_unlock(&f->lock);
}

void
fake_fail_nth(struct fake *f, size_t n, enum fake_end end)
{
	(void)pthread_mutex_lock(&f->lock);
	f->fail_at = f->request_count + n;
	f->fail_end = end;
	(void)pthread_mutex_unlock(&f->lock);
}

size_t
fake_request_count(struct fake *f)
{
	(void)pthread_mutex_lock(&f->lock);
	size_t count = f->request_count;
	(void)pthread_mutex_unlock(&f->lock);
	return count;
}

size_t
fake_connection_count(struct fake *f)
{
	(void)pthread_mutex_lock(&f->lock);
	size_t count = f->connection_count;
	(void)pthread_mutex_unlock(&f->lock);
	return count;
}

struct fake_request
fake_request(struct fake *f, size_t i)
{
	(void)pthread_mutex_lock(&f->lock);
	must(i < f->request_count, "no such request");
	struct fake_request r = f->requests[i];
	(void)pthread_mutex_unlock(&f->lock);
	return r;
}

size_t
fake_seen(struct fake *f, const char *method, const char *path)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->request_count; i++)
		count += matches(&f->requests[i], method, path);
	(void)pthread_mutex_unlock(&f->lock);
	return count;
}
