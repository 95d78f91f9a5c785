/* A proxy as it runs. */
#include "proxy.h"
#include "client.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPT_MOST 32 /* at a time */
#define REFUSING 64    /* connections beyond the limit, that are told so */
#define RETRY_MS 100

const struct limits limits_standard = {
#define LIMIT(field, option, standard, least, most, text) .field = (standard),
#include "limits.def"
#undef LIMIT
};

static void
stop_accepting(struct proxy *p, int64_t retry_ms)
{
	loop_forget(p->loop, &p->listener);
	if (retry_ms > 0)
		loop_timer(p->loop, &p->retry, retry_ms);
}

static void
start_accepting(struct proxy *p)
{
	if (p->listener.events == 0)
		(void)loop_watch(p->loop, &p->listener, EPOLLIN);
}

static void
on_retry(struct timer *t)
{
	start_accepting((void *)((char *)t - offsetof(struct proxy, retry)));
}

void
proxy_has_room(struct proxy *p)
{
	if (p->retry.slot == 0 && !p->ending)
		start_accepting(p);
}

static void
on_connection(struct watch *w, uint32_t events)
{
	struct proxy *p =
	    (void *)((char *)w - offsetof(struct proxy, listener));

	(void)events;
	for (int i = 0; i < ACCEPT_MOST; i++) {
		if (p->count >= p->limits.connections + REFUSING) {
			stop_accepting(p, 0);
			return;
		}
		int fd =
		    accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			client_new(p, fd, p->count >= p->limits.connections);
		else if (errno == EAGAIN)
			return;
		else if (errno == EMFILE || errno == ENFILE ||
			 errno == ENOBUFS || errno == ENOMEM) {
			stop_accepting(p, RETRY_MS);
			return;
		}
	}
}

struct proxy *
proxy_new(struct loop *loop, int listener, struct resolver *resolver,
    struct ledger *ledger, const struct limits *limits)
{
	struct proxy *p = mem_zalloc(sizeof(*p));

	p->loop = loop;
	p->resolver = resolver;
	p->ledger = ledger;
	p->limits = *limits;
	p->scratch = mem_alloc(PROXY_SCRATCH);
	p->retry.fire = on_retry;
	p->listener.fd = listener;
	p->listener.ready = on_connection;
	/* Its connections inherit it. */
	side_set_up(listener);
	start_accepting(p);
	return p;
}

void
proxy_free(struct proxy *p)
{
	if (p == NULL)
		return;
	p->ending = true;
	while (p->clients != NULL)
		client_free(p->clients);
	loop_forget(p->loop, &p->listener);
	loop_timer_stop(p->loop, &p->retry);
	pipes_release(&p->pipes);
	policy_free(p->policy);
	free(p->scratch);
	free(p);
}

void
proxy_set_policy(struct proxy *p, struct policy *policy)
{
	struct client *next;

	policy_free(p->policy);
	p->policy = policy;
	if (p->own_port != 0)
		policy_own(policy, &p->own, p->own_port);
	for (struct client *c = p->clients; c != NULL; c = next) {
		next = c->next;
		client_judge_again(c);
	}
}

void
proxy_own(struct proxy *p, const struct address *a, uint16_t port)
{
	p->own = *a;
	p->own_port = port;
	if (p->policy != NULL)
		policy_own(p->policy, a, port);
}
