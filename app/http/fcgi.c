/* Requests over libfcgi: their head, and their end. */
#include "http/fcgi.h"
#include "http/fcgi_carrier.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS 5000 /* for a peer that still sends a body nobody reads */

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

/* Where libfcgi finds nothing but a request's head. */
static int
open_head(struct err *e)
{
	int fd = memfd_create("fcgi-head", MFD_CLOEXEC);

	return fd >= 0 ? fd
		       : err_sys(e, ERR_INTERNAL, "cannot make a memory file");
}

struct fcgi *
fcgi_new(int64_t stall_sec, int cut_fd, struct err *e)
{
	static const struct buf held = BUF_INIT(FCGI_HELD_MAX);
	struct epoll_event event = {.events = EPOLLIN};
	FD_AUTO watch = epoll_create1(EPOLL_CLOEXEC);

	if (watch < 0 || epoll_ctl(watch, EPOLL_CTL_ADD, cut_fd, &event) != 0) {
		(void)err_sys(e, ERR_INTERNAL, "cannot watch for clients");
		return NULL;
	}
	FD_AUTO head = open_head(e);
	if (head < 0)
		return NULL;
	struct fcgi *f = mem_zalloc(sizeof(*f));
	f->held = held;
	f->watch = fd_take(&watch);
	f->head_fd = fd_take(&head);
	link_init(&f->link, f->watch, (int)stall_sec * 1000);
	return f;
}

void
fcgi_free(struct fcgi *f)
{
	if (f == NULL)
		return;
	link_release(&f->link);
	buf_release(&f->held);
	fd_close(&f->head_fd);
	fd_close(&f->watch);
	free(f);
}

/* -- begin --------------------------------------------------------------- */

static int
write_head(struct fcgi *f, struct err *e)
{
	const struct buf *head = &f->link.head;

	if (f->head_fd < 0)
		f->head_fd = open_head(e);
	if (f->head_fd < 0)
		return -1;
	if (pwrite(f->head_fd, head->data, head->size, 0) !=
		(ssize_t)head->size ||
	    ftruncate(f->head_fd, (off_t)head->size) != 0 ||
	    lseek(f->head_fd, 0, SEEK_SET) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot write a memory file");
	return 0;
}

/*
 * Let libfcgi read the head: out of a file, at whose end it stops. From the
 * socket it would take 8 KiB, and what is behind the head is not for it.
 */
static int
parse_head(struct fcgi *f, struct err *e)
{
	FCGX_Request *r = &f->request;

	if (write_head(f, e) != 0)
		return -1;
	(void)FCGX_InitRequest(r, -1, 0);
	/* FCGX_Accept_r begins by finishing the request before this one:
	 * without keepConnection that would close the file. Of what is no
	 * request it closes it and goes on to accept from -1, which fails. */
	r->ipcFd = f->head_fd;
	r->keepConnection = 1;
	int rc = FCGX_Accept_r(r);
	if (rc != 0) {
		f->head_fd = -1;
		return err_set(e, ERR_INPUT,
		    "what came over the socket is no FastCGI request (%d)", rc);
	}
	r->ipcFd = f->link.fd;
	/* Parameters that broke off pass for complete ones in the library. */
	if (FCGX_GetError(r->in) == 0)
		return 0;
	FCGX_Free(r, 0);
	return err_set(e, ERR_INPUT, "the parameters broke off");
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
	x->content_range = param(f, a, "HTTP_CONTENT_RANGE");
	x->if_match = param(f, a, "HTTP_IF_MATCH");
	x->if_unmodified_since = param(f, a, "HTTP_IF_UNMODIFIED_SINCE");
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
	link_begin(&f->link, fd);
	buf_reset(&f->held);
	f->sent = false;
	if (link_head(&f->link, FCGI_HEAD_SEC * 1000, e) == 0 &&
	    parse_head(f, e) == 0) {
		if (watch_peer(f, e) == 0) {
			fill(f, a, x);
			return 0;
		}
		FCGX_Free(&f->request, 0);
	}
	fd_close(&f->link.fd);
	return -1;
}

/* -- end ----------------------------------------------------------------- */

/* What is held, and the reply's end; without that the client sees a broken
 * connection: libfcgi's streams go, and nothing is written. */
static void
finish(struct fcgi *f, struct exchange *x)
{
	FCGX_Request *r = &f->request;

	if (!x->gone && link_writable(&f->link) != 0)
		x->gone = true;
	if (x->gone) {
		FCGX_Free(r, 0);
		return;
	}
	/* Where it cannot write it closes: at once, being detached, and not
	 * after two seconds of waiting for the peer. */
	r->keepConnection = 1;
	if (f->held.size > 0)
		(void)FCGX_PutStr(f->held.data, (int)f->held.size, r->out);
	(void)FCGX_Detach(r);
	FCGX_Finish_r(r);
	f->link.fd = r->ipcFd;
	x->gone = r->ipcFd < 0;
}

void
fcgi_end(struct fcgi *f, struct exchange *x)
{
	struct link *l = &f->link;
	int fd = l->fd;

	finish(f, x);
	if (l->fd >= 0)
		(void)epoll_ctl(f->watch, EPOLL_CTL_DEL, fd, NULL);
	/* The body's end is on the way, mostly here already; or the peer is
	 * sending a body that nobody read. Closing now would fail its write,
	 * and nginx would answer 502 instead of what we said. */
	if (!x->gone) {
		if (f->has_body)
			(void)shutdown(fd, SHUT_WR);
		link_drain(l, SIZE_MAX, LINGER_MS);
	}
	fd_close(&l->fd);
}
