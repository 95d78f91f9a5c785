/*
 * What torture (torture.h) happens to: a worker process, the reaper's sweeps
 * within the test, a Redis and an engine with a memory (fake/model.h), all with
 * directories of their own. The worker's calls may be made to fail; the ways of
 * the test itself never do.
 */
#ifndef SBX_TESTS_MODULE_TORTURE_WORLD_H
#define SBX_TESTS_MODULE_TORTURE_WORLD_H

#include "../fake/model.h"
#include "../fake/redis_proxy.h"
#include "lib/buf.h"
#include "lib/ulid.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define WORLD_TOKEN "t0ken-of-the-test"
#define WORLD_INSTANCE "01BX5ZZKBKACTAV9WEVGEMMVRZ"

struct world {
	struct model *model;
	struct redis_proxy *proxy;
	char dir[64];
	char socket[96]; /* of the worker */
};

extern struct world world;

/* Group setup and teardown; the worker must end well. */
int world_open(void **state);
int world_close(void **state);

/* One round of each of the reaper's sweeps, to its end. With `fails` the calls
 * of those that look after runs are those that may be made to fail; or, the
 * other, of those that look after the cache and the disk. */
void world_tick(bool fails);
void world_tick_cache(void);

/* Two minutes pass for what waits for a grace or a mark to be over: containers,
 * directories, creations, teardowns, operations, holds, pins, keys being made.
 * Deadlines and leases stay. */
void world_age(void);

/* A command to Redis, by a connection that never fails; freeReplyObject. */
redisReply *world_do(const char *format, ...);
/* Its reply as a number (0 for nil), or as text ("" for nil) in a static
 * buffer. */
int64_t world_number(const char *format, ...);
const char *world_text(const char *format, ...);

/* What there is, or is wrong where it should agree: two ticks after anything
 * containers, records and directories are of the same runs, and nothing is on
 * its way. Appends sentences. */
void world_disagreements(struct buf *to);

/* The cache's part of that: torture_cache.c. */
void world_look_at_cache(struct buf *to);
bool world_empty_cache(void);

/* Something is in it, be it only what the reaper will delete. */
bool world_has_cache(void);

/* Nothing at all; by force where it was not so before (then false). */
bool world_empty(void);

/* The container of a run exists and runs; its record says running. */
bool world_runs(const char *id);

#endif
