/* store/run: many threads at once, and Redis dying under them. */
#include "lib/mem.h"
#include "run_fixture.h"
#include "store/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define EACH 200
#define RACES 2000

struct worker {
	pthread_t thread;
	struct redis *redis;
	struct run run[EACH];
	size_t done, failed;
};

static atomic_bool stop;

/* Start the threads, wait for them; each has a connection of its own. */
static struct worker *
in_parallel(void *(*body)(void *worker))
{
	struct worker *w = mem_zalloc(mem_array(THREADS, sizeof(*w)));
	struct err e = ERR_INIT;

	for (int i = 0; i < THREADS; i++) {
		w[i].redis = redis_new(fixture.url, &e);
		assert_int_equal(
		    pthread_create(&w[i].thread, NULL, body, &w[i]), 0);
	}
	return w;
}

static void
join(struct worker *w)
{
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(w[i].thread, NULL);
		redis_free(w[i].redis);
	}
}

static void *
create_many(void *arg)
{
	struct worker *w = arg;
	struct err e = ERR_INIT;

	for (; w->done < EACH; w->done++) {
		w->run[w->done] = fixture_run();
		if (run_create(w->redis, &w->run[w->done], 0, &e) != 0)
			break;
	}
	return NULL;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
ids_are_unique_and_go_up_in_every_thread(void **state)
{
	struct worker *w = in_parallel(create_many);
	char(*ids)[ULID_SIZE] = mem_alloc(sizeof(*ids) * THREADS * EACH);
	size_t count = 0;

	(void)state;
	join(w);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(w[i].done, EACH);
		for (size_t j = 0; j < EACH; j++) {
			if (j > 0)
				assert_true(strcmp(w[i].run[j - 1].id,
						w[i].run[j].id) < 0);
			memcpy(ids[count++], w[i].run[j].id, ULID_SIZE);
		}
	}
	qsort(ids, count, sizeof(*ids), by_text);
	for (size_t i = 1; i < count; i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
	free(ids);
	free(w);
}

static void *
take_due(void *arg)
{
	struct worker *w = arg;
	struct arena own = ARENA_INIT;
	struct run_due due;
	struct err e = ERR_INIT;

	do {
		arena_reset(&own);
		if (run_due(w->redis, 3, &own, &due, &e) != 0)
			w->failed++;
		else
			w->done += due.count;
	} while (w->failed == 0 && due.count > 0);
	arena_release(&own);
	return NULL;
}

static void
each_due_run_is_taken_once(void **state)
{
	size_t taken = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		fixture_expire(fixture_start().id);
	struct worker *w = in_parallel(take_due);
	join(w);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(w[i].failed, 0);
		taken += w[i].done;
	}
	assert_int_equal(taken, 100);
	free(w);
}

static atomic_bool held;

/* At the very millisecond of the deadline. */
static void *
extend_one(void *arg)
{
	const struct credential nobody = {.owner = ""};
	struct worker *w = arg;
	struct err e = ERR_INIT;

	while (atomic_load(&held))
		;
	w->done = run_extend(w->redis, w->run[0].id, &nobody, 60000, &e) == 0;
	w->failed = !w->done && e.kind != ERR_RUN_NOT_RUNNING;
	return NULL;
}

static void
an_extension_and_an_expiry_have_one_outcome(void **state)
{
	size_t outcome[2] = {0, 0};
	struct worker w = {.redis = NULL};
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	w.redis = redis_new(fixture.url, &e);
	for (int i = 0; i < RACES; i++) {
		size_t taken = 0;

		w.run[0] = fixture_start();
		int64_t at = clock_wall_ms() + 1 + i % 3;
		(void)fixture_say("HSET sbx:run:%s expiresAt %lld", w.run[0].id,
		    (long long)at);
		(void)fixture_say(
		    "ZADD sbx:runs %lld %s", (long long)at, w.run[0].id);
		atomic_store(&held, true);
		assert_int_equal(
		    pthread_create(&w.thread, NULL, extend_one, &w), 0);
		while (clock_wall_ms() < at)
			;
		atomic_store(&held, false);
		check_ok(run_due(redis, 3, &arena, &due, &e), &e);
		taken += due.count;
		(void)pthread_join(w.thread, NULL);
		check_ok(run_due(redis, 3, &arena, &due, &e), &e);
		taken += due.count;
		assert_int_equal(w.failed, 0);
		assert_int_equal(taken + w.done, 1);
		struct run run = fixture_get(w.run[0].id);
		assert_string_equal(
		    run.state, w.done ? "running" : "destroying");
		assert_int_equal(run.expires_ms > at, w.done);
		outcome[w.done]++;
		check_ok(run_destroying(redis, run.id, &e), &e);
		check_ok(run_forget(redis, run.id, &e), &e);
		arena_reset(&arena);
	}
	printf("%zu extended, %zu expired\n", outcome[1], outcome[0]);
	redis_free(w.redis);
}

static void
a_restart_keeps_every_record(void **state)
{
	struct run run = fixture_start(), got;
	struct err e = ERR_INIT;
	bool back = false;

	(void)state;
	check_ok(run_destroying(redis, fixture_start().id, &e), &e);
	redis_fixture_kill(&fixture);
	check_fails(
	    run_get(redis, run.id, true, &arena, &got, &e), &e, ERR_STORE_AWAY);
	redis_fixture_start(&fixture);
	wait_until(
	    back = run_get(redis, run.id, true, &arena, &got, &e) == 0, 30000);
	assert_true(back);
	assert_string_equal(got.state, "running");
	assert_int_equal(got.expires_ms, run.expires_ms);
	assert_string_equal(fixture_say("ZCARD sbx:runs"), "2");
}

/* A whole life again and again, whatever fails, until told to stop. */
static void *
live(void *arg)
{
	struct worker *w = arg;
	struct err e = ERR_INIT;

	while (!atomic_load(&stop)) {
		struct run run = fixture_run();

		if (run_create(w->redis, &run, 0, &e) == 0 &&
		    run_creating(w->redis, run.id, "c", &e) == 0 &&
		    run_started(w->redis, run.id, NULL, &e) == 0 &&
		    run_exited(w->redis, &run, &e) == 0 &&
		    run_destroying(w->redis, run.id, &e) == 0 &&
		    run_forget(w->redis, run.id, &e) == 0)
			w->done++;
		else
			w->failed++;
	}
	return NULL;
}

/* Every script is all or nothing: after any number of deaths the indexes and
 * the records still say the same. */
static void
redis_dying_under_load_leaves_no_half_record(void **state)
{
	struct worker *w;
	size_t done = 0;

	(void)state;
	atomic_store(&stop, false);
	w = in_parallel(live);
	for (int i = 0; i < 5; i++) {
		char *before = mem_strdup(fixture_say("GET sbx:last-id"));

		wait_until(
		    strcmp(fixture_say("GET sbx:last-id"), before) != 0, 30000);
		free(before);
		redis_fixture_kill(&fixture);
		redis_fixture_start(&fixture);
	}
	atomic_store(&stop, true);
	join(w);
	for (int i = 0; i < THREADS; i++)
		done += w[i].done;
	assert_true(done > 0);
	free(w);

	static const char consistent[] =
	    "local n = #redis.call('KEYS', 'sbx:run:*');"
	    "local ids = redis.call('ZRANGE', 'sbx:ids', 0, -1);"
	    "if n ~= #ids or n ~= redis.call('ZCARD', 'sbx:runs') then "
	    "return 'counts differ' end;"
	    "for _, id in ipairs(ids) do "
	    "if not redis.call('ZSCORE', 'sbx:runs', id) then "
	    "return 'not queued: ' .. id end;"
	    "local r = redis.call('HMGET', 'sbx:run:' .. id, 'state', "
	    "'image', 'expiresAt');"
	    "if not (r[1] and r[2] and r[3]) then return 'half: ' .. id end "
	    "end;"
	    "return 'consistent'";
	const char *argv[] = {"EVAL", consistent, "0"};
	struct redisReply *reply = NULL;
	struct err e = ERR_INIT;
	wait_until(
	    (reply = redis_command(redis, 3, argv, NULL, &e)) != NULL, 30000);
	assert_string_equal(reply_text(reply), "consistent");
	redis_reply_free(reply);
}

static void
a_flush_under_load_is_survived(void **state)
{
	struct worker *w;
	struct run run = fixture_run();
	struct err e = ERR_INIT;

	(void)state;
	atomic_store(&stop, false);
	w = in_parallel(live);
	for (int i = 0; i < 20; i++) {
		(void)fixture_say("SCRIPT FLUSH");
		(void)fixture_say("FLUSHALL");
		check_ok(run_create(redis, &run, 0, &e), &e);
	}
	atomic_store(&stop, true);
	join(w);
	free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(
		ids_are_unique_and_go_up_in_every_thread, fixture_empty),
	    cmocka_unit_test_setup(each_due_run_is_taken_once, fixture_empty),
	    cmocka_unit_test_setup(
		an_extension_and_an_expiry_have_one_outcome, fixture_empty),
	    cmocka_unit_test_setup(a_restart_keeps_every_record, fixture_empty),
	    cmocka_unit_test_setup(
		redis_dying_under_load_leaves_no_half_record, fixture_empty),
	    cmocka_unit_test_setup(
		a_flush_under_load_is_survived, fixture_empty),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
