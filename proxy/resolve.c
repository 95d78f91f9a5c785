/* Finding the addresses of names. */
#include "resolve.h"
#include "hosts.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/time.h>

#define TRY_MS 2000 /* for the first try; c-ares doubles it for the next */
#define TRIES 3

/* A socket of c-ares. */
struct line {
	struct watch watch;
	struct resolver *resolver;
	struct line *next;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	char *hosts;
	struct line *lines;
	struct timer timer;
	int pending;
};

/* What c-ares works on. It cannot be told to stop: whoever asked may be gone
 * when it answers. */
struct query {
	struct resolver *resolver;
	struct lookup *lookup; /* NULL: gone, or told */
	struct timer patience;
	bool starting;
	int open;		     /* families that are not answered */
	enum resolve_state state[2]; /* of IPv4, of IPv6 */
	bool answered[2];
};

static void
set_timer(struct resolver *r)
{
	struct timeval tv;

	if (ares_timeout(r->channel, NULL, &tv) == NULL)
		loop_timer_stop(r->loop, &r->timer);
	else
		loop_timer(r->loop, &r->timer,
		    (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000 + 1);
}

static void
on_timer(struct timer *t)
{
	struct resolver *r =
	    (void *)((char *)t - offsetof(struct resolver, timer));

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(r);
}

/* -- c-ares' sockets ------------------------------------------------------- */

static void
on_line(struct watch *w, uint32_t events)
{
	struct line *line = (void *)((char *)w - offsetof(struct line, watch));
	struct resolver *r = line->resolver;
	int fd = w->fd;
	bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP);
	bool out = events & (EPOLLOUT | EPOLLERR | EPOLLHUP);

	ares_process_fd(
	    r->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
	set_timer(r);
}

/* c-ares wants to know that of a socket, or (neither) is about to close it. */
static void
want(void *arg, ares_socket_t fd, int in, int out)
{
	struct resolver *r = arg;
	struct line **at = &r->lines, *line;

	while (*at != NULL && (*at)->watch.fd != fd)
		at = &(*at)->next;
	line = *at;
	if (!in && !out) {
		if (line != NULL) {
			*at = line->next;
			loop_forget(r->loop, &line->watch);
			free(line);
		}
		return;
	}
	if (line == NULL) {
		line = mem_zalloc(sizeof(*line));
		line->watch.fd = fd;
		line->watch.ready = on_line;
		line->resolver = r;
		*at = line;
	}
	(void)loop_watch(
	    r->loop, &line->watch, (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u));
}

/* -- making one ------------------------------------------------------------ */

/* What is not there is empty. */
static char *
read_text(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) != 0 && errno == ENOENT)
		return mem_strdup("");
	return fd_read_file(path, HOSTS_MAX, NULL, e);
}

static int
set_servers(struct resolver *r, const char *resolv, struct err *e)
{
	BUF_AUTO servers = BUF_INIT(4096);
	char *text = read_text(resolv, e);
	int rc;

	if (text == NULL)
		return -1;
	hosts_servers(text, &servers);
	free(text);
	rc = ares_set_servers_ports_csv(r->channel, servers.data);
	if (rc != ARES_SUCCESS)
		return err_set(e, ERR_INTERNAL, "the name servers %s: %s",
		    servers.data, ares_strerror(rc));
	return 0;
}

static int
open_channel(struct resolver *r, struct err *e)
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
	    .sock_state_cb_data = r,
	};
	int rc = ares_library_init(ARES_LIB_INIT_ALL);

	if (rc == ARES_SUCCESS)
		rc = ares_init_options(&r->channel, &options,
		    ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
			ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
			ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB);
	if (rc != ARES_SUCCESS)
		return err_set(
		    e, ERR_INTERNAL, "c-ares: %s", ares_strerror(rc));
	return 0;
}

struct resolver *
resolver_new(
    struct loop *loop, const char *hosts, const char *resolv, struct err *e)
{
	struct resolver *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->timer.fire = on_timer;
	r->hosts = read_text(hosts, e);
	if (r->hosts != NULL && open_channel(r, e) == 0 &&
	    set_servers(r, resolv, e) == 0)
		return r;
	resolver_free(r);
	return NULL;
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	if (r->channel != NULL)
		ares_destroy(r->channel);
	ares_library_cleanup();
	loop_timer_stop(r->loop, &r->timer);
	free(r->hosts);
	free(r);
}

/* -- looking up ------------------------------------------------------------ */

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

static void
add_addresses(struct lookup *l, const struct ares_addrinfo *found)
{
	const struct ares_addrinfo_node *n;

	for (n = found->nodes; n != NULL && l->count < RESOLVE_MOST;
	     n = n->ai_next) {
		struct address *a = &l->address[l->count];

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
		l->count++;
	}
}

/* What both families together come to. */
static enum resolve_state
together(const struct query *q, const struct lookup *l)
{
	if (l->count > 0)
		return RESOLVE_FOUND;
	for (enum resolve_state s = RESOLVE_TIMED_OUT; s > RESOLVE_NONE; s--)
		if (q->state[0] == s || (q->answered[1] && q->state[1] == s))
			return s;
	return RESOLVE_NONE;
}

static void
tell(struct query *q)
{
	struct lookup *l = q->lookup;

	loop_timer_stop(q->resolver->loop, &q->patience);
	q->lookup = NULL;
	l->query = NULL;
	l->state = together(q, l);
	if (!q->starting)
		l->done(l);
}

static void
on_patience(struct timer *t)
{
	tell((void *)((char *)t - offsetof(struct query, patience)));
}

static void
take_answer(struct query *q, int which, int status, struct ares_addrinfo *found)
{
	struct lookup *l = q->lookup;

	q->open--;
	q->answered[which] = true;
	q->state[which] = state_of(status);
	if (l != NULL && status == ARES_SUCCESS)
		add_addresses(l, found);
	if (found != NULL)
		ares_freeaddrinfo(found);
	/* IPv4 is what surely works: it is waited for, IPv6 only for a moment
	 * where it is the one that is late. */
	if (l != NULL && q->open == 0)
		tell(q);
	else if (l != NULL && which == 0 && l->count > 0)
		loop_timer(
		    q->resolver->loop, &q->patience, RESOLVE_PATIENCE_MS);
	if (q->open == 0 && !q->starting) {
		q->resolver->pending--;
		free(q);
	}
}

static void
on_answer4(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
	(void)timeouts;
	take_answer(arg, 0, status, found);
}

static void
on_answer6(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
	(void)timeouts;
	take_answer(arg, 1, status, found);
}

static void
ask(struct query *q, const char *name)
{
	/* The order is dial.c's business; sorting would take sockets. */
	struct ares_addrinfo_hints hints = {
	    .ai_flags = ARES_AI_NOSORT, .ai_socktype = SOCK_STREAM};

	q->starting = true;
	q->open = 2;
	hints.ai_family = AF_INET;
	ares_getaddrinfo(
	    q->resolver->channel, name, NULL, &hints, on_answer4, q);
	hints.ai_family = AF_INET6;
	ares_getaddrinfo(
	    q->resolver->channel, name, NULL, &hints, on_answer6, q);
	q->starting = false;
	set_timer(q->resolver);
}

bool
lookup_start(struct resolver *r, struct lookup *l, const char *name)
{
	struct query *q;

	l->query = NULL;
	l->state = RESOLVE_FOUND;
	l->count = hosts_find(r->hosts, name, l->address, RESOLVE_MOST);
	if (l->count > 0)
		return true;
	l->state = RESOLVE_FAILED;
	if (r->pending >= RESOLVE_PENDING)
		return true;
	q = mem_zalloc(sizeof(*q));
	r->pending++;
	q->resolver = r;
	q->patience.fire = on_patience;
	q->lookup = l;
	l->query = q;
	ask(q, name);
	if (q->open > 0)
		return l->query == NULL;
	r->pending--;
	free(q);
	return true;
}

void
lookup_stop(struct lookup *l)
{
	if (l->query == NULL)
		return;
	loop_timer_stop(l->query->resolver->loop, &l->query->patience);
	l->query->lookup = NULL;
	l->query = NULL;
}
