/* Finding the addresses of names. */
#include "resolve.h"
#include "cache.h"
#include "dns.h"
#include "hosts.h"
#include "lib/fd.h"
#include "lib/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct resolver {
	struct loop *loop;
	char *hosts;
	struct dns *dns;
	struct cache *cache;
	struct query *queries;
	int pending;
};

/* What name servers are asked. They cannot be told to stop: whoever asked may
 * be gone when they answer. */
struct query {
	struct resolver *resolver;
	struct query *next, *before;
	struct lookup *waiting;
	struct timer patience;
	bool busy;		     /* what is answered is only noted */
	bool told;		     /* who waited; the rest may still come */
	int open;		     /* families that are not answered */
	enum resolve_state state[2]; /* of IPv4, of IPv6 */
	bool answered[2];
	struct found found; /* of both */
	int64_t until;	    /* it holds */
	char name[];
};

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

static struct dns *
open_dns(struct loop *loop, const char *resolv, struct err *e)
{
	BUF_AUTO servers = BUF_INIT(4096);
	char *text = read_text(resolv, e);

	if (text == NULL)
		return NULL;
	hosts_servers(text, &servers);
	free(text);
	return dns_new(loop, servers.data, e);
}

struct resolver *
resolver_new(
    struct loop *loop, const char *hosts, const char *resolv, struct err *e)
{
	struct resolver *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->cache = cache_new();
	r->hosts = read_text(hosts, e);
	if (r->hosts != NULL)
		r->dns = open_dns(loop, resolv, e);
	if (r->dns != NULL)
		return r;
	resolver_free(r);
	return NULL;
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	dns_free(r->dns);
	cache_free(r->cache);
	free(r->hosts);
	free(r);
}

/* -- what comes of a query ------------------------------------------------- */

/* What both families together come to. */
static enum resolve_state
together(const struct query *q)
{
	if (q->found.count > 0)
		return RESOLVE_FOUND;
	for (enum resolve_state s = RESOLVE_TIMED_OUT; s > RESOLVE_NONE; s--)
		if (q->state[0] == s || (q->answered[1] && q->state[1] == s))
			return s;
	return RESOLVE_NONE;
}

static void
finish(struct query *q)
{
	struct resolver *r = q->resolver;
	int64_t now = loop_now(r->loop);

	if (q->found.state == RESOLVE_NONE)
		q->until = now + RESOLVE_NONE_MS;
	if (q->until > now)
		cache_put(r->cache, q->name, &q->found, q->until);
	if (q->before != NULL)
		q->before->next = q->next;
	else
		r->queries = q->next;
	if (q->next != NULL)
		q->next->before = q->before;
	r->pending--;
	free(q);
}

/* All who wait, and who comes from now on. Anybody may start and stop lookups
 * meanwhile. Once all is answered that is its end. */
static void
tell(struct query *q)
{
	loop_timer_stop(q->resolver->loop, &q->patience);
	q->told = q->busy = true;
	q->found.state = together(q);
	while (q->waiting != NULL) {
		struct lookup *l = q->waiting;

		lookup_stop(l);
		l->found = q->found;
		l->done(l);
	}
	q->busy = false;
	if (q->open == 0)
		finish(q);
}

static void
on_patience(struct timer *t)
{
	tell((void *)((char *)t - offsetof(struct query, patience)));
}

/* IPv4 is what surely works: it is waited for, IPv6 only for a moment where it
 * is the one that is late. */
static void
settle(struct query *q)
{
	if (q->open == 0) {
		tell(q);
	} else if (!q->told && q->answered[0] && q->found.count > 0 &&
		   q->patience.slot == 0) {
		loop_timer(
		    q->resolver->loop, &q->patience, RESOLVE_PATIENCE_MS);
	}
}

static void
add_found(struct found *to, const struct found *from)
{
	for (size_t i = 0; i < from->count && to->count < RESOLVE_MOST; i++)
		to->address[to->count++] = from->address[i];
}

static void
take_answer(struct query *q, int which, const struct found *found, int64_t ttl)
{
	int64_t now = loop_now(q->resolver->loop), lasts = RESOLVE_KEEP_MS;

	q->open--;
	q->answered[which] = true;
	q->state[which] = found->state;
	add_found(&q->found, found);
	/* That a family has no address is no reason to ask for the other. */
	if (found->state == RESOLVE_FOUND && ttl < RESOLVE_KEEP_MS / 1000)
		lasts = ttl * 1000;
	else if (found->state > RESOLVE_NONE)
		lasts = RESOLVE_FAILED_MS;
	if (q->until > now + lasts)
		q->until = now + lasts;
	if (!q->busy)
		settle(q);
}

static void
on_answer4(void *arg, const struct found *found, int64_t ttl)
{
	take_answer(arg, 0, found, ttl);
}

static void
on_answer6(void *arg, const struct found *found, int64_t ttl)
{
	take_answer(arg, 1, found, ttl);
}

/* -- asking ---------------------------------------------------------------- */

static struct query *
new_query(struct resolver *r, const char *name)
{
	size_t size = strlen(name) + 1;
	struct query *q = mem_zalloc(sizeof(*q) + size);

	q->resolver = r;
	q->patience.fire = on_patience;
	q->until = INT64_MAX;
	memcpy(q->name, name, size);
	q->next = r->queries;
	if (q->next != NULL)
		q->next->before = q;
	r->queries = q;
	r->pending++;
	return q;
}

static struct query *
ask(struct resolver *r, const char *name)
{
	struct query *q = new_query(r, name);

	q->busy = true;
	q->open = 2;
	dns_ask(r->dns, q->name, 4, on_answer4, q);
	dns_ask(r->dns, q->name, 6, on_answer6, q);
	q->busy = false;
	return q;
}

/* One whose answer is of use to who asks now; else NULL. */
static struct query *
find_query(const struct resolver *r, const char *name)
{
	for (struct query *q = r->queries; q != NULL; q = q->next)
		if (strcmp(q->name, name) == 0 &&
		    (!q->told || q->until > loop_now(r->loop)))
			return q;
	return NULL;
}

static void
wait_for(struct query *q, struct lookup *l)
{
	l->query = q;
	l->before = NULL;
	l->next = q->waiting;
	if (l->next != NULL)
		l->next->before = l;
	q->waiting = l;
}

bool
lookup_start(struct resolver *r, struct lookup *l, const char *name)
{
	struct query *q;

	l->query = NULL;
	l->found.state = RESOLVE_FOUND;
	l->found.count =
	    hosts_find(r->hosts, name, l->found.address, RESOLVE_MOST);
	if (l->found.count > 0 ||
	    cache_find(r->cache, name, loop_now(r->loop), &l->found))
		return true;
	q = find_query(r, name);
	if (q != NULL && q->told) {
		l->found = q->found;
		return true;
	}
	if (q == NULL && r->pending >= RESOLVE_PENDING) {
		l->found.state = RESOLVE_FAILED;
		return true;
	}
	if (q == NULL)
		q = ask(r, name);
	if (q->open > 0) {
		wait_for(q, l);
		settle(q);
		return false;
	}
	q->found.state = together(q);
	l->found = q->found;
	finish(q);
	return true;
}

void
lookup_stop(struct lookup *l)
{
	if (l->query == NULL)
		return;
	if (l->before != NULL)
		l->before->next = l->next;
	else
		l->query->waiting = l->next;
	if (l->next != NULL)
		l->next->before = l->before;
	l->query = NULL;
}
