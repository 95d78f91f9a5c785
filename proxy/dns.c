/* Asking name servers. */
#include "dns.h"
#include "lib/mem.h"

#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define TRY_MS 2000 /* for the first try; c-ares doubles it for the next */
#define TRIES 3

/* A socket of c-ares. */
struct line {
	struct watch watch;
	struct dns *dns;
	struct line *next;
};

struct dns {
	struct loop *loop;
	ares_channel channel;
	struct line *lines;
	struct timer timer;
};

/* One that waits for an answer. */
struct asker {
	dns_answered *answered;
	void *arg;
};

static void
set_timer(struct dns *d)
{
	struct timeval tv;

	if (ares_timeout(d->channel, NULL, &tv) == NULL)
		loop_timer_stop(d->loop, &d->timer);
	else
		loop_timer(d->loop, &d->timer,
		    (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000 + 1);
}

static void
on_timer(struct timer *t)
{
	struct dns *d = (void *)((char *)t - offsetof(struct dns, timer));

	ares_process_fd(d->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(d);
}

/* -- c-ares' sockets ------------------------------------------------------- */

static void
on_line(struct watch *w, uint32_t events)
{
	struct line *line = (void *)((char *)w - offsetof(struct line, watch));
	struct dns *d = line->dns;
	int fd = w->fd;
	bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool out = events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(
	    d->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
	set_timer(d);
}

/* c-ares wants to know that of a socket, or (neither) is about to close it. */
static void
want(void *arg, ares_socket_t fd, int in, int out)
{
	struct dns *d = arg;
	struct line **at = &d->lines, *line;

	while (*at != NULL && (*at)->watch.fd != fd)
		at = &(*at)->next;
	line = *at;
	if (!in && !out) {
		if (line != NULL) {
			*at = line->next;
			loop_forget(d->loop, &line->watch);
			free(line);
		}
		return;
	}
	if (line == NULL) {
		line = mem_zalloc(sizeof(*line));
		line->watch.fd = fd;
		line->watch.ready = on_line;
		line->dns = d;
		*at = line;
	}
	(void)loop_watch(
	    d->loop, &line->watch, (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u));
}

static ares_socket_t
open_socket(int family, int type, int protocol, void *arg)
{
	(void)arg;
	return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int
close_socket(ares_socket_t fd, void *arg)
{
	(void)arg;
	return close(fd);
}

static int
connect_socket(
    ares_socket_t fd, const struct sockaddr *to, ares_socklen_t size, void *arg)
{
	(void)arg;
	return connect(fd, to, size);
}

static ares_ssize_t
receive(ares_socket_t fd, void *to, size_t size, int flags,
    struct sockaddr *from, ares_socklen_t *from_size, void *arg)
{
	(void)arg;
	return recvfrom(fd, to, size, flags, from, from_size);
}

/* That nobody listens at a server's port is told with whatever call is next,
 * and c-ares would take it for the fate of what is sent now: what was refused
 * would be waited for in vain. So this is sent all the same, and c-ares hears
 * of it when it reads. */
static ares_ssize_t
send_query(ares_socket_t fd, const struct iovec *parts, int count, void *arg)
{
	ssize_t n = writev(fd, parts, count);

	(void)arg;
	return n < 0 && errno == ECONNREFUSED ? writev(fd, parts, count) : n;
}

static const struct ares_socket_functions sockets = {
    .asocket = open_socket,
    .aclose = close_socket,
    .aconnect = connect_socket,
    .arecvfrom = receive,
    .asendv = send_query,
};

/* -- making one ------------------------------------------------------------ */

static int
open_channel(struct dns *d, struct err *e)
{
	char lookups[] = "b"; /* DNS alone, no file */
	char none[] = "/dev/null";
	struct ares_options options = {
	    /* No search list, no aliases from the environment. */
	    .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
	    .timeout = TRY_MS,
	    .tries = TRIES,
	    .ndots = 1,
	    .lookups = lookups,
	    .resolvconf_path = none,
	    .sock_state_cb = want,
	    .sock_state_cb_data = d,
	};
	int rc = ares_library_init(ARES_LIB_INIT_ALL);

	if (rc == ARES_SUCCESS)
		rc = ares_init_options(&d->channel, &options,
		    ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
			ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
			ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB);
	if (rc != ARES_SUCCESS)
		return err_set(
		    e, ERR_INTERNAL, "c-ares: %s", ares_strerror(rc));
	ares_set_socket_functions(d->channel, &sockets, NULL);
	return 0;
}

struct dns *
dns_new(struct loop *loop, const char *servers, struct err *e)
{
	struct dns *d = mem_zalloc(sizeof(*d));
	int rc;

	d->loop = loop;
	d->timer.fire = on_timer;
	if (open_channel(d, e) == 0) {
		rc = ares_set_servers_ports_csv(d->channel, servers);
		if (rc == ARES_SUCCESS)
			return d;
		(void)err_set(e, ERR_INTERNAL, "the name servers %s: %s",
		    servers, ares_strerror(rc));
	}
	dns_free(d);
	return NULL;
}

void
dns_free(struct dns *d)
{
	if (d == NULL)
		return;
	if (d->channel != NULL)
		ares_destroy(d->channel);
	ares_library_cleanup();
	loop_timer_stop(d->loop, &d->timer);
	free(d);
}

/* -- asking ---------------------------------------------------------------- */

static enum resolve_state
state_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return RESOLVE_FOUND;
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
		return RESOLVE_NONE;
	case ARES_ETIMEOUT:
		return RESOLVE_TIMED_OUT;
	default:
		return RESOLVE_FAILED;
	}
}

/* How long that holds, in seconds. */
static int64_t
ttl_of(const struct ares_addrinfo *found)
{
	int64_t least = INT32_MAX;

	for (const struct ares_addrinfo_node *n = found->nodes; n != NULL;
	     n = n->ai_next)
		if (n->ai_ttl < least)
			least = n->ai_ttl;
	for (const struct ares_addrinfo_cname *n = found->cnames; n != NULL;
	     n = n->next)
		if (n->ttl < least)
			least = n->ttl;
	return least > 0 ? least : 0;
}

static void
add_addresses(struct found *to, const struct ares_addrinfo *found)
{
	const struct ares_addrinfo_node *n;

	for (n = found->nodes; n != NULL && to->count < RESOLVE_MOST;
	     n = n->ai_next) {
		struct address *a = &to->address[to->count];

		*a = (struct address){0};
		if (n->ai_family == AF_INET) {
			const struct sockaddr_in *in = (void *)n->ai_addr;

			a->family = 4;
			memcpy(a->bytes, &in->sin_addr, 4);
		} else if (n->ai_family == AF_INET6) {
			const struct sockaddr_in6 *in = (void *)n->ai_addr;

			a->family = 6;
			memcpy(a->bytes, &in->sin6_addr, 16);
		} else {
			continue;
		}
		to->count++;
	}
}

static void
on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *got)
{
	struct asker *a = arg;
	struct found found = {.state = state_of(status)};
	int64_t ttl = 0;

	(void)timeouts;
	if (status == ARES_SUCCESS) {
		add_addresses(&found, got);
		ttl = ttl_of(got);
	}
	if (got != NULL)
		ares_freeaddrinfo(got);
	a->answered(a->arg, &found, ttl);
	free(a);
}

void
dns_ask(struct dns *d, const char *name, int family, dns_answered *answered,
    void *arg)
{
	/* The order is dial.c's business; sorting would take sockets. */
	const struct ares_addrinfo_hints hints = {
	    .ai_flags = ARES_AI_NOSORT,
	    .ai_family = family == 4 ? AF_INET : AF_INET6,
	    .ai_socktype = SOCK_STREAM,
	};
	struct asker *a = mem_alloc(sizeof(*a));

	*a = (struct asker){answered, arg};
	ares_getaddrinfo(d->channel, name, NULL, &hints, on_answer, a);
	set_timer(d);
}
