/*
 * A command in a run as a worker starts it, without a worker, nginx or Redis:
 * what of our cost is the guest's alone.
 */
#ifndef SBX_BENCH_DIRECT_H
#define SBX_BENCH_DIRECT_H

#include "docker/container.h"
#include "guest/guest.h"

struct direct {
	struct engine *engine;
	char container[CONTAINER_ID_SIZE];
	char dir[256]; /* of its init's socket; "" for one-shot execs */
	int64_t pid;
	uint64_t generation; /* that commands are admitted under; 0 at first */
};

/* By the run's transport, as far as its container tells. */
void direct_open(struct direct *d, const char *run);
void direct_close(struct direct *d);

struct guest_place direct_place(const struct direct *d);

/* sh -c script as root in /work. Fails the test where it does not start.
 * guest_free. */
struct guest *direct_exec(const struct direct *d, const char *script);

/* The next event within a minute. */
struct guest_event direct_next(struct guest *g);

#endif
