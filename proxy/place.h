/*
 * Listening on a run's loopback while living outside (DESIGN 5).
 */
#ifndef SBX_PROXY_PLACE_H
#define SBX_PROXY_PLACE_H

#include "lib/address.h"
#include "lib/err.h"

#include <stdint.h>

#define PLACE_ADDRESS "127.0.0.1"
#define PLACE_PORT 3128

/* Where to listen. */
struct place {
	const char *netns; /* path of a network namespace; "" is this one */
	const struct cidr *subnet; /* of its only link, which is closed first
				    * (link.h); NULL where it has none */
	struct address address;
	uint16_t port;
};

/*
 * A listening, non-blocking, close-on-exec socket in that place. This process
 * is where it was when it returns; where it cannot be, that is an error, and
 * the process must end. ERR_CONFLICT where the port is taken. Nobody can share
 * the port with it (no SO_REUSEPORT).
 */
int place_listen(const struct place *at, struct err *e);

#endif
