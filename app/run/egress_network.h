/*
 * The Docker network of one run with an allowlist: its container is attached to
 * it, alone, and nothing else of it is used (proxy/link.h). It is called like
 * the container, and carries its instance and run as labels.
 *
 * Its subnet is one of those of 8 addresses in SBX_EGRESS_POOL, which nobody
 * but the run and its proxy ever sees: Docker only refuses to give one twice,
 * and its own pools end at some 30 networks. Of run/egress.c and the reaper.
 */
#ifndef SBX_RUN_EGRESS_NETWORK_H
#define SBX_RUN_EGRESS_NETWORK_H

#include "lib/address.h"
#include "lib/arena.h"
#include "run/context.h"

#include <stdbool.h>
#include <stdint.h>

/* ERR_CAPACITY, with a sentence for the caller, where no subnet is free. */
int egress_network_make(const struct run_ctx *ctx, const char *id,
    struct arena *a, const char **ret_subnet, struct err *e);

/* Absent is success. */
int egress_network_remove(
    const struct run_ctx *ctx, const char *id, struct err *e);

/* The reaper's: remove those of runs that are gone, neither recorded nor
 * represented by a container. The error is that of the first that failed;
 * *ret_removed is set in any case. */
int egress_network_clean(
    const struct run_ctx *ctx, int64_t *ret_removed, struct err *e);

/* The n-th subnet to try for that run in a pool (a CIDR): all of them come,
 * each once, in an order of the run's own. False where there are no more. */
bool egress_network_pick(
    const char *pool, const char *id, unsigned n, char to[ADDRESS_TEXT]);

#endif
