/*
 * What one worker process counts: requests by route and status, how long they
 * took, and how many threads are busy. Threads add, the heartbeat moves the
 * sums on to Redis (store/counters.h), where those of all processes meet.
 *
 * Counters are named `requests ROUTE STATUS`, `duration ROUTE LE` (how many
 * took LE seconds or less) and `duration_sum_us ROUTE`;
 * ROUTE is "METHOD /pattern", or "none" where none matched.
 */
#ifndef SBX_METRICS_H
#define SBX_METRICS_H

#include "http/router.h"
#include "store/redis.h"

#include <stdint.h>

struct metrics;

struct metrics *metrics_new(const struct route *routes, size_t count);
void metrics_free(struct metrics *m);

/* A thread begins and ends a request; route is NULL where none matched. */
void metrics_begin(struct metrics *m);
void metrics_end(
    struct metrics *m, const struct route *route, int status, int64_t us);

int64_t metrics_busy(const struct metrics *m);

/* Move on what was counted since the last time. Where Redis did it and the
 * answer was lost, it counts twice. */
int metrics_flush(struct metrics *m, struct redis *r, struct err *e);

#endif
