/* Bodies of requests. */
#include "http/exchange.h"
#include "http/fcgi_carrier.h"
#include "lib/clock.h"

#include <poll.h>

#define SKIM_MAX (1 << 20)
#define SKIM_MS 1000

static int
gone(struct exchange *x, struct err *e)
{
	x->gone = true;
	return err_set(e, ERR_GONE_AWAY, "the client left");
}

int
exchange_body(
    struct exchange *x, struct buf *into, size_t max, int ms, struct err *e)
{
	int64_t deadline = clock_mono_ms() + ms;
	int64_t known = x->content_length;
	struct fcgi *f = x->carrier;
	char chunk[8 * 1024];
	int64_t n = 1;

	if (known > (int64_t)max)
		goto too_large;
	while (n > 0 && (known < 0 || into->size < (size_t)known)) {
		n = link_body(&f->link, chunk, sizeof(chunk), deadline, true);
		if (n == LINK_LATE)
			return 1;
		if (n < 0)
			return gone(x, e);
		if ((size_t)n > max - into->size)
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
	if (n == LINK_LATE)
		return err_set(e, ERR_INPUT, "The body did not go on in time.");
	return n < 0 ? gone(x, e) : n;
}

void
exchange_skim(struct exchange *x)
{
	struct fcgi *f = x->carrier;

	if (!x->gone && f->has_body && x->content_length <= SKIM_MAX)
		link_drain(&f->link, SKIM_MAX, SKIM_MS);
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
