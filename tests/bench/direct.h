/*
 * A command in a run as a worker starts it, without a worker, nginx or Redis:
 * what of our cost is the guest's alone.
 */
#ifndef SBX_BENCH_DIRECT_H
#define SBX_BENCH_DIRECT_H

#include "guest/guest.h"

/* sh -c script as root in /work. Fails the test where it does not start.
 * guest_free. */
struct guest *direct_exec(
    struct engine *engine, const char *container, const char *script);

/* The next event within a minute. */
struct guest_event direct_next(struct guest *g);

#endif
