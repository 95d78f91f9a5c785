/*
 * Connecting to one of several addresses (RFC 8305, happy eyeballs): families
 * in turn, IPv6 first, the next one begun when one fails or takes long, the
 * first to succeed kept.
 */
#ifndef SBX_PROXY_DIAL_H
#define SBX_PROXY_DIAL_H

#include "lib/address.h"
#include "loop.h"
#include "resolve.h"

#define DIAL_NEXT_MS 250 /* RFC 8305 5 */

struct dial_try {
	struct watch watch;
	struct dial *dial;
	size_t which; /* address */
};

struct dial {
	void (*done)(struct dial *d);
	void *arg;
	struct loop *loop;
	struct address address[RESOLVE_MOST];
	size_t count, next;
	uint16_t port;
	struct dial_try tries[RESOLVE_MOST];
	int open; /* tries under way */
	struct timer timer;
	struct dial_try *won; /* its watch is to be handed over; NULL: none */
	int error;	      /* errno of the last that failed */
};

/* done is called once, never from here; how long that may take is the caller's
 * business. Addresses in the order of preference within each family. */
struct dial *dial_new(struct loop *loop, const struct address *addresses,
    size_t count, uint16_t port, void (*done)(struct dial *d), void *arg);
/* Ends what is under way. Takes NULL. */
void dial_free(struct dial *d);

#endif
