/*
 * Connecting to one of several addresses (RFC 8305, happy eyeballs): families
 * in turn, IPv6 first, the next one begun when one fails or takes long, the
 * first to succeed kept.
 */
#ifndef SBX_PROXY_DIAL_H
#define SBX_PROXY_DIAL_H

#include "found.h"
#include "loop.h"

#define DIAL_NEXT_MS 250 /* RFC 8305 5 */
#define DIALS_MORE 128	 /* tries beside another of their dial, of all dials */

/* What all dials share, zeros at first: whoever asks for hosts that nobody
 * answers for would else have as many descriptors as they have addresses. */
struct dials {
	int more;
};

struct dial_try {
	struct watch watch;
	struct dial *dial;
	size_t which; /* address */
	bool more;    /* it counts as one of DIALS_MORE */
};

struct dial {
	void (*done)(struct dial *d);
	void *arg;
	struct loop *loop;
	struct dials *all;
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
struct dial *dial_new(struct loop *loop, struct dials *all,
    const struct found *to, uint16_t port, void (*done)(struct dial *d),
    void *arg);
/* Ends what is under way. Takes NULL. */
void dial_free(struct dial *d);

#endif
