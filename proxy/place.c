/* Listening on a run's loopback while living outside. */
#include "place.h"
#include "lib/fd.h"
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel takes less where the namespace's net.core.somaxconn says so. */
#define BACKLOG 1024

static socklen_t
socket_address(
    const struct address *a, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in *four = (void *)to;
	struct sockaddr_in6 *six = (void *)to;

	memset(to, 0, sizeof(*to));
	if (a->family == 4) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		memcpy(&four->sin_addr, a->bytes, 4);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	memcpy(&six->sin6_addr, a->bytes, 16);
	return sizeof(*six);
}

static int
listen_here(const struct address *a, uint16_t port, struct err *e)
{
	struct sockaddr_storage where;
	socklen_t size = socket_address(a, port, &where);
	FD_AUTO fd = socket(
	    where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char text[ADDRESS_TEXT];
	const int on = 1;

	address_format(a, true, text);
	if (fd < 0)
		return err_sys(e, ERR_INTERNAL, "cannot make a socket");
	/* What is left of a proxy's connections that has ended must not keep
	 * the next one away. On Linux nobody can bind a port so that somebody
	 * listens at; SO_REUSEPORT, which would let them, is not set. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    (a->family == 6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				   sizeof(on)) != 0))
		return err_sys(e, ERR_INTERNAL, "cannot set up a socket");
	/* Where somebody has bound the port so and does not listen yet, it is
	 * listen(2) that fails. */
	if (bind(fd, (void *)&where, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd_take(&fd);
	return err_sys(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_INTERNAL,
	    "cannot listen at %s:%u", text, port);
}

static int
listen_inside(int outside, int netns, const struct place *at, struct err *e)
{
	if (at->subnet != NULL &&
	    link_close(outside, netns, at->subnet, e) != 0)
		return -1;
	return listen_here(&at->address, at->port, e);
}

int
place_listen(const struct place *at, struct err *e)
{
	if (at->netns[0] == '\0')
		return listen_here(&at->address, at->port, e);
	FD_AUTO own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	FD_AUTO theirs = open(at->netns, O_RDONLY | O_CLOEXEC);
	FD_AUTO outside = at->subnet != NULL ? link_outside(e) : -1;
	if (own < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open our own network");
	if (theirs < 0)
		return err_sys(e, ERR_INTERNAL, "cannot open %s", at->netns);
	if (at->subnet != NULL && outside < 0)
		return -1;
	if (setns(theirs, CLONE_NEWNET) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot enter %s", at->netns);
	FD_AUTO fd = listen_inside(outside, theirs, at, e);
	if (setns(own, CLONE_NEWNET) != 0)
		return err_sys(e, ERR_INTERNAL, "cannot leave %s", at->netns);
	return fd_take(&fd);
}
