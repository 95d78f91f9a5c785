/* Replies over libfcgi. */
#include "http/exchange.h"
#include "http/fcgi_carrier.h"
#include "http/problem.h"

#include <inttypes.h>
#include <stdio.h>

static int
flush(struct fcgi *f)
{
	FCGX_Request *r = &f->request;

	if (f->held.size == 0)
		return 0;
	f->sent = true;
	if (link_writable(&f->link) != 0 ||
	    FCGX_PutStr(f->held.data, (int)f->held.size, r->out) < 0)
		return -1;
	buf_reset(&f->held);
	return FCGX_FFlush(r->out);
}

/* What would fill libfcgi's buffer goes past it, as records of its own. */
static int
write_bytes(struct fcgi *f, const char *bytes, size_t size)
{
	if (size > FCGI_HELD_MAX - f->held.size && flush(f) != 0)
		return -1;
	if (size > FCGI_HELD_MAX) {
		f->sent = true;
		return link_send(&f->link, bytes, size);
	}
	buf_add(&f->held, bytes, size);
	return 0;
}

static int
done(struct exchange *x, int rc, struct err *e)
{
	if (rc == 0)
		return 0;
	x->gone = true;
	return err_set(e, ERR_GONE_AWAY, "the client left");
}

static int
put(struct exchange *x, const char *bytes, size_t size, struct err *e)
{
	return done(x, x->gone ? -1 : write_bytes(x->carrier, bytes, size), e);
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
	struct fcgi *f = x->carrier;

	if (f->sent) {
		x->gone = true;
		return;
	}
	buf_reset(&f->held);
	x->status = 0;
	x->bytes = 0;
	x->header[0] = '\0';
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
exchange_write_file(
    struct exchange *x, int fd, uint64_t offset, uint64_t size, struct err *e)
{
	struct fcgi *f = x->carrier;
	int rc = x->gone ? -1 : flush(f);

	if (rc == 0)
		rc = link_send_file(&f->link, fd, offset, size);
	if (done(x, rc == LINK_SHORT ? 0 : rc, e) != 0)
		return -1;
	if (rc == LINK_SHORT)
		return err_set(
		    e, ERR_GUEST, "the file became shorter while it was read");
	x->bytes += size;
	return 0;
}

int
exchange_flush(struct exchange *x, struct err *e)
{
	return done(x, x->gone ? -1 : flush(x->carrier), e);
}
