/* Bodies of requests. */
#include "http/exchange.h"
#include "http/fcgi_carrier.h"
#include "lib/clock.h"

#include <poll.h>

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
