/* store/run: deadlines, teardowns, adoption, healing. */
#include "lib/str.h"
#include "run_fixture.h"

#include <stdlib.h>
#include <string.h>

static void
due_takes_what_is_past_its_deadline_and_nothing_else(void **state)
{
	struct run live = fixture_start(), old = fixture_start(),
		   ended = fixture_start();
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(run_exited(redis, &ended, &e), &e);
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 0);
	assert_in_range(due.next_ms, 1700000, 1800000);
	fixture_expire(old.id);
	fixture_expire(ended.id);
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 2);
	assert_string_equal(fixture_get(old.id).state, "destroying");
	assert_string_equal(fixture_get(ended.id).state, "destroying");
	assert_string_equal(fixture_get(live.id).state, "running");
	assert_in_range(due.next_ms, 1, 15000);
}

static void
due_takes_no_more_than_its_limit(void **state)
{
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 5; i++)
		fixture_expire(fixture_start().id);
	check_ok(run_due(redis, 3, &arena, &due, &e), &e);
	assert_int_equal(due.count, 3);
	assert_int_equal(due.next_ms, 0);
	check_ok(run_due(redis, 3, &arena, &due, &e), &e);
	assert_int_equal(due.count, 2);
}

static void
a_deadline_that_was_moved_is_kept(void **state)
{
	struct run run = fixture_start();
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	(void)fixture_say(
	    "ZADD sbx:runs 1000 %s", run.id); /* the record says later */
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 0);
	assert_string_equal(fixture_get(run.id).state, "running");
	assert_true(due.next_ms > 1000);
}

static void
a_late_creator_learns_that_its_run_is_gone(void **state)
{
	struct run run = fixture_create();
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	(void)fixture_say("ZADD sbx:runs 1000 %s", run.id);
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 1);
	assert_string_equal(due.run[0].was, "creating");
	check_fails(run_creating(redis, run.id, NULL, &e), &e, ERR_RUN_ABSENT);
	check_fails(run_started(redis, run.id, NULL, &e), &e, ERR_RUN_ABSENT);
	assert_non_null(strstr(e.text, run.id));
}

static void
a_failed_teardown_is_tried_again_ever_later(void **state)
{
	static const int64_t wait[] = {15000, 30000, 60000, 60000};
	struct run run = fixture_start();
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(run_destroying(redis, run.id, &e), &e);
	for (size_t i = 0; i < sizeof(wait) / sizeof(wait[0]); i++) {
		check_ok(run_due(redis, 10, &arena, &due, &e), &e);
		assert_int_equal(due.count, 0);
		assert_in_range(due.next_ms, wait[i] - 5000, wait[i]);
		(void)fixture_say("ZADD sbx:runs 1000 %s", run.id);
		check_ok(run_due(redis, 10, &arena, &due, &e), &e);
		assert_int_equal(due.count, 1);
		assert_string_equal(due.run[0].was, "destroying");
		/* The teardown itself says so again. */
		check_ok(run_destroying(redis, run.id, &e), &e);
	}
}

static void
adoption_obeys_the_rule_of_the_deadline(void **state)
{
	struct run run = fixture_run();
	struct err e = ERR_INIT;
	bool adopted;
	int64_t now;

	(void)state;
	check_ok(store_now(redis, &now, &e), &e);
	fixture_set_id(&run, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
	run.state = "running";
	run.created_ms = now - 3600000;
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_true(adopted);
	assert_in_range(run.expires_ms, now + 1800000, now + 1860000);
	struct run got = fixture_get(run.id);
	assert_int_equal(got.created_ms, run.created_ms);
	assert_int_equal(got.expires_ms, run.expires_ms);
	assert_string_equal(got.image, "busybox:latest");
	int64_t generation = fixture_number(
	    fixture_say("HGET sbx:run:%s leaseGeneration", run.id));
	assert_in_range(generation, now, now + 60000);

	fixture_set_id(&run, "01ARZ3NDEKTSV4RRFFQ69G5FAW");
	run.created_ms = now - 86400000 + 60000;
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_true(adopted);
	assert_int_equal(run.expires_ms, now + 60000);
}

static void
what_is_known_or_was_destroyed_is_not_adopted(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	bool adopted = true;

	(void)state;
	run.state = "running";
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_false(adopted);
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_ok(run_forget(redis, run.id, &e), &e);
	adopted = true;
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_false(adopted);
	assert_string_equal(fixture_say("EXISTS sbx:run:%s", run.id), "0");
}

static void
what_is_adopted_to_be_destroyed_is_due_at_once(void **state)
{
	struct run run = fixture_start();
	struct run_due due;
	struct err e = ERR_INIT;
	bool adopted;

	(void)state;
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_ok(run_forget(redis, run.id, &e), &e);
	run.state = "destroying"; /* its tombstone is no hindrance */
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_true(adopted);
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 1);
	assert_string_equal(due.run[0].id, run.id);
}

static void
an_index_without_its_record_heals(void **state)
{
	struct run lost = fixture_start(), kept = fixture_start(),
		   spoilt = fixture_start();
	struct run_page page;
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	(void)fixture_say("DEL sbx:run:%s", lost.id);
	(void)fixture_say("SET sbx:run:%s text", spoilt.id);
	check_ok(run_list(redis, "", 10, NULL, &arena, &page, &e), &e);
	assert_int_equal(page.count, 1);
	assert_string_equal(page.run[0].id, kept.id);
	assert_string_equal(fixture_say("ZRANGE sbx:ids 0 -1"), kept.id);
	assert_string_equal(fixture_say("ZRANGE sbx:runs 0 -1"), kept.id);

	(void)fixture_say("HSET sbx:run:%s state nonsense", kept.id);
	(void)fixture_say("ZADD sbx:runs 1000 %s 1000 x", kept.id);
	check_ok(run_due(redis, 10, &arena, &due, &e), &e);
	assert_int_equal(due.count, 0);
	assert_int_equal(due.next_ms, -1);
	assert_string_equal(fixture_say("KEYS sbx:*"), "sbx:last-id");
}

static void
a_record_outside_the_index_comes_back(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;
	bool adopted;

	(void)state;
	(void)fixture_say("DEL sbx:runs");
	(void)fixture_say("DEL sbx:ids");
	run.state = "running";
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_false(adopted);
	assert_string_equal(fixture_say("ZRANGE sbx:ids 0 -1"), run.id);
	assert_int_equal(
	    fixture_number(fixture_say("ZSCORE sbx:runs %s", run.id)),
	    run.expires_ms);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(
		due_takes_what_is_past_its_deadline_and_nothing_else,
		fixture_empty),
	    cmocka_unit_test_setup(
		due_takes_no_more_than_its_limit, fixture_empty),
	    cmocka_unit_test_setup(
		a_deadline_that_was_moved_is_kept, fixture_empty),
	    cmocka_unit_test_setup(
		a_late_creator_learns_that_its_run_is_gone, fixture_empty),
	    cmocka_unit_test_setup(
		a_failed_teardown_is_tried_again_ever_later, fixture_empty),
	    cmocka_unit_test_setup(
		adoption_obeys_the_rule_of_the_deadline, fixture_empty),
	    cmocka_unit_test_setup(
		what_is_known_or_was_destroyed_is_not_adopted, fixture_empty),
	    cmocka_unit_test_setup(
		what_is_adopted_to_be_destroyed_is_due_at_once, fixture_empty),
	    cmocka_unit_test_setup(
		an_index_without_its_record_heals, fixture_empty),
	    cmocka_unit_test_setup(
		a_record_outside_the_index_comes_back, fixture_empty),
	};
	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
