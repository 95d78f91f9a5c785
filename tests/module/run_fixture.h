/*
 * Records of runs for tests, on a Redis of their own.
 *
 * Group setup, teardown, and per-test setup of cmocka; each test begins with an
 * empty Redis that knows no script, and an empty arena. One thread only.
 */
#ifndef SBX_TESTS_MODULE_RUN_FIXTURE_H
#define SBX_TESTS_MODULE_RUN_FIXTURE_H

#include "../wait.h"
#include "lib/arena.h"
#include "redis_fixture.h"
#include "store/run.h"

extern struct redis_fixture fixture;
extern struct redis *redis;
extern struct arena arena;

int fixture_open(void **state);
int fixture_close(void **state);
int fixture_empty(void **state);

/* A command to Redis, as redis_fixture_say. */
const char *fixture_say(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* What it says, as a number; 0 where it is none. */
int64_t fixture_number(const char *text);

void fixture_set_id(struct run *run, const char *id);
struct run fixture_run(void);		/* described, without an id */
struct run fixture_create(void);	/* with a record, creating */
struct run fixture_start(void);		/* running */
struct run fixture_get(const char *id); /* from its record, which exists */
void fixture_expire(const char *id);	/* its deadline was in 1970 */

#endif
