/* One thread of a pool. */
#include "worker.h"
#include "http/fcgi.h"
#include "http/problem.h"
#include "http/target.h"
#include "http/token.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"
#include "lib/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPT_PAUSE_MS 50 /* while descriptors or memory are short */
#define LOOK_AGAIN_MS 10000
#define LOG_PATH_MAX 1024

struct worker {
	struct worker_shared *shared;
	int loop; /* epoll: the listener, and drain_fd */
	struct arena arena;
	struct fcgi *fcgi;
	struct token *token;
	struct redis *redis;
	struct engine *engine;
	struct inflight_slot *slot;
};

/* -- one request --------------------------------------------------------- */

static bool
client_gone(void *arg)
{
	const struct call *c = arg;

	return exchange_gone(c->x);
}

/* What a route that is not `stream` waits for counts as long, too. */
static int
wait_begin(void *arg, struct err *e)
{
	struct call *c = arg;

	return c->route->stream ? 0 : call_long(c, e);
}

static void
wait_end(void *arg)
{
	struct call *c = arg;

	if (!c->route->stream)
		call_long_end(c);
}

static int
handle(struct call *c, struct err *e)
{
	if (!c->route->stream)
		return c->route->handle(c, e);
	if (call_long(c, e) != 0)
		return -1;
	int rc = c->route->handle(c, e);
	call_long_end(c);
	return rc;
}

/* Who may not pass learns nothing about paths and methods: the token comes
 * before every other complaint. */
static int
dispatch(struct worker *w, struct exchange *x, const struct route **ret_route,
    struct err *e)
{
	struct worker_shared *s = w->shared;
	struct call c = {
	    .ctx = {s->config, s->instance, w->redis, w->engine, client_gone,
		wait_begin, wait_end, &c},
	    .x = x,
	    .gate = &s->gate,
	    .slot = w->slot,
	};
	char allow[128] = "";
	struct err wrong = ERR_INIT;

	if (target_parse(x, &wrong) == 0)
		c.route = router_find(
		    s->routes, s->route_count, x, allow, sizeof(allow), &wrong);
	*ret_route = c.route;
	if ((c.route == NULL || !c.route->open) &&
	    !token_valid(w->token, x->authorization))
		return err_set(e, ERR_AUTH,
		    "A valid token is needed: Authorization: Bearer <token>.");
	if (c.route == NULL) {
		if (wrong.kind == ERR_METHOD)
			exchange_header(x, "Allow", allow);
		*e = wrong;
		return -1;
	}
	return handle(&c, e);
}

static void
log_request(const struct exchange *x, const struct err *problem, int64_t us)
{
	size_t path = strcspn(x->target, "?");
	size_t method = strlen(x->method);

	LOG_AT(x->status < 500 ? LEVEL_INFO : LEVEL_ERROR, line, "request.done")
	{
		jw_str(&line, "request", x->id);
		jw_strn(&line, "method", x->method, method < 32 ? method : 32);
		jw_strn(&line, "path", x->target,
		    path < LOG_PATH_MAX ? path : LOG_PATH_MAX);
		if (x->run != NULL)
			jw_str(&line, "run", x->run);
		jw_int(&line, "status", x->status);
		jw_int(&line, "bytes", (int64_t)x->bytes);
		jw_real(&line, "ms", (double)us / 1000);
		if (problem->kind != ERR_NONE)
			jw_str(&line, "error", problem->text);
	}
}

static void
serve(struct worker *w, int fd)
{
	int64_t begun = clock_mono_us();
	struct err e = ERR_INIT, ignored;
	const struct route *route = NULL;
	struct exchange x;

	if (fcgi_begin(w->fcgi, fd, &w->arena, &x, &e) != 0) {
		LOG_AT(LEVEL_WARNING, line, "request.malformed")
		jw_str(&line, "error", e.text);
		return;
	}
	metrics_begin(w->shared->metrics);
	int rc = dispatch(w, &x, &route, &e);
	if (x.status == 0 && exchange_gone(&x))
		x.status = EXCHANGE_STATUS_GONE;
	else if (x.status == 0) {
		exchange_skim(&x);
		(void)problem_reply(
		    &x, &e, w->shared->config->server, &ignored);
	}
	fcgi_end(w->fcgi, &x);
	if (rc == 0)
		e.kind = ERR_NONE;
	int64_t took = clock_mono_us() - begun;
	metrics_end(w->shared->metrics, route, x.status, took);
	log_request(&x, &e, took);
	inflight_settle(w->slot, w->redis);
}

/* -- the loop ------------------------------------------------------------ */

static int
watch(int loop, int fd, uint32_t events, struct err *e)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot watch the listener");
	return 0;
}

static int
open_worker(struct worker *w, struct err *e)
{
	const struct worker_shared *s = w->shared;

	w->loop = epoll_create1(EPOLL_CLOEXEC);
	if (w->loop < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make an epoll");
	/* Exclusive: of all the threads and processes that wait on this
	 * listener, a connection wakes one. */
	if (watch(w->loop, s->listener, EPOLLIN | EPOLLEXCLUSIVE, e) != 0 ||
	    watch(w->loop, s->drain_fd, EPOLLIN, e) != 0)
		return -1;
	w->fcgi = fcgi_new(s->config->client_stall_sec, s->cut_fd, e);
	if (w->fcgi == NULL)
		return -1;
	w->redis = redis_new(s->config->redis_url, e);
	if (w->redis == NULL)
		return -1;
	w->engine = engine_new(s->config->docker_socket);
	w->token = token_new(s->config->token_file);
	return 0;
}

struct worker *
worker_new(struct worker_shared *shared, size_t number, struct err *e)
{
	struct worker *w = mem_zalloc(sizeof(*w));

	w->shared = shared;
	w->slot = inflight_slot(shared->inflight, number);
	if (open_worker(w, e) == 0)
		return w;
	worker_free(w);
	return NULL;
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	token_free(w->token);
	engine_free(w->engine);
	redis_free(w->redis);
	fcgi_free(w->fcgi);
	fd_close(&w->loop);
	arena_release(&w->arena);
	free(w);
}

/* Another worker took the connection (EAGAIN), its peer left (ECONNABORTED),
 * or the listener was let go (ENOTSOCK, and drain_fd is readable): look again.
 * Without descriptors the connection stays queued; wait for some to close. */
static void
accept_failed(const struct worker_shared *s)
{
	struct pollfd p = {s->drain_fd, POLLIN, 0};

	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
	    errno == ENOMEM)
		(void)poll(&p, 1, ACCEPT_PAUSE_MS);
}

/*
 * Wait for a connection; false where it is time to end. A connection wakes one
 * thread, and is nobody else's concern until the next one comes: where that
 * thread's process was killed before it accepted, whoever looks again unasked
 * finds it.
 */
static bool
await(const struct worker *w)
{
	struct epoll_event event[2];
	int n = epoll_wait(w->loop, event, 2, LOOK_AGAIN_MS);

	/* Nothing but a fault of ours; going on would spin. */
	if (n < 0 && errno != EINTR)
		abort();
	for (int i = 0; i < n; i++)
		if (event[i].data.fd == w->shared->drain_fd)
			return false;
	return true;
}

static void
take_all(struct worker *w)
{
	int fd;

	while ((fd = accept4(w->shared->listener, NULL, NULL, SOCK_CLOEXEC)) >=
	       0) {
		serve(w, fd);
		arena_reset(&w->arena);
	}
	accept_failed(w->shared);
}

void *
worker_run(void *arg)
{
	struct worker *w = arg;
	bool more;

	/* The last time too: it may be this thread that was woken for a
	 * connection. */
	do {
		more = await(w);
		take_all(w);
	} while (more);
	return NULL;
}
