/* Requests and replies over libfcgi. */
#include "http/fcgi.h"
#include "http/problem.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <errno.h>
#include <fcgiapp.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS 5000 /* for a peer that still sends a body nobody reads */
#define WRITE_CHUNK (64 * 1024)

struct fcgi {
	FCGX_Request request;
	int watch; /* epoll: the connection's end, and cut_fd */
	int64_t stall_sec;
	bool has_body;
};

int
fcgi_setup(struct err *e)
{
	static const int signals[] = {SIGPIPE, SIGTERM, SIGUSR1};
	struct sigaction before[3];

	/* FCGX_Init installs handlers for these, without SA_RESTART, and its
	 * reads and writes then fail with EINTR (FACTS A). */
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals[i], NULL, &before[i]);
	int rc = FCGX_Init();
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals[i], &before[i], NULL);
	if (rc != 0)
		return err_set(
		    e, ERR_INTERNAL, "cannot set libfcgi up: error %d", rc);
	return 0;
}

struct fcgi *
fcgi_new(int64_t stall_sec, int cut_fd, struct err *e)
{
	struct epoll_event event = {.events = EPOLLIN};
	FD_AUTO watch = epoll_create1(EPOLL_CLOEXEC);

	if (watch < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, cut_fd, &event) != 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot watch for clients");
		return NULL;
	}
	struct fcgi *f = mem_zalloc(sizeof(*f));
	f->watch = fd_take(&watch);
	f->stall_sec = stall_sec;
	return f;
}

void
fcgi_free(struct fcgi *f)
{
	if (f == NULL)
		return;
	fd_close(&f->watch);
	free(f);
}

static int
set_timeout(int fd, int which, int64_t seconds)
{
	struct timeval t = {.tv_sec = seconds};

	return setsockopt(fd, SOL_SOCKET, which, &t, sizeof(t));
}

/* The same for reading, in milliseconds; 0 is no time at all. */
static void
set_receive_ms(int fd, int ms)
{
	struct timeval t = {ms / 1000, ms % 1000 * 1000};

	if (ms == 0)
		t.tv_usec = 1; /* 0 would be for ever */

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/*
 * The peer's end of the connection, not its bytes: a body that nobody has read
 * yet is not a client that left. nginx never half-closes, and it answers a
 * client that did by closing (FACTS A).
 */
static int
watch_peer(struct fcgi *f, int fd)
{
	struct epoll_event event = {.events = EPOLLRDHUP};

	return epoll_ctl(f->watch, EPOLL_CTL_ADD, fd, &event);
}

static const char *
param(struct fcgi *f, struct arena *a, const char *name)
{
	const char *value = FCGX_GetParam(name, f->request.envp);

	return arena_strdup(a, value != NULL ? value : "");
}

static void
fill(struct fcgi *f, struct arena *a, struct exchange *x)
{
	const char *length = param(f, a, "CONTENT_LENGTH");
	const char *coding = param(f, a, "HTTP_TRANSFER_ENCODING");
	const char *id = param(f, a, "HTTP_X_REQUEST_ID");

	memset(x, 0, sizeof(*x));
	x->arena = a;
	x->carrier = f;
	x->client_fd = f->watch;
	x->id = exchange_id_valid(id) ? id : exchange_id_make(a);
	x->method = param(f, a, "REQUEST_METHOD");
	x->target = param(f, a, "REQUEST_URI");
	x->path = arena_strdup(a, "");
	x->query = "";
	x->authorization = param(f, a, "HTTP_AUTHORIZATION");
	x->accept = param(f, a, "HTTP_ACCEPT");
	x->idempotency_key = param(f, a, "HTTP_IDEMPOTENCY_KEY");
	x->range = param(f, a, "HTTP_RANGE");
	x->if_range = param(f, a, "HTTP_IF_RANGE");
	x->if_none_match = param(f, a, "HTTP_IF_NONE_MATCH");
	x->if_modified_since = param(f, a, "HTTP_IF_MODIFIED_SINCE");
	x->head = str_eq(x->method, "HEAD");
	if (str_to_int(length, 0, INT64_MAX, &x->content_length) != 0)
		x->content_length = -1;
	f->has_body = x->content_length > 0 || *coding != '\0';
}

int
fcgi_begin(
    struct fcgi *f, int fd, struct arena *a, struct exchange *x, struct err *e)
{
	FCGX_Request *r = &f->request;

	(void)set_timeout(fd, SO_RCVTIMEO, FCGI_HEAD_SEC);
	(void)set_timeout(fd, SO_SNDTIMEO, f->stall_sec);
	(void)FCGX_InitRequest(r, -1, 0);
	/* FCGX_Accept_r begins by finishing the request before this one:
	 * without keepConnection that would close fd. Where what arrives is no
	 * request it closes fd and goes on to accept from -1, which fails. */
	r->ipcFd = fd;
	r->keepConnection = 1;
	int rc = FCGX_Accept_r(r);
	if (rc != 0)
		return err_set(e, ERR_INPUT,
		    "what came over the socket is no FastCGI request (%d)", rc);
	fill(f, a, x);
	/* Parameters that broke off pass for complete ones in the library. */
	if (FCGX_GetError(r->in) != 0)
		(void)err_set(e, ERR_INPUT, "the parameters broke off");
	else if (watch_peer(f, fd) != 0)
		(void)err_sys(e, ERR_INTERNAL, "cannot watch a client");
	else
		return 0;
	x->gone = true;
	fcgi_end(f, x);
	return -1;
}

/* The peer may be sending a body that nobody read. Closing now would fail its
 * write, and nginx would answer 502 instead of what we said: let it finish or
 * leave. */
static void
linger(int fd)
{
	int64_t deadline = clock_mono_ms() + LINGER_MS;
	char waste[16 * 1024];
	struct pollfd p = {fd, POLLIN, 0};

	(void)shutdown(fd, SHUT_WR);
	while (poll(&p, 1, clock_left(deadline)) > 0)
		if (recv(fd, waste, sizeof(waste), MSG_DONTWAIT) <= 0)
			break;
}

void
fcgi_end(struct fcgi *f, struct exchange *x)
{
	FCGX_Request *r = &f->request;
	int fd = r->ipcFd;

	/* Where there is no body its empty end is on the way, mostly here
	 * already: closing before it would fail the peer's write. */
	if (!f->has_body && !x->gone)
		(void)FCGX_GetChar(r->in);
	bool unread = FCGX_HasSeenEOF(r->in) != EOF;

	(void)epoll_ctl(f->watch, EPOLL_CTL_DEL, fd, NULL);
	/* After an error the library still writes its closing records, and
	 * waits for the peer to close: both end at once on a dead socket. */
	if (x->gone || FCGX_GetError(r->in) != 0 || FCGX_GetError(r->out) != 0)
		(void)shutdown(fd, SHUT_RDWR);
	/* The connection is closed here and not by the library, which would
	 * wait for the peer even where nothing is left to arrive. */
	r->keepConnection = 1;
	FCGX_Finish_r(r);
	fd = r->ipcFd;
	if (fd < 0)
		return;
	if (unread)
		linger(fd);
	fd_close(&fd);
}

/* -- reading ------------------------------------------------------------- */

/* The body ended, or did not go on in time, or its sender left. */
static int
body_stopped(struct exchange *x, FCGX_Stream *in, int limit_sec, struct err *e)
{
	int error = FCGX_GetError(in);

	if (error == 0)
		return 0;
	if (error != EAGAIN) {
		x->gone = true;
		return err_set(e, ERR_GONE_AWAY, "the client left in mid-body");
	}
	FCGX_ClearError(in); /* the answer can still be written */
	return err_set(e, ERR_INPUT,
	    "The body did not go on or end within %d s.", limit_sec);
}

/* Up to size bytes of body, as they come; 0 at its end. limit_sec: what the
 * deadline came from. */
static int
read_body(struct exchange *x, char *to, int size, int64_t deadline,
    int limit_sec, struct err *e)
{
	struct fcgi *f = x->carrier;
	FCGX_Stream *in = f->request.in;

	/* Asked for all of size the library would wait for all of it, however
	 * slowly it comes: one byte, then what came with it. */
	if (in->rdNext == in->stop)
		set_receive_ms(f->request.ipcFd, clock_left(deadline));
	int first = FCGX_GetChar(in);
	if (first < 0)
		return body_stopped(x, in, limit_sec, e);
	*to = (char)first;
	int more = (int)(in->stop - in->rdNext);
	if (more > size - 1)
		more = size - 1;
	return 1 + (more > 0 ? FCGX_GetStr(to + 1, more, in) : 0);
}

int
exchange_body(struct exchange *x, struct buf *into, size_t max, struct err *e)
{
	int64_t deadline = clock_mono_ms() + EXCHANGE_BODY_SEC * 1000;
	size_t begin = into->size;
	char chunk[8 * 1024];
	int n = 0;

	if (x->content_length > (int64_t)max)
		goto too_large;
	while ((n = read_body(x, chunk, sizeof(chunk), deadline,
		    EXCHANGE_BODY_SEC, e)) > 0) {
		if ((size_t)n > max - (into->size - begin))
			goto too_large;
		buf_add(into, chunk, (size_t)n);
	}
	return n;
too_large:
	return err_set(e, ERR_TOO_LARGE,
	    "The body is larger than %zu bytes, the most that is taken here.",
	    max);
}

int64_t
exchange_read(
    struct exchange *x, char *to, size_t size, int stall_ms, struct err *e)
{
	return read_body(x, to, size < INT_MAX ? (int)size : INT_MAX,
	    clock_mono_ms() + stall_ms, stall_ms / 1000, e);
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

	while (size > 0 && !x->gone) {
		int n = size < WRITE_CHUNK ? (int)size : WRITE_CHUNK;

		if (FCGX_PutStr(bytes, n, f->request.out) != n)
			x->gone = true;
		bytes += n;
		size -= (size_t)n;
	}
	if (x->gone)
		return err_set(e, ERR_GONE_AWAY, "the client left");
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

	if (!x->gone && FCGX_FFlush(f->request.out) != 0)
		x->gone = true;
	return put(x, NULL, 0, e);
}
