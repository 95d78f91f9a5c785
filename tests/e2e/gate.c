/* A thread that accepts, and one for each connection. */
#include "gate.h"
#include "../check.h"
#include "../wait.h"
#include "dockerd.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "proc.h"

#include <ctype.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECE (64u << 10)
#define HEAD_MAX 2048
#define END_MS 30000
#define AT_IT_MS 20 /* without an answer: the engine is working */

static char directory[40], path[64], engine_path[108];
static int listener = -1;
static pthread_t accepting;
static atomic_int connections;

/* What springs it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pattern[128];
static int left; /* 0: it is not armed */
static enum gate_when moment;
static pid_t engine_pid;
static atomic_bool sprung;

struct connection {
	int client, engine;
	bool chosen; /* its request was the one */
	char *bytes;
};

static int
dial(const char *to)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	FD_AUTO fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", to);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&name, sizeof(name)) != 0)
		return -1;
	return fd_take(&fd);
}

/* From now on nobody gets through, as with an engine that is away. */
static void
shut(void)
{
	(void)unlink(path);
	(void)shutdown(listener, SHUT_RDWR);
}

static void
spring(void)
{
	shut();
	(void)kill(engine_pid, SIGKILL);
	atomic_store(&sprung, true);
}

/* "POST /v1.41/commit?x HTTP/1.1" is "POST /commit?x". */
static bool
is_chosen(const char *bytes, size_t size)
{
	char head[HEAD_MAX], request[HEAD_MAX], method[16], target[HEAD_MAX];

	if (size == 0 || !isupper((unsigned char)bytes[0]))
		return false;
	size = size < sizeof(head) - 1 ? size : sizeof(head) - 1;
	memcpy(head, bytes, size);
	head[size] = '\0';
	if (sscanf(head, "%15[A-Z] %2047[^ ] HTTP", method, target) != 2)
		return false;
	const char *from = target;
	if (str_starts(target, "/v1."))
		from += 1 + strcspn(target + 1, "/");
	(void)snprintf(request, sizeof(request), "%s %.2000s", method, from);
	pthread_mutex_lock(&lock);
	bool is = left > 0 && fnmatch(pattern, request, 0) == 0 && --left == 0;
	pthread_mutex_unlock(&lock);
	return is;
}

static bool
send_all(int to, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(to, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* False where the connection is at its end. */
static bool
pass_request(struct connection *c, struct pollfd *from)
{
	ssize_t n = recv(c->client, c->bytes, PIECE, 0);

	if (n == 0) { /* half closed: the engine is to see it too */
		from->fd = -1;
		return shutdown(c->engine, SHUT_WR) == 0;
	}
	if (n < 0)
		return false;
	c->chosen = c->chosen || is_chosen(c->bytes, (size_t)n);
	return send_all(c->engine, c->bytes, (size_t)n);
}

static bool
pass_answer(struct connection *c)
{
	ssize_t n = recv(c->engine, c->bytes, PIECE, 0);

	if (n > 0 && c->chosen)
		spring();
	return n > 0 && !c->chosen && send_all(c->client, c->bytes, (size_t)n);
}

static void
relay(struct connection *c)
{
	struct pollfd p[2] = {{c->client, POLLIN, 0}, {c->engine, POLLIN, 0}};
	bool open = true;

	while (open) {
		bool at_it = c->chosen && moment == GATE_ASKED;
		int n = poll(p, 2, at_it ? AT_IT_MS : -1);

		if (n == 0)
			spring();
		if (n <= 0)
			return;
		if (p[1].revents != 0)
			open = pass_answer(c);
		else if (p[0].revents != 0)
			open = pass_request(c, &p[0]);
	}
}

static void *
serve(void *arg)
{
	struct connection c = {
	    .client = *(int *)arg, .engine = dial(engine_path)};

	free(arg);
	c.bytes = mem_alloc(PIECE);
	if (c.engine >= 0)
		relay(&c);
	free(c.bytes);
	fd_close(&c.client);
	fd_close(&c.engine);
	atomic_fetch_sub(&connections, 1);
	return NULL;
}

static void *
accept_all(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		int *own = mem_alloc(sizeof(*own));
		pthread_t thread;

		*own = fd;
		atomic_fetch_add(&connections, 1);
		assert_int_equal(pthread_create(&thread, NULL, serve, own), 0);
		(void)pthread_detach(thread);
	}
	return NULL;
}

static void
begin(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    bind(listener, (const struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, SOMAXCONN), 0);
	assert_int_equal(pthread_create(&accepting, NULL, accept_all, NULL), 0);
}

static void
end(void)
{
	shut();
	(void)pthread_join(accepting, NULL);
	fd_close(&listener);
}

const char *
gate_open(void)
{
	static char setting[sizeof(path) + 20];
	const char *engine = getenv("SBX_TEST_DOCKER_SOCKET");

	(void)snprintf(directory, sizeof(directory), "/tmp/sbx-gate-XXXXXX");
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/docker.sock", directory);
	(void)snprintf(engine_path, sizeof(engine_path), "%s", engine);
	begin();
	(void)snprintf(setting, sizeof(setting), "SBX_DOCKER_SOCKET=%s", path);
	return setting;
}

void
gate_arm(const char *request, int nth, enum gate_when when)
{
	atomic_store(&sprung, false);
	engine_pid = dockerd_pid();
	pthread_mutex_lock(&lock);
	(void)snprintf(pattern, sizeof(pattern), "%s", request);
	left = nth;
	moment = when;
	pthread_mutex_unlock(&lock);
}

bool
gate_sprung(void)
{
	return atomic_load(&sprung);
}

void
gate_resume(void)
{
	end();
	wait_until(!proc_alive(engine_pid), END_MS);
	dockerd_resume();
	begin();
}

void
gate_close(void)
{
	end();
	wait_until(atomic_load(&connections) == 0, END_MS);
	(void)rmdir(directory);
}
