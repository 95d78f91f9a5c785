/* Requests and replies over FastCGI connections. */
#include "http/fcgi.h"
#include "http/link.h"
#include "http/problem.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define LINGER_MS 5000 /* for a peer that still sends a body nobody reads */
#define PARAMS_MAX (256 * 1024)

struct fcgi {
	struct link link;
	int watch; /* epoll: the connection's end, and cut_fd */
	struct buf params;
	bool has_body;
};

/* What is read of the parameters of a request. */
enum {
	METHOD,
	TARGET,
	LENGTH,
	CODING,
	REQUEST_ID,
	AUTHORIZATION,
	ACCEPT,
	IDEMPOTENCY_KEY,
	RANGE,
	IF_RANGE,
	IF_NONE_MATCH,
	IF_MODIFIED_SINCE,
	PARAMS
};

static const char *const param_name[PARAMS] = {
    [METHOD] = "REQUEST_METHOD",
    [TARGET] = "REQUEST_URI",
    [LENGTH] = "CONTENT_LENGTH",
    [CODING] = "HTTP_TRANSFER_ENCODING",
    [REQUEST_ID] = "HTTP_X_REQUEST_ID",
    [AUTHORIZATION] = "HTTP_AUTHORIZATION",
    [ACCEPT] = "HTTP_ACCEPT",
    [IDEMPOTENCY_KEY] = "HTTP_IDEMPOTENCY_KEY",
    [RANGE] = "HTTP_RANGE",
    [IF_RANGE] = "HTTP_IF_RANGE",
    [IF_NONE_MATCH] = "HTTP_IF_NONE_MATCH",
    [IF_MODIFIED_SINCE] = "HTTP_IF_MODIFIED_SINCE",
};

struct fcgi *
fcgi_new(int64_t stall_sec, int cut_fd, struct err *e)
{
	struct epoll_event event = {.events = EPOLLIN};
	const struct buf params = BUF_INIT(PARAMS_MAX);
	FD_AUTO watch = epoll_create1(EPOLL_CLOEXEC);

	if (watch < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, cut_fd, &event) != 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot watch for clients");
		return NULL;
	}
	struct fcgi *f = mem_zalloc(sizeof(*f));
	f->params = params;
	f->watch = fd_take(&watch);
	link_init(&f->link, f->watch, (int)stall_sec * 1000);
	return f;
}

void
fcgi_free(struct fcgi *f)
{
	if (f == NULL)
		return;
	link_release(&f->link);
	buf_release(&f->params);
	fd_close(&f->watch);
	free(f);
}

/* -- begin and end ------------------------------------------------------- */

static void
take_param(
    struct arena *a, const struct record_param *p, const char *value[PARAMS])
{
	for (int i = 0; i < PARAMS; i++)
		if (value[i] == NULL && strlen(param_name[i]) == p->name_size &&
		    memcmp(param_name[i], p->name, p->name_size) == 0)
			value[i] = arena_strndup(a, p->value, p->value_size);
}

static int
read_params(
    struct fcgi *f, struct arena *a, const char *value[PARAMS], struct err *e)
{
	const char *at = f->params.data, *end = at + f->params.size;
	struct record_param p;
	int more;

	while ((more = record_param(&at, end, &p)) > 0)
		take_param(a, &p, value);
	for (int i = 0; i < PARAMS; i++)
		if (value[i] == NULL)
			value[i] = "";
	return more == 0 ? 0
			 : err_set(e, ERR_INPUT, "the parameters broke off");
}

static void
fill(struct fcgi *f, struct arena *a, const char *const value[PARAMS],
    struct exchange *x)
{
	memset(x, 0, sizeof(*x));
	x->arena = a;
	x->carrier = f;
	x->client_fd = f->watch;
	x->id = exchange_id_valid(value[REQUEST_ID]) ? value[REQUEST_ID]
						     : exchange_id_make(a);
	x->method = value[METHOD];
	x->target = value[TARGET];
	x->path = arena_strdup(a, "");
	x->query = "";
	x->authorization = value[AUTHORIZATION];
	x->accept = value[ACCEPT];
	x->idempotency_key = value[IDEMPOTENCY_KEY];
	x->range = value[RANGE];
	x->if_range = value[IF_RANGE];
	x->if_none_match = value[IF_NONE_MATCH];
	x->if_modified_since = value[IF_MODIFIED_SINCE];
	x->head = str_eq(x->method, "HEAD");
	if (str_to_int(value[LENGTH], 0, INT64_MAX, &x->content_length) != 0)
		x->content_length = -1;
	f->has_body = x->content_length > 0 || *value[CODING] != '\0';
}

/*
 * The peer's end of the connection, not its bytes: a body that nobody has read
 * yet is not a client that left. nginx never half-closes, and it answers a
 * client that did by closing (FACTS A).
 */
static int
watch_peer(struct fcgi *f, struct err *e)
{
	struct epoll_event event = {.events = EPOLLRDHUP};

	if (epoll_ctl(f->watch, EPOLL_CTL_ADD, f->link.fd, &event) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot watch a client");
	return 0;
}

int
fcgi_begin(
    struct fcgi *f, int fd, struct arena *a, struct exchange *x, struct err *e)
{
	const char *value[PARAMS] = {NULL};

	link_begin(&f->link, fd);
	if (link_head(&f->link, FCGI_HEAD_SEC * 1000, &f->params, e) == 0 &&
	    read_params(f, a, value, e) == 0 && watch_peer(f, e) == 0) {
		fill(f, a, value, x);
		return 0;
	}
	fd_close(&f->link.fd);
	return -1;
}

void
fcgi_end(struct fcgi *f, struct exchange *x)
{
	struct link *l = &f->link;

	if (!x->gone && link_end(l) != 0)
		x->gone = true;
	(void)epoll_ctl(f->watch, EPOLL_CTL_DEL, l->fd, NULL);
	/* The body's end is on the way, mostly here already; or the peer is
	 * sending a body that nobody read. Closing now would fail its write,
	 * and nginx would answer 502 instead of what we said. */
	if (!x->gone) {
		if (f->has_body)
			(void)shutdown(l->fd, SHUT_WR);
		link_drain(l, LINGER_MS);
	}
	fd_close(&l->fd);
}

/* -- reading ------------------------------------------------------------- */

static int
gone(struct exchange *x, struct err *e)
{
	x->gone = true;
	return err_set(e, ERR_GONE_AWAY, "the client left");
}

static int
body_failed(struct exchange *x, int64_t why, struct err *e)
{
	if (why != LINK_LATE)
		return gone(x, e);
	return err_set(e, ERR_INPUT, "The body did not go on or end in time.");
}

int
exchange_body(struct exchange *x, struct buf *into, size_t max, struct err *e)
{
	int64_t deadline = clock_mono_ms() + EXCHANGE_BODY_SEC * 1000;
	int64_t known = x->content_length;
	struct fcgi *f = x->carrier;
	size_t begin = into->size;
	char chunk[8 * 1024];
	int64_t n = 1;

	if (known > (int64_t)max)
		goto too_large;
	while (n > 0 && (known < 0 || into->size - begin < (size_t)known)) {
		n = link_body(&f->link, chunk, sizeof(chunk), deadline, true);
		if (n < 0)
			return body_failed(x, n, e);
		if ((size_t)n > max - (into->size - begin))
			goto too_large;
		buf_add(into, chunk, (size_t)n);
	}
	return 0;
too_large:
	return err_set(e, ERR_TOO_LARGE,
	    "The body is larger than %zu bytes, the most that is taken here.",
	    max);
}

int64_t
exchange_read(
    struct exchange *x, char *to, size_t size, int stall_ms, struct err *e)
{
	struct fcgi *f = x->carrier;
	int64_t n = -1;

	if (!x->gone)
		n = link_body(
		    &f->link, to, size, clock_mono_ms() + stall_ms, false);
	return n < 0 ? body_failed(x, n, e) : n;
}

bool
exchange_await(struct exchange *x, int other_fd, int timeout_ms)
{
	struct fcgi *f = x->carrier;
	int came = x->gone ? -1 : link_await(&f->link, other_fd, timeout_ms);

	x->gone = came < 0;
	return came != 0;
}

bool
exchange_gone(struct exchange *x)
{
	struct pollfd p = {x->client_fd, POLLIN, 0};

	if (!x->gone && poll(&p, 1, 0) > 0)
		x->gone = true;
	return x->gone;
}

/* -- writing ------------------------------------------------------------- */

static int
put(struct exchange *x, const char *bytes, size_t size, struct err *e)
{
	struct fcgi *f = x->carrier;

	if (x->gone || link_put(&f->link, bytes, size) != 0)
		return gone(x, e);
	return 0;
}

static const char *
reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 201:
		return "Created";
	case 202:
		return "Accepted";
	case 204:
		return "No Content";
	case 206:
		return "Partial Content";
	case 304:
		return "Not Modified";
	default:
		return problem_title(status);
	}
}
/* The header section. length is NULL where there is no Content-Length. */
static int
put_head(struct exchange *x, int status, const char *content_type,
    const char *length, struct err *e)
{
	BUF_AUTO head = BUF_INIT(4 * 1024);

	x->status = status;
	buf_addf(&head, "Status: %d %s\r\n", status, reason(status));
	if (content_type != NULL)
		buf_addf(&head, "Content-Type: %s\r\n", content_type);
	if (length != NULL)
		buf_addf(&head, "Content-Length: %s\r\n", length);
	else if (content_type != NULL)
		buf_adds(&head, "X-Accel-Buffering: no\r\n");
	buf_addf(&head, "X-Request-Id: %s\r\nCache-Control: no-store\r\n%s\r\n",
	    x->id, x->header);
	return put(x, head.data, head.size, e);
}

int
exchange_reply(struct exchange *x, int status, const char *content_type,
    const char *body, size_t size, struct err *e)
{
	char length[24];

	(void)snprintf(length, sizeof(length), "%zu", size);
	bool bare = status == 204 || status == 304;
	if (put_head(x, status, content_type, bare ? NULL : length, e) != 0)
		return -1;
	return exchange_write(x, body, size, e);
}

int
exchange_stream(struct exchange *x, const char *content_type, struct err *e)
{
	return put_head(x, 200, content_type, NULL, e);
}

int
exchange_begin(struct exchange *x, int status, const char *content_type,
    uint64_t size, struct err *e)
{
	char length[24];

	(void)snprintf(length, sizeof(length), "%" PRIu64, size);
	return put_head(x, status, content_type, length, e);
}

void
exchange_cut(struct exchange *x)
{
	x->gone = true;
}

int
exchange_write(
    struct exchange *x, const void *bytes, size_t size, struct err *e)
{
	if (x->head)
		return 0;
	if (put(x, bytes, size, e) != 0)
		return -1;
	x->bytes += size;
	return 0;
}

int
exchange_flush(struct exchange *x, struct err *e)
{
	struct fcgi *f = x->carrier;

	return x->gone || link_flush(&f->link) != 0 ? gone(x, e) : 0;
}
