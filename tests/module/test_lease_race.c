/* Leases against operations, from many connections at once. */
#include "run_fixture.h"
#include "store/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct credential nobody = {"", 0};

#define RACERS 8
#define ROUNDS 1500

static struct {
	char run[ULID_SIZE];
	atomic_int ops, leases; /* what is believed to be in force now */
	atomic_int overlaps, repeats, grants, admitted;
	atomic_llong highest;
} race;

/* While the lease is held by us and nobody releases it, nothing else runs. */
static void
race_for_lease(struct redis *r, const char *owner)
{
	struct lease lease;
	struct err e = ERR_INIT;

	if (lease_acquire(r, race.run, owner, 60000, "", &lease, &e) != 0)
		return;
	if (atomic_fetch_add(&race.leases, 1) != 0 ||
	    atomic_load(&race.ops) != 0)
		atomic_fetch_add(&race.overlaps, 1);
	if (atomic_exchange(&race.highest, lease.generation) >=
	    lease.generation)
		atomic_fetch_add(&race.repeats, 1);
	atomic_fetch_add(&race.grants, 1);
	atomic_fetch_sub(&race.leases, 1);
	check_ok(lease_release(r, race.run, owner, lease.generation, &e), &e);
}

static void
race_for_op(struct redis *r, int racer, int round)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct run run;
	struct op op;

	op.window_ms = 30000;
	memcpy(op.run, race.run, sizeof(op.run));
	(void)snprintf(
	    op.id, sizeof(op.id), "OP%012d%012d", racer, round % 100000);
	if (op_begin(r, &op, &nobody, &a, &run, &e) == 0) {
		atomic_fetch_add(&race.ops, 1);
		if (atomic_load(&race.leases) != 0)
			atomic_fetch_add(&race.overlaps, 1);
		atomic_fetch_add(&race.admitted, 1);
		atomic_fetch_sub(&race.ops, 1);
		check_ok(op_end(r, &op, &e), &e);
	}
	arena_release(&a);
}

static void *
racer(void *arg)
{
	int number = (int)(intptr_t)arg;
	struct err e = ERR_INIT;
	struct redis *r = redis_new(fixture.url, &e);
	char owner[16];

	(void)snprintf(owner, sizeof(owner), "racer-%d", number);
	for (int round = 0; r != NULL && round < ROUNDS; round++) {
		if ((number + round) % 2 == 0)
			race_for_lease(r, owner);
		else
			race_for_op(r, number, round);
	}
	redis_free(r);
	return NULL;
}

static void
no_grant_overlaps_an_operation_in_12000_attempts(void **state)
{
	struct run run = fixture_start();
	pthread_t threads[RACERS];

	(void)state;
	memcpy(race.run, run.id, sizeof(race.run));
	for (intptr_t i = 0; i < RACERS; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, racer, (void *)i), 0);
	for (int i = 0; i < RACERS; i++)
		(void)pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&race.overlaps), 0);
	assert_int_equal(atomic_load(&race.repeats), 0);
	assert_true(atomic_load(&race.grants) > 0);
	assert_true(atomic_load(&race.admitted) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(
		no_grant_overlaps_an_operation_in_12000_attempts,
		fixture_empty),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
