/* store/run: the state machine, ids, pages, deadlines, healing. */
#include "lib/str.h"
#include "redis_fixture.h"
#include "store/run.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct redis_fixture fixture;
static struct redis *redis;
static struct arena arena = ARENA_INIT;

static int
group_open(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	redis_fixture_open(&fixture);
	redis = redis_new(fixture.url, &e);
	assert_non_null(redis);
	return 0;
}

static int
group_close(void **state)
{
	(void)state;
	redis_free(redis);
	arena_release(&arena);
	redis_fixture_close(&fixture);
	return 0;
}

/* Each test begins with an empty Redis that knows no script. */
static int
empty(void **state)
{
	(void)state;
	arena_reset(&arena);
	(void)redis_fixture_say(&fixture, "FLUSHALL");
	(void)redis_fixture_say(&fixture, "SCRIPT FLUSH");
	return 0;
}

static const char *
say(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return redis_fixture_say(&fixture, command);
}

static struct run
a_run(void)
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

static struct run
create(void)
{
	struct run run = a_run();
	struct err e = ERR_INIT;

	check_ok(run_create(redis, &run, 0, &e), &e);
	return run;
}

static struct run
start(void)
{
	struct run run = create();
	struct err e = ERR_INIT;

	check_ok(run_creating(redis, run.id, "c0ffee", &e), &e);
	check_ok(run_started(redis, run.id, &e), &e);
	return run;
}

static struct run
get(const char *id)
{
	struct run run;
	struct err e = ERR_INIT;

	check_ok(run_get(redis, id, true, &arena, &run, &e), &e);
	return run;
}

/* The deadline passes: as an operator would, in the queue and the record. */
static void
expire(const char *id)
{
	(void)say("HSET sbx:run:%s expiresAt 1000", id);
	(void)say("ZADD sbx:runs 1000 %s", id);
}

static void
a_record_explains_itself(void **state)
{
	struct run run = a_run();
	struct err e = ERR_INIT;
	char expected[512];

	(void)state;
	run.labels = "{\"team\":\"blue\"}";
	check_ok(run_create(redis, &run, 0, &e), &e);
	check_ok(run_creating(redis, run.id, "c0ffee", &e), &e);
	check_ok(run_started(redis, run.id, &e), &e);
	(void)snprintf(expected, sizeof(expected),
	    "state running createdAt %lld expiresAt %lld ttlSec 1800 image "
	    "busybox:latest network none containerId c0ffee user 1000:1000 "
	    "labels {\"team\":\"blue\"} memoryMb 64 cpus 0.5 pids 256",
	    (long long)run.created_ms, (long long)run.expires_ms);
	assert_string_equal(say("HGETALL sbx:run:%s", run.id), expected);
}

static void
what_was_stored_is_read_back(void **state)
{
	struct run run = start();
	struct run got = get(run.id);
	int64_t now;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(store_now(redis, &now, &e), &e);
	assert_string_equal(got.id, run.id);
	assert_string_equal(got.state, "running");
	assert_string_equal(got.image, run.image);
	assert_string_equal(got.network, run.network);
	assert_string_equal(got.container, "c0ffee");
	assert_string_equal(got.user, run.user);
	assert_string_equal(got.labels, "");
	assert_string_equal(got.exit_reason, "");
	assert_int_equal(got.ttl_sec, 1800);
	assert_int_equal(got.memory_mb, 64);
	assert_int_equal(got.pids, 256);
	assert_true(got.cpus > 0.49 && got.cpus < 0.51);
	assert_int_equal(got.created_ms, run.created_ms);
	assert_int_equal(got.expires_ms, run.created_ms + 1800 * 1000);
	assert_in_range(now - got.created_ms, 0, 60000);
	assert_in_range(ulid_time(got.id) - got.created_ms, 0, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(a_record_explains_itself, empty),
	    cmocka_unit_test_setup(what_was_stored_is_read_back, empty),
	};

	(void)expire;
	return cmocka_run_group_tests(tests, group_open, group_close);
}
