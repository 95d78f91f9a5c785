/*
 * Finding the addresses of names: a file like /etc/hosts, then DNS. The only
 * file that knows c-ares. Files are read when it is made, none afterwards.
 */
#ifndef SBX_PROXY_RESOLVE_H
#define SBX_PROXY_RESOLVE_H

#include "lib/address.h"
#include "loop.h"

#define RESOLVE_MOST 16	       /* addresses of a name; more are ignored */
#define RESOLVE_PENDING 512    /* names at a time */
#define RESOLVE_PATIENCE_MS 50 /* RFC 8305 3: for the second family */

struct resolver;

/* resolv: like resolv.conf(5), of which "nameserver ADDRESS" counts, with a
 * port where it is ADDRESS:PORT or [ADDRESS]:PORT. A file that is absent is
 * empty; without a server it is 127.0.0.1. */
struct resolver *resolver_new(
    struct loop *loop, const char *hosts, const char *resolv, struct err *e);
void resolver_free(struct resolver *r);

enum resolve_state {
	RESOLVE_FOUND,
	RESOLVE_NONE,	/* there is no such name, or it has no address */
	RESOLVE_FAILED, /* no server gave a proper answer */
	RESOLVE_TIMED_OUT,
};

struct query;

/* Embedded in whoever asks. */
struct lookup {
	void (*done)(struct lookup *l);
	void *arg; /* done's */
	enum resolve_state state;
	struct address address[RESOLVE_MOST]; /* both families */
	size_t count;
	struct query *query; /* while it is not answered; else NULL */
};

/* True: it is answered already, and done is not called. Both families are asked
 * for; an IPv4 answer waits no longer than RESOLVE_PATIENCE_MS for the other.
 * How long it may take is the caller's business. */
bool lookup_start(struct resolver *r, struct lookup *l, const char *name);
void lookup_stop(struct lookup *l); /* done is not called any more */

#endif
