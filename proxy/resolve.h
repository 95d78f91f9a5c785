/*
 * Finding the addresses of names, both families: a file like /etc/hosts, then
 * DNS. Files are read when it is made, none afterwards.
 *
 * Whoever asks for a name that is being asked for waits for the same answer,
 * and an answer is remembered (cache.h) for as long as it says, at most
 * RESOLVE_KEEP_MS; one without addresses RESOLVE_NONE_MS, a failure
 * RESOLVE_FAILED_MS.
 */
#ifndef SBX_PROXY_RESOLVE_H
#define SBX_PROXY_RESOLVE_H

#include "found.h"
#include "loop.h"

#define RESOLVE_PENDING 512    /* names at a time */
#define RESOLVE_PATIENCE_MS 50 /* RFC 8305 3: for the second family */
#define RESOLVE_KEEP_MS 60000
#define RESOLVE_NONE_MS 2000
#define RESOLVE_FAILED_MS 1000 /* RFC 9520 3.2 */

struct resolver;

/* resolv: like resolv.conf(5), of which "nameserver ADDRESS" counts, with a
 * port where it is ADDRESS:PORT or [ADDRESS]:PORT. A file that is absent is
 * empty; without a server it is 127.0.0.1. */
struct resolver *resolver_new(
    struct loop *loop, const char *hosts, const char *resolv, struct err *e);
void resolver_free(struct resolver *r);

struct query;

/* Embedded in whoever asks. */
struct lookup {
	void (*done)(struct lookup *l);
	void *arg; /* done's */
	struct found found;
	struct query *query;	      /* while it is not answered; else NULL */
	struct lookup *next, *before; /* that wait for the same */
};

/* True: it is answered already, and done is not called. Both families are asked
 * for; an IPv4 answer waits no longer than RESOLVE_PATIENCE_MS for the other.
 * How long it may take is the caller's business. */
bool lookup_start(struct resolver *r, struct lookup *l, const char *name);
void lookup_stop(struct lookup *l); /* done is not called any more */

#endif
