/* Connecting to one of several addresses. */
#include "dial.h"
#include "flow.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* IPv6 and IPv4 in turn (RFC 8305 4). */
static void
put_in_turn(struct dial *d, const struct address *from, size_t count)
{
	size_t at[2] = {0, 0};

	for (int turn = 0; d->count < count; turn = !turn) {
		size_t *i = &at[turn];

		while (*i < count && from[*i].family != (turn == 0 ? 6 : 4))
			(*i)++;
		if (*i < count)
			d->address[d->count++] = from[(*i)++];
	}
}

static socklen_t
fill(const struct address *a, uint16_t port, struct sockaddr_storage *to)
{
	*to = (struct sockaddr_storage){0};
	if (a->family == 4) {
		struct sockaddr_in *in = (void *)to;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in = (void *)to;
	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	memcpy(&in->sin6_addr, a->bytes, 16);
	return sizeof(*in);
}

static void
close_try(struct dial *d, struct dial_try *t)
{
	d->all->more -= t->more;
	t->more = false;
	if (t->watch.fd < 0)
		return;
	loop_close(d->loop, &t->watch);
	d->open--;
}

/* A connection under way; -1 with errno. */
static int
open_try(struct dial *d, struct dial_try *t)
{
	struct sockaddr_storage to;
	const struct address *a = &d->address[t->which];
	socklen_t size = fill(a, d->port, &to);
	FD_AUTO fd = socket(a->family == 4 ? AF_INET : AF_INET6,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	side_set_up(fd);
	if (connect(fd, (struct sockaddr *)&to, size) != 0 &&
	    errno != EINPROGRESS)
		return -1;
	t->watch.fd = fd;
	if (loop_watch(d->loop, &t->watch, SIDE_EVENTS | EPOLLOUT) != 0) {
		t->watch.fd = -1;
		return -1;
	}
	t->more = d->open++ > 0;
	d->all->more += t->more;
	(void)fd_take(&fd);
	return 0;
}

static bool
has_room(const struct dial *d)
{
	return d->open == 0 || d->all->more < DIALS_MORE;
}

/* Begin with the next that can be begun. */
static void
try_next(struct dial *d)
{
	bool begun = false;

	while (!begun && d->next < d->count && has_room(d)) {
		begun = open_try(d, &d->tries[d->next++]) == 0;
		if (!begun)
			d->error = errno;
	}
	if (d->open > 0 && d->next < d->count)
		loop_timer(d->loop, &d->timer, DIAL_NEXT_MS);
	/* Nobody is called from dial_new. */
	if (d->open == 0)
		loop_timer(d->loop, &d->timer, 0);
}

static void
on_timer(struct timer *timer)
{
	struct dial *d = (void *)((char *)timer - offsetof(struct dial, timer));

	if (d->open == 0 && d->next == d->count)
		d->done(d);
	else
		try_next(d);
}

static void
on_try(struct watch *w, uint32_t events)
{
	struct dial_try *t =
	    (void *)((char *)w - offsetof(struct dial_try, watch));
	struct dial *d = t->dial;
	socklen_t size = sizeof(d->error);
	int error = 0;

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if ((events & (EPOLLERR | EPOLLHUP)) &&
	    getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0) {
		loop_timer_stop(d->loop, &d->timer);
		d->won = t;
		d->done(d);
		return;
	}
	d->error = error;
	close_try(d, t);
	try_next(d);
}

struct dial *
dial_new(struct loop *loop, struct dials *all, const struct found *to,
    uint16_t port, void (*done)(struct dial *d), void *arg)
{
	struct dial *d = mem_zalloc(sizeof(*d));

	d->loop = loop;
	d->all = all;
	d->done = done;
	d->arg = arg;
	d->port = port;
	d->timer.fire = on_timer;
	put_in_turn(d, to->address, to->count);
	for (size_t i = 0; i < d->count; i++)
		d->tries[i] = (struct dial_try){
		    .watch = {.ready = on_try, .fd = -1},
		    .dial = d,
		    .which = i,
		};
	try_next(d);
	return d;
}

void
dial_free(struct dial *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->count; i++)
		close_try(d, &d->tries[i]);
	loop_timer_stop(d->loop, &d->timer);
	free(d);
}
