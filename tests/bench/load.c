/* A load generator: one thread, one poll(2). */
#include "load.h"
#include "../e2e/harness.h"

#include "lib/fd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)64 << 20)
#define SILENT_MS 30000

struct client {
	int fd;
	struct buf in;
	bool busy;
	int64_t due_us; /* the request's time counts from here */
};

struct generator {
	const struct load *load;
	struct client client[LOAD_CONNECTIONS + 1]; /* the last: the other */
	int clients;
	size_t asked;
	int64_t start_us, end_us;
	struct load_result result;
};

static int
connect_stack(void)
{
	int one = 1, fd = client_connect();

	assert_true(fd >= 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static const char *
next_path(struct generator *g)
{
	size_t paths = 0;

	while (paths < LOAD_PATHS && g->load->path[paths] != NULL)
		paths++;
	return g->load->path[g->asked++ % paths];
}

static void
send_request(struct client *c, const char *path, int64_t due_us)
{
	BUF_AUTO request = BUF_INIT(4096);
	struct err e = ERR_INIT;

	if (c->fd < 0)
		c->fd = connect_stack();
	buf_addf(&request,
	    "GET %s HTTP/1.1\r\nHost: stack\r\nAuthorization: Bearer "
	    "%s\r\n\r\n",
	    path, stack.token);
	check_ok(fd_write_all(c->fd, request.data, request.size,
		     clock_mono_ms() + SILENT_MS, &e),
	    &e);
	c->due_us = due_us;
	c->busy = true;
}

/* The size of the whole answer, 0 while its head is not complete. */
static size_t
answer_size(const struct buf *in)
{
	const char *end = strstr(in->data, "\r\n\r\n");
	const char *length = strcasestr(in->data, "\r\nContent-Length:");

	if (end == NULL)
		return 0;
	if (!str_starts(in->data, "HTTP/1.1 200 ") || length == NULL)
		fail_msg("an answer under load: %.500s", in->data);
	return (size_t)(end + 4 - in->data) + strtoul(length + 17, NULL, 10);
}

static void
read_answer(struct generator *g, struct client *c)
{
	char *to = buf_grow(&c->in, 65536);

	assert_non_null(to);
	ssize_t n = recv(c->fd, to, 65536, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		fail_msg("a connection broke under load");
	c->in.size += (size_t)n;
	c->in.data[c->in.size] = '\0';
	size_t size = answer_size(&c->in);
	if (size == 0 || c->in.size < size)
		return;
	double ms = (double)(clock_mono_us() - c->due_us) / 1000;
	if (c != &g->client[g->load->connections])
		samples_add(&g->result.ms, ms);
	c->busy = false;
	/* nginx ends a connection after a thousand requests, and says so. */
	*strstr(c->in.data, "\r\n\r\n") = '\0';
	if (strcasestr(c->in.data, "\r\nConnection: close") != NULL)
		fd_close(&c->fd);
	buf_reset(&c->in);
}

/* Give idle clients what is due; returns when more will be, 0 for never. */
static int64_t
send_due(struct generator *g)
{
	const struct load *load = g->load;
	struct client *other = &g->client[load->connections];

	if (load->other != NULL && !other->busy && clock_mono_us() < g->end_us)
		send_request(other, load->other, 0);
	for (int i = 0; i < load->connections; i++) {
		struct client *c = &g->client[i];
		int64_t now = clock_mono_us(), due = now;

		if (c->busy)
			continue;
		if (load->every_us > 0)
			due = g->start_us + (int64_t)g->asked * load->every_us;
		if (due >= g->end_us)
			continue;
		if (due > now)
			return due;
		samples_add(&g->result.late_ms, (double)(now - due) / 1000);
		send_request(c, next_path(g), due);
	}
	return 0;
}

/* Wait for an answer, or until that moment (0: as long as it takes). */
static bool
await(struct generator *g, int64_t until_us)
{
	struct pollfd p[LOAD_CONNECTIONS + 1];
	struct timespec wait = {.tv_sec = SILENT_MS / 1000};
	bool busy = false;

	for (int i = 0; i < g->clients; i++) {
		busy |= g->client[i].busy;
		p[i].fd = g->client[i].busy ? g->client[i].fd : -1;
		p[i].events = POLLIN;
	}
	if (!busy && until_us == 0)
		return false;
	if (until_us != 0) {
		int64_t left = until_us - clock_mono_us();

		left = left > 0 ? left : 0;
		wait.tv_sec = left / 1000000;
		wait.tv_nsec = left % 1000000 * 1000;
	}
	int n = ppoll(p, (nfds_t)g->clients, &wait, NULL);
	if (n == 0 && until_us == 0)
		fail_msg("no answer under load within %d ms", SILENT_MS);
	for (int i = 0; i < g->clients; i++)
		if (p[i].fd >= 0 && p[i].revents != 0)
			read_answer(g, &g->client[i]);
	return true;
}

struct load_result
load_run(const struct load *load)
{
	const struct client fresh = {.fd = -1, .in = BUF_INIT(ANSWER_MAX)};
	struct generator g = {.load = load,
	    .clients = load->connections + (load->other != NULL),
	    .start_us = clock_mono_us()};

	g.end_us = g.start_us + load->for_ms * 1000;
	assert_true(load->connections <= LOAD_CONNECTIONS);
	for (int i = 0; i < g.clients; i++)
		g.client[i] = fresh;
	while (await(&g, send_due(&g)))
		;
	double seconds = (double)(clock_mono_us() - g.start_us) / 1e6;
	for (int i = 0; i < g.clients; i++) {
		fd_close(&g.client[i].fd);
		buf_release(&g.client[i].in);
	}
	g.result.per_second = (double)g.result.ms.count / seconds;
	return g.result;
}

void
load_release(struct load_result *r)
{
	samples_release(&r->ms);
	samples_release(&r->late_ms);
}
