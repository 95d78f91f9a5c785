/* Leases and operations on a real Redis: every rule of CONTRACT 5. */
#include "lib/str.h"
#include "run_fixture.h"
#include "store/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct credential nobody = {"", 0};

static int64_t
acquire(const char *id, const char *owner)
{
	struct lease lease;
	struct err e = ERR_INIT;

	check_ok(lease_acquire(redis, id, owner, 60000, "", &lease, &e), &e);
	assert_int_equal(lease.in_flight, 0);
	return lease.generation;
}

/* Begin an operation; ERR_NONE where it was admitted. */
static enum err_kind
begin(struct op *op, const char *id, const char *owner, int64_t generation)
{
	const struct credential who = {owner, generation};
	static int number;
	struct err e = ERR_INIT;
	struct run run;

	op->window_ms = 30000;
	memcpy(op->run, id, ULID_SIZE);
	(void)snprintf(op->id, sizeof(op->id), "OP%024d", number++);
	return op_begin(redis, op, &who, &arena, &run, &e) == 0 ? ERR_NONE
								: e.kind;
}

static void
end(const struct op *op)
{
	struct err e = ERR_INIT;

	check_ok(op_end(redis, op, &e), &e);
}

/* The active lease, or mark, is over as far as Redis' clock is concerned. */
static void
lapse(const char *id, const char *field)
{
	(void)fixture_say("HSET sbx:run:%s %s 1", id, field);
}

static void
each_grant_has_a_higher_generation(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(acquire(run.id, "anna"), 1);
	assert_int_equal(acquire(run.id, "anna"), 2);
	lapse(run.id, "leaseExpiresAt");
	assert_int_equal(acquire(run.id, "bert"), 3);
	check_ok(lease_release(redis, run.id, "bert", 3, &e), &e);
	assert_int_equal(acquire(run.id, "anna"), 4);
}

static void
an_active_lease_keeps_others_out(void **state)
{
	struct run run = fixture_start();
	struct lease lease;
	struct err e = ERR_INIT;

	(void)state;
	(void)acquire(run.id, "anna");
	check_fails(lease_acquire(redis, run.id, "bert", 1000, "", &lease, &e),
	    &e, ERR_LEASE_HELD);
	assert_non_null(strstr(e.text, "anna"));
	/* Neither does one that waits get past it. */
	check_fails(lease_acquire(redis, run.id, "bert", 1000, "w", &lease, &e),
	    &e, ERR_LEASE_HELD);
}

static void
renewal_is_for_the_exact_active_lease(void **state)
{
	struct run run = fixture_start();
	struct lease lease;
	struct err e = ERR_INIT;
	int64_t now;

	(void)state;
	(void)acquire(run.id, "anna");
	check_fails(lease_renew(redis, run.id, "anna", 2, 9000, &lease, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	check_fails(lease_renew(redis, run.id, "bert", 1, 9000, &lease, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	assert_non_null(strstr(e.text, "superseded"));
	check_ok(
	    lease_renew(redis, run.id, "anna", 1, 86400000, &lease, &e), &e);
	assert_int_equal(lease.generation, 1);
	check_ok(store_now(redis, &now, &e), &e);
	assert_in_range(lease.expires_ms - now, 86000000, 86400000);
	lapse(run.id, "leaseExpiresAt");
	check_fails(lease_renew(redis, run.id, "anna", 1, 9000, &lease, &e), &e,
	    ERR_LEASE_SUPERSEDED);
}

static void
release_is_for_the_current_grant_lapsed_or_not(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;

	(void)state;
	(void)acquire(run.id, "anna");
	check_fails(lease_release(redis, run.id, "anna", 7, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	check_fails(lease_release(redis, run.id, "bert", 1, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	lapse(run.id, "leaseExpiresAt");
	check_ok(lease_release(redis, run.id, "anna", 1, &e), &e);
	check_fails(lease_release(redis, run.id, "anna", 1, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	/* An old holder cannot release the next one's. */
	(void)acquire(run.id, "anna");
	lapse(run.id, "leaseExpiresAt");
	(void)acquire(run.id, "bert");
	check_fails(lease_release(redis, run.id, "anna", 2, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	assert_string_equal(
	    fixture_say("HGET sbx:run:%s leaseHolder", run.id), "bert");
}

static void
the_fence_lets_only_the_holder_through(void **state)
{
	struct run run = fixture_start();
	struct op op;

	(void)state;
	/* No lease: any credential passes. */
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	end(&op);
	assert_int_equal(begin(&op, run.id, "zoe", 9), ERR_NONE);
	end(&op);
	(void)acquire(run.id, "anna");
	assert_int_equal(begin(&op, run.id, "", 0), ERR_LEASE_HELD);
	assert_int_equal(begin(&op, run.id, "bert", 1), ERR_LEASE_SUPERSEDED);
	assert_int_equal(begin(&op, run.id, "anna", 2), ERR_LEASE_SUPERSEDED);
	assert_int_equal(begin(&op, run.id, "anna", 0), ERR_LEASE_SUPERSEDED);
	assert_int_equal(begin(&op, run.id, "anna", 1), ERR_NONE);
	assert_int_equal(op.generation, 1);
	end(&op);
	lapse(run.id, "leaseExpiresAt");
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	end(&op);
}

static void
a_busy_run_is_not_granted(void **state)
{
	struct run run = fixture_start();
	struct lease lease;
	struct err e = ERR_INIT;
	struct op op;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	check_fails(lease_acquire(redis, run.id, "anna", 1000, "", &lease, &e),
	    &e, ERR_RUN_BUSY);
	assert_non_null(strstr(e.text, "busy"));
	/* The holder of a lease renews under its own operation. */
	end(&op);
	(void)acquire(run.id, "anna");
	assert_int_equal(begin(&op, run.id, "anna", 1), ERR_NONE);
	check_ok(lease_renew(redis, run.id, "anna", 1, 9000, &lease, &e), &e);
	check_fails(lease_acquire(redis, run.id, "anna", 1000, "", &lease, &e),
	    &e, ERR_RUN_BUSY);
	end(&op);
}

static void
the_mark_of_a_dead_worker_lapses(void **state)
{
	struct run run = fixture_start();
	struct op op;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	(void)fixture_say("ZADD sbx:inflight:%s 1 %s", run.id, op.id);
	assert_int_equal(acquire(run.id, "anna"), 1);
	assert_string_equal(fixture_say("EXISTS sbx:inflight:%s", run.id), "0");
}

static void
lapsed_marks_do_not_pile_up(void **state)
{
	struct run run = fixture_start();
	struct op lost, op;

	(void)state;
	assert_int_equal(begin(&lost, run.id, "", 0), ERR_NONE);
	(void)fixture_say("ZADD sbx:inflight:%s 1 %s", run.id, lost.id);
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	assert_string_equal(fixture_say("ZCARD sbx:inflight:%s", run.id), "1");
	end(&op);
}

static void
a_waiter_keeps_new_operations_out(void **state)
{
	struct run run = fixture_start();
	struct lease lease;
	struct err e = ERR_INIT;
	struct op op, late;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	check_ok(
	    lease_acquire(redis, run.id, "anna", 1000, "w1", &lease, &e), &e);
	assert_int_equal(lease.in_flight, 1);
	assert_int_equal(begin(&late, run.id, "", 0), ERR_LEASE_PENDING);
	check_fails(
	    lease_acquire(redis, run.id, "bert", 1000, "w2", &lease, &e), &e,
	    ERR_LEASE_PENDING);
	check_fails(lease_acquire(redis, run.id, "bert", 1000, "", &lease, &e),
	    &e, ERR_LEASE_PENDING);
	end(&op);
	check_ok(
	    lease_acquire(redis, run.id, "anna", 1000, "w1", &lease, &e), &e);
	assert_int_equal(lease.in_flight, 0);
	assert_int_equal(lease.generation, 1);
	assert_int_equal(begin(&late, run.id, "anna", 1), ERR_NONE);
	end(&late);
}

static void
a_waiter_that_left_is_forgotten(void **state)
{
	struct run run = fixture_start();
	struct lease lease;
	struct err e = ERR_INIT;
	struct op op, late;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	check_ok(
	    lease_acquire(redis, run.id, "anna", 1000, "w1", &lease, &e), &e);
	/* Another's token forgets nothing. */
	check_ok(lease_forget(redis, run.id, "w2", &e), &e);
	assert_int_equal(begin(&late, run.id, "", 0), ERR_LEASE_PENDING);
	check_ok(lease_forget(redis, run.id, "w1", &e), &e);
	assert_int_equal(begin(&late, run.id, "", 0), ERR_NONE);
	end(&late);
	/* One that died is forgotten by itself. */
	check_ok(
	    lease_acquire(redis, run.id, "anna", 1000, "w1", &lease, &e), &e);
	lapse(run.id, "leaseWaiterUntil");
	assert_int_equal(begin(&late, run.id, "", 0), ERR_NONE);
	end(&late);
	end(&op);
}

static bool
refresh(const struct op *op)
{
	struct err e = ERR_INIT;
	bool dead = false;

	check_ok(op_refresh(redis, op, 1, &dead, &e), &e);
	return !dead;
}

static void
a_worker_that_wakes_late_learns_that_it_lost(void **state)
{
	struct run run = fixture_start();
	struct op op;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	assert_true(refresh(&op));
	/* Its mark lapses while nobody is given the run: no harm. */
	(void)fixture_say("DEL sbx:inflight:%s", run.id);
	assert_true(refresh(&op));
	assert_string_equal(fixture_say("ZCARD sbx:inflight:%s", run.id), "1");
	/* And while somebody is: the operation must end. */
	(void)fixture_say("DEL sbx:inflight:%s", run.id);
	(void)acquire(run.id, "anna");
	assert_false(refresh(&op));
	assert_string_equal(fixture_say("EXISTS sbx:inflight:%s", run.id), "0");
}

static void
an_adopted_run_keeps_its_operations(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	struct op op;
	bool adopted;

	(void)state;
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	(void)fixture_say("FLUSHALL");
	assert_true(refresh(&op));
	run.state = "running";
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_true(adopted);
	assert_true(refresh(&op));
	assert_string_equal(fixture_say("ZCARD sbx:inflight:%s", run.id), "1");
	end(&op);
	/* Generations go on above all earlier ones. */
	assert_true(acquire(run.id, "anna") > 1000000000000);
}

static void
only_a_running_run_gets_a_mark(void **state)
{
	struct run run = fixture_start(), got;
	struct err e = ERR_INIT;
	struct op op;

	(void)state;
	run.exit_reason = "killed";
	check_ok(run_exited(redis, &run, &e), &e);
	op.window_ms = 30000;
	memcpy(op.run, run.id, sizeof(op.run));
	memcpy(op.id, run.id, sizeof(op.id));
	check_ok(op_begin(redis, &op, &nobody, &arena, &got, &e), &e);
	assert_string_equal(got.state, "exited");
	assert_string_equal(got.exit_reason, "killed");
	assert_string_equal(fixture_say("EXISTS sbx:inflight:%s", run.id), "0");
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_ok(run_forget(redis, run.id, &e), &e);
	assert_int_equal(begin(&op, run.id, "", 0), ERR_RUN_ABSENT);
}

static int64_t
deadline(const char *id)
{
	return fixture_get(id).expires_ms;
}

static void
a_deadline_moves_later_and_a_day_at_most(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	int64_t first = deadline(run.id), now;

	(void)state;
	/* Never earlier than before. */
	check_ok(run_extend(redis, run.id, &nobody, 1000, &e), &e);
	assert_int_equal(deadline(run.id), first);
	check_ok(run_extend(redis, run.id, &nobody, 3600000, &e), &e);
	check_ok(store_now(redis, &now, &e), &e);
	assert_in_range(deadline(run.id) - now, 3500000, 3600000);
	/* Never later than a day after the creation. */
	(void)fixture_say("HSET sbx:run:%s createdAt %lld", run.id,
	    (long long)(now - 86400000 + 7200000));
	check_ok(run_extend(redis, run.id, &nobody, 86400000, &e), &e);
	assert_int_equal(deadline(run.id), now + 7200000);
	/* The queue of deadlines knows. */
	assert_int_equal(
	    atoll(fixture_say("ZSCORE sbx:runs %s", run.id)), now + 7200000);
}

static void
an_extension_is_fenced(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	const struct credential anna = {"anna", 1}, old = {"anna", 0};

	(void)state;
	(void)acquire(run.id, "anna");
	check_fails(run_extend(redis, run.id, &nobody, 3600000, &e), &e,
	    ERR_LEASE_HELD);
	check_fails(run_extend(redis, run.id, &old, 3600000, &e), &e,
	    ERR_LEASE_SUPERSEDED);
	check_ok(run_extend(redis, run.id, &anna, 3600000, &e), &e);
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_fails(run_extend(redis, run.id, &anna, 3600000, &e), &e,
	    ERR_RUN_NOT_RUNNING);
}

static void
what_is_done_in_a_run_extends_it_where_it_asked_for_that(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	int64_t now, soon;
	struct op op;

	(void)state;
	check_ok(store_now(redis, &now, &e), &e);
	soon = now + 10000;
	(void)fixture_say(
	    "HSET sbx:run:%s expiresAt %lld", run.id, (long long)soon);
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	assert_int_equal(deadline(run.id), soon);
	(void)fixture_say("HSET sbx:run:%s autoExtend 1", run.id);
	assert_true(refresh(&op));
	assert_true(deadline(run.id) > now + 1700000);
	/* With more left than the window nothing moves. */
	soon = deadline(run.id);
	end(&op);
	assert_int_equal(begin(&op, run.id, "", 0), ERR_NONE);
	assert_int_equal(deadline(run.id), soon);
	end(&op);
}

static void
a_read_passes_every_fence_and_is_no_operation_in_flight(void **state)
{
	struct op read = {.id = "", .window_ms = 30000};
	struct run run = fixture_start(), got;
	struct err e = ERR_INIT;
	int64_t now;

	(void)state;
	check_ok(store_now(redis, &now, &e), &e);
	memcpy(read.run, run.id, sizeof(read.run));
	(void)acquire(run.id, "anna");
	check_ok(op_begin(redis, &read, &nobody, &arena, &got, &e), &e);
	assert_string_equal(got.state, "running");
	assert_int_equal(got.in_flight, 0);
	(void)acquire(run.id, "anna");
	/* It keeps the run alive where that is wanted, exited or not. */
	(void)fixture_say("HSET sbx:run:%s autoExtend 1 expiresAt %lld", run.id,
	    (long long)(now + 10000));
	assert_true(refresh(&read));
	assert_true(deadline(run.id) > now + 1700000);
	(void)fixture_say("HSET sbx:run:%s state exited expiresAt %lld", run.id,
	    (long long)(now + 10000));
	check_ok(op_begin(redis, &read, &nobody, &arena, &got, &e), &e);
	assert_true(deadline(run.id) > now + 1700000);
	assert_string_equal(fixture_say("EXISTS sbx:inflight:%s", run.id), "0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fixture_empty)
	    T(each_grant_has_a_higher_generation),
	    T(an_active_lease_keeps_others_out),
	    T(renewal_is_for_the_exact_active_lease),
	    T(release_is_for_the_current_grant_lapsed_or_not),
	    T(the_fence_lets_only_the_holder_through),
	    T(a_busy_run_is_not_granted),
	    T(the_mark_of_a_dead_worker_lapses),
	    T(lapsed_marks_do_not_pile_up),
	    T(a_waiter_keeps_new_operations_out),
	    T(a_waiter_that_left_is_forgotten),
	    T(a_worker_that_wakes_late_learns_that_it_lost),
	    T(an_adopted_run_keeps_its_operations),
	    T(a_deadline_moves_later_and_a_day_at_most),
	    T(an_extension_is_fenced),
	    T(what_is_done_in_a_run_extends_it_where_it_asked_for_that),
	    T(a_read_passes_every_fence_and_is_no_operation_in_flight),
	    T(only_a_running_run_gets_a_mark),
#undef T
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
