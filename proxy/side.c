/* One end of a connection. */
#include "flow.h"
#include "lib/fd.h"
#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

void
side_set_up(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
	    {IPPROTO_TCP, TCP_NODELAY, 1},
	    {SOL_SOCKET, SO_KEEPALIVE, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, 60}, /* seconds */
	    {IPPROTO_TCP, TCP_KEEPINTVL, 15},
	    {IPPROTO_TCP, TCP_KEEPCNT, 4},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(fd, options[i].level, options[i].name,
		    &options[i].value, sizeof(options[i].value));
}

void
side_init(struct side *s)
{
	*s = (struct side){
	    .watch.fd = -1,
	    .in = BUF_INIT(HEAD_MAX + PROXY_SCRATCH),
	    .writable = true,
	};
}

void
side_note(struct side *s, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->hangs = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		s->writable = true;
	/* Both ways are shut, in order or not. */
	if (events & (EPOLLHUP | EPOLLERR))
		s->deaf = true;
	if (events & EPOLLERR)
		s->reset = true;
}

void
side_close(struct loop *l, struct side *s)
{
	void (*ready)(struct watch * w, uint32_t events) = s->watch.ready;

	loop_close(l, &s->watch);
	buf_release(&s->in);
	side_init(s);
	s->watch.ready = ready;
}

void
side_abort(struct loop *l, struct side *s)
{
	struct linger none = {.l_onoff = 1, .l_linger = 0};

	if (s->watch.fd >= 0)
		(void)setsockopt(
		    s->watch.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	side_close(l, s);
}

size_t
side_read(struct side *s, char *to, size_t size)
{
	ssize_t n;

	do
		n = recv(s->watch.fd, to, size, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		/* epoll(7): a stream that gave less than was asked for has no
		 * more. Its end would be told as another edge, unless it was
		 * told with this one. */
		if ((size_t)n < size && !s->hangs)
			s->readable = false;
		return (size_t)n;
	}
	if (n < 0 && errno == EAGAIN) {
		s->readable = false;
		return 0;
	}
	s->ended = true;
	if (n < 0)
		s->reset = s->deaf = true;
	return 0;
}

size_t
side_write(struct loop *l, struct side *s, const char *bytes, size_t size)
{
	ssize_t n;

	do
		n = send(s->watch.fd, bytes, size, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)size)
		return size;
	if (n < 0 && errno != EAGAIN) {
		/* What it sent before can still be read. */
		s->deaf = s->reset = true;
		s->readable = true;
		return 0;
	}
	s->writable = false;
	if (!(s->watch.events & EPOLLOUT))
		(void)loop_watch(l, &s->watch, SIDE_EVENTS | EPOLLOUT);
	return n > 0 ? (size_t)n : 0;
}

bool
side_fill(struct proxy *p, struct side *s, size_t most)
{
	if (!s->readable || s->ended || s->in.size >= most)
		return false;
	size_t room = most - s->in.size;
	size_t n = side_read(
	    s, p->scratch, room < PROXY_SCRATCH ? room : PROXY_SCRATCH);
	buf_add(&s->in, p->scratch, n);
	return n > 0;
}
