/* A worker process in a child, and its test routes. */
#include "pool_fixture.h"
#include "../check.h"
#include "api/call.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/str.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define EATEN_MAX 1000

/* The test program's one fixture, as the routes see it in the child. */
static struct pool_counters *counters;

static int64_t
number(struct call *c, const char *name)
{
	bool bad = false;
	const char *text = exchange_query(c->x, name, &bad);
	int64_t value = 0;

	if (text != NULL)
		(void)str_to_int(text, 0, INT32_MAX, &value);
	return value;
}

static int
reply(struct call *c, const char *text, struct err *e)
{
	return exchange_reply(c->x, 200, "text/plain", text, strlen(text), e);
}

static int
route_ping(struct call *c, struct err *e)
{
	return reply(c, "pong", e);
}

static int
route_secret(struct call *c, struct err *e)
{
	return reply(c, "in", e);
}

static int
route_query(struct call *c, struct err *e)
{
	bool bad = false;
	const char *a = exchange_query(c->x, "a", &bad);

	return reply(c, bad ? "bad" : a == NULL ? "absent" : a, e);
}

static int
route_echo(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(EXCHANGE_BODY_MAX);

	if (exchange_body(
		c->x, &body, EXCHANGE_BODY_MAX, EXCHANGE_BODY_MS, e) != 0) {
		atomic_store(&counters->last_error, (int)e->kind);
		return -1;
	}
	return exchange_reply(
	    c->x, 200, "application/octet-stream", body.data, body.size, e);
}

static int
route_json(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;

	return call_body(c, &body, e) == 0 ? reply(c, "taken", e) : -1;
}

static int
route_ignore(struct call *c, struct err *e)
{
	(void)c;
	return err_set(e, ERR_CONFLICT, "Not now.");
}

static int
route_forged(struct call *c, struct err *e)
{
	(void)atomic_fetch_add(&counters->forged, 1);
	return reply(c, "forged", e);
}

static int
route_nothing(struct call *c, struct err *e)
{
	(void)c;
	(void)e;
	return 0;
}

static int
route_fail(struct call *c, struct err *e)
{
	(void)c;
	return err_set(e, ERR_INTERNAL, "cannot open /secret/place");
}

static int
route_big(struct call *c, struct err *e)
{
	size_t size = (size_t)number(c, "size");
	BUF_AUTO body = BUF_INIT(size + 1);

	memset(buf_grow(&body, size), 'x', size);
	body.size = size;
	return exchange_reply(
	    c->x, 200, "application/octet-stream", body.data, size, e);
}

static int
say(struct call *c, const char *text, struct err *e)
{
	if (exchange_write(c->x, text, strlen(text), e) != 0)
		return -1;
	return exchange_flush(c->x, e);
}

static int
begin(struct call *c, struct err *e)
{
	if (exchange_stream(c->x, "text/event-stream", e) != 0)
		return -1;
	return say(c, ": ok\n\n", e);
}

static int
route_events(struct call *c, struct err *e)
{
	int64_t n = number(c, "n");

	if (begin(c, e) != 0)
		return -1;
	for (int i = 1; i <= n; i++) {
		while (atomic_load(&counters->released) < i)
			if (exchange_gone(c->x))
				return err_set(e, ERR_GONE_AWAY, "gone");
			else
				(void)poll(NULL, 0, 2);
		if (say(c, "data: x\n\n", e) != 0)
			return -1;
	}
	return say(c, "data: end\n\n", e);
}

/* A reply that fails after so many bytes. */
static int
route_cut(struct call *c, struct err *e)
{
	size_t size = (size_t)number(c, "size");
	BUF_AUTO body = BUF_INIT(size + 1);

	memset(buf_grow(&body, size), 'x', size);
	exchange_header(c->x, "ETag", "\"x\"");
	if (exchange_begin(c->x, 200, "text/plain", size + 1, e) != 0 ||
	    exchange_write(c->x, body.data, size, e) != 0)
		return -1;
	exchange_cut(c->x);
	return err_set(e, ERR_GUEST, "cut");
}

static int
route_flood(struct call *c, struct err *e)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	if (begin(c, e) != 0)
		return -1;
	while (exchange_write(c->x, block, sizeof(block), e) == 0)
		continue;
	atomic_store(&counters->last_error, (int)e->kind);
	return -1;
}

/* Until client_fd says so: no looking again and again. */
static int
wait_gone(struct call *c, struct err *e)
{
	struct pollfd p = {c->x->client_fd, POLLIN, 0};

	(void)atomic_fetch_add(&counters->waiting, 1);
	while (!exchange_gone(c->x))
		(void)poll(&p, 1, -1);
	atomic_store(&counters->left_us, clock_mono_us());
	(void)atomic_fetch_add(&counters->left, 1);
	(void)atomic_fetch_sub(&counters->waiting, 1);
	return err_set(e, ERR_GONE_AWAY, "the client left");
}

static int
route_wait(struct call *c, struct err *e)
{
	return begin(c, e) == 0 ? wait_gone(c, e) : -1;
}

static int
route_eat(struct call *c, struct err *e)
{
	int eaten[EATEN_MAX], count = 0;

	while (count < EATEN_MAX && (eaten[count] = dup(STDERR_FILENO)) >= 0)
		count++;
	int rc = route_wait(c, e);
	while (count > 0)
		(void)close(eaten[--count]);
	return rc;
}

static const struct route table[] = {
    {"GET", "/ping", route_ping, .open = true},
    {"GET", "/secret", route_secret, .open = false},
    {"GET", "/query", route_query, .open = true},
    {"POST", "/echo", route_echo, .open = true},
    {"POST", "/json", route_json, .open = true},
    {"POST", "/ignore", route_ignore, .open = true},
    {"GET", "/forged", route_forged, .open = true},
    {"GET", "/nothing", route_nothing, .open = true},
    {"GET", "/fail", route_fail, .open = true},
    {"GET", "/big", route_big, .open = true},
    {"GET", "/events", route_events, .open = true},
    {"GET", "/cut", route_cut, .open = true},
    {"GET", "/flood", route_flood, .open = true},
    {"GET", "/wait", route_wait, .open = true},
    {"GET", "/mute", wait_gone, .open = true},
    {"GET", "/slow", route_wait, .open = true, .stream = true},
    {"GET", "/eat", route_eat, .open = true},
};

void
pool_prepare(struct pool_fixture *f)
{
	struct err e = ERR_INIT;

	memset(f, 0, sizeof(*f));
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_pool.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void)snprintf(f->socket, sizeof(f->socket), "%s/s", f->dir);
	(void)snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	(void)snprintf(f->token, sizeof(f->token), "%s/token", f->dir);
	check_ok(fd_write_file(f->token, 0600, TEST_TOKEN "\n",
		     strlen(TEST_TOKEN) + 1, &e),
	    &e);
	f->config = (struct config){
	    .server = "box",
	    .token_file = f->token,
	    .redis_url = "unix:///nowhere",
	    .docker_socket = "/nowhere",
	    .control_threads = 2,
	    .stream_threads = 2,
	    .client_stall_sec = 60,
	    .drain_sec = 60,
	};
	f->counters = mmap(NULL, sizeof(*f->counters), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(f->counters != MAP_FAILED);
	counters = f->counters;
}

static void
limit_files(const struct pool_fixture *f)
{
	struct rlimit most = {(rlim_t)f->most_files, (rlim_t)f->most_files};

	for (int i = 0; i < f->extra_files; i++)
		(void)!dup(STDERR_FILENO);
	if (f->most_files > 0)
		(void)setrlimit(RLIMIT_NOFILE, &most);
}

_Noreturn static void
child(const struct pool_fixture *f, int listener, int ready)
{
	struct pool_setup setup = {
	    .config = &f->config,
	    .instance = "01J00000000000000000000000",
	    .routes = table,
	    .route_count = sizeof(table) / sizeof(table[0]),
	    .pool = f->pool,
	    .listener = listener,
	    .ready_fd = ready,
	};
	struct err e = ERR_INIT;

	limit_files(f);
	if (pool_serve(&setup, &e) == 0)
		_exit(EXIT_SUCCESS);
	(void)fprintf(stderr, "%s\n", e.text);
	_exit(EXIT_FAILURE);
}

void
pool_start(struct pool_fixture *f)
{
	struct err e = ERR_INIT;
	int ready[2];
	char line;
	int listener = fd_listen_unix(f->socket, 0600, 64, &e);

	check_ok(listener, &e);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		int log = open(f->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void)dup2(log, STDERR_FILENO);
		(void)close(ready[0]);
		child(f, listener, ready[1]);
	}
	(void)close(listener);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &line, 1), 1);
	(void)close(ready[0]);
}

void
pool_stop(struct pool_fixture *f)
{
	static const char *const files[] = {"s", "log", "token"};
	char path[128];
	int status;

	(void)kill(f->pid, SIGTERM);
	assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(f->dir), 0);
	(void)munmap(f->counters, sizeof(*f->counters));
}

int
pool_logged(const struct pool_fixture *f, const char *a, const char *b)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(f->log, 16 << 20, NULL, &e);
	int count = 0;

	assert_non_null(text);
	for (char *line = text; *line != '\0';) {
		size_t size = strcspn(line, "\n");
		char *next = line + size + (line[size] == '\n');

		line[size] = '\0';
		count += strstr(line, a) != NULL && strstr(line, b) != NULL;
		line = next;
	}
	free(text);
	return count;
}
