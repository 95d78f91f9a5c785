/* Records of runs for tests, on a Redis of their own. */
#include "run_fixture.h"
#include "lib/str.h"
#include "redis_fixture.h"

#include <stdio.h>
#include <string.h>

struct redis_fixture fixture;
struct redis *redis;
struct arena arena = ARENA_INIT;

int
fixture_open(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	redis_fixture_open(&fixture);
	redis = redis_new(fixture.url, &e);
	assert_non_null(redis);
	return 0;
}

int
fixture_close(void **state)
{
	(void)state;
	redis_free(redis);
	arena_release(&arena);
	redis_fixture_close(&fixture);
	return 0;
}

int
fixture_empty(void **state)
{
	(void)state;
	arena_reset(&arena);
	(void)redis_fixture_say(&fixture, "FLUSHALL");
	(void)redis_fixture_say(&fixture, "SCRIPT FLUSH");
	return 0;
}

const char *
fixture_say(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return redis_fixture_say(&fixture, command);
}

int64_t
fixture_number(const char *text)
{
	int64_t number = 0;

	(void)str_to_int(text, INT64_MIN, INT64_MAX, &number);
	return number;
}

void
fixture_set_id(struct run *run, const char *id)
{
	memcpy(run->id, id, ULID_SIZE);
}

struct run
fixture_run(void)
{
	struct run run = {
	    .image = "busybox:latest",
	    .network = "none",
	    .user = "1000:1000",
	    .labels = "",
	    .ttl_sec = 1800,
	    .memory_mb = 64,
	    .pids = 256,
	    .cpus = 0.5,
	};

	return run;
}

struct run
fixture_create(void)
{
	struct run run = fixture_run();
	struct err e = ERR_INIT;

	check_ok(run_create(redis, &run, 0, &e), &e);
	return run;
}

struct run
fixture_start(void)
{
	struct run run = fixture_create();
	struct err e = ERR_INIT;

	check_ok(run_creating(redis, run.id, "c0ffee", &e), &e);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	return run;
}

struct run
fixture_get(const char *id)
{
	struct run run;
	struct err e = ERR_INIT;

	check_ok(run_get(redis, id, true, &arena, &run, &e), &e);
	return run;
}

void
fixture_expire(const char *id)
{
	(void)fixture_say("HSET sbx:run:%s expiresAt 1000", id);
	(void)fixture_say("ZADD sbx:runs 1000 %s", id);
}
