/*
 * Listening on a run's loopback while living outside: DESIGN 5.
 */
#ifndef SBX_PROXY_PLACE_H
#define SBX_PROXY_PLACE_H

#include "lib/address.h"
#include "lib/err.h"

#include <stdint.h>

#define PLACE_PORT 3128

/* A listening, non-blocking socket at that address in the network namespace
 * that netns (a path; "" is this one) names; this process is where it was when
 * it returns. ERR_CONFLICT where the port is taken. */
int place_listen(const char *netns, const struct address *address,
    uint16_t port, struct err *e);

#endif
