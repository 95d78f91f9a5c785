/*
 * proxy/head: what is decided of some bytes is decided of them and whatever
 * follows; what is sent on reads as the same message again, without a
 * hop-by-hop field. The first byte says what the others are: 'R' a request, 'A'
 * an answer to GET, 'H' to HEAD, 'U' to one that asked for an upgrade.
 */
#include "../../proxy/head.h"
#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct slice get = {"GET", 3};
static const struct slice head_method = {"HEAD", 4};

static int
read_any(char what, const char *bytes, size_t size, struct head *h,
    size_t *used, struct head_fault *f)
{
	switch (what) {
	case 'A':
		return head_answer(bytes, size, &get, false, h, used, f);
	case 'H':
		return head_answer(
		    bytes, size, &head_method, false, h, used, f);
	case 'U':
		return head_answer(bytes, size, &get, true, h, used, f);
	default:
		return head_request(bytes, size, h, used, f);
	}
}

static void
check_fault(const struct head_fault *f)
{
	if (f->status < 400 || f->status > 505 || *f->why == '\0')
		abort();
	for (const char *p = f->why; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			abort();
}

/* Each beginning is undecided, or decided alike. */
static void
check_cuts(char what, const char *bytes, size_t size, int rc, size_t used,
    const struct head_fault *f)
{
	static struct head h;
	size_t step = 1 + size / 256;

	for (size_t part = 0; part < size; part += step) {
		struct head_fault g = {0};
		size_t used_part = 0;
		/* A copy of its own, so that a sanitizer sees the end. */
		char *copy = mem_alloc(part);

		if (part > 0)
			memcpy(copy, bytes, part);
		int got = read_any(what, copy, part, &h, &used_part, &g);
		free(copy);
		if (got == 0 && part < HEAD_MAX)
			continue;
		if (got != rc || (got == 1 && used_part != used) ||
		    (got == -1 &&
			(g.status != f->status || strcmp(g.why, f->why) != 0)))
			abort();
	}
}

/* What never goes on; Connection but as the proxy says it. */
static void
check_hop_by_hop(const struct head *h)
{
	static const char *const none[] = {"Keep-Alive", "TE",
	    "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate",
	    "HTTP2-Settings"};
	const struct slice *connection = head_find(h, "Connection");

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (head_find(h, none[i]) != NULL)
			abort();
	if (connection != NULL && !slice_is(connection, "close") &&
	    !slice_is(connection, "upgrade"))
		abort();
	if (head_find(h, "Upgrade") != NULL && !h->upgrade)
		abort();
	if (head_find(h, "Via") == NULL)
		abort();
}

static bool
same(const struct slice *a, const struct slice *b)
{
	return a->size == b->size &&
	       (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

/* In absolute form again, as a proxy behind this one would get it. */
static void
put_absolute(struct buf *out, const struct buf *sent, const struct head *h)
{
	const char *line = strstr(sent->data, "\r\n");
	const char *path = strchr(sent->data, ' ') + 1;
	const char *host = line + 2 + strlen("Host: ");
	const char *end = strstr(host, "\r\n");

	if (strncmp(line, "\r\nHost: ", 8) != 0)
		abort();
	buf_add(out, sent->data, (size_t)(path - sent->data));
	buf_adds(out, "http://");
	buf_add(out, host, (size_t)(end - host));
	if (h->path.size != 1 || *h->path.at != '*')
		buf_add(out, path, (size_t)(line - path));
	else
		buf_adds(out, " HTTP/1.1");
	buf_add(out, line, sent->size - (size_t)(line - sent->data));
}

static void
check_sent(char what, const struct head *h)
{
	static struct head again;
	BUF_AUTO sent = BUF_INIT(4 * HEAD_MAX);
	BUF_AUTO whole = BUF_INIT(4 * HEAD_MAX);
	struct head_fault f;
	size_t used;
	bool request = h->method.size > 0;

	if (request) {
		head_put_request(&sent, h, h->keep);
		put_absolute(&whole, &sent, h);
	} else {
		head_put_answer(&whole, h, h->keep);
	}
	int rc = read_any(what, whole.data, whole.size, &again, &used, &f);
	/* It ends at the next proxy; or it has become longer. */
	if (rc == -1 && h->forwards == 0)
		return;
	if (rc == -1 &&
	    (whole.size > HEAD_MAX - 100 || h->count > HEAD_FIELDS - 8 ||
		h->target.size > HEAD_LINE_MAX - 200))
		return;
	if (rc != 1 || used != whole.size)
		abort();
	check_hop_by_hop(&again);
	if (!same(&h->method, &again.method) || h->status != again.status ||
	    !same(&h->reason, &again.reason) || h->body != again.body ||
	    h->length != again.length || h->upgrade != again.upgrade ||
	    h->expect != again.expect || h->port != again.port ||
	    strcmp(h->host.name, again.host.name) != 0 ||
	    (h->host.is_address &&
		!address_equal(&h->host.address, &again.host.address)))
		abort();
	if (!request || h->path.size == 0 || *h->path.at == '?')
		return;
	if (!same(&h->path, &again.path))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct head h;
	struct head_fault f = {0};
	size_t used = 0;

	if (size < 1)
		return 0;
	char what = (char)data[0];
	const char *bytes = (const char *)data + 1;
	int rc = read_any(what, bytes, size - 1, &h, &used, &f);
	if (rc == -1)
		check_fault(&f);
	if (rc == 1 && used > size - 1)
		abort();
	check_cuts(what, bytes, size - 1, rc, used, &f);
	rc = read_any(what, bytes, size - 1, &h, &used, &f);
	if (rc == 1 && !h.connect)
		check_sent(what, &h);
	return 0;
}
