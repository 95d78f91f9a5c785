/* store/run: records, the state machine, ids, pages. */
#include "lib/str.h"
#include "run_fixture.h"
#include "store/idem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
a_record_explains_itself(void **state)
{
	struct run run = fixture_run();
	struct err e = ERR_INIT;
	char expected[512];

	(void)state;
	run.labels = "{\"team\":\"blue\"}";
	check_ok(run_create(redis, &run, 0, &e), &e);
	check_ok(run_creating(redis, run.id, "c0ffee", &e), &e);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	(void)snprintf(expected, sizeof(expected),
	    "state running createdAt %lld expiresAt %lld ttlSec 1800 image "
	    "busybox:latest network none containerId c0ffee user 1000:1000 "
	    "labels {\"team\":\"blue\"} memoryMb 64 cpus 0.5 pids 256 "
	    "autoExtend 0",
	    (long long)run.created_ms, (long long)run.expires_ms);
	assert_string_equal(
	    fixture_say("HGETALL sbx:run:%s", run.id), expected);
}

static void
what_was_stored_is_read_back(void **state)
{
	struct run run = fixture_start();
	struct run got = fixture_get(run.id);
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

static void
the_entries_of_an_allowlist_are_kept_and_replaced(void **state)
{
	struct err e = ERR_INIT;
	struct run run = fixture_run();

	(void)state;
	run.network = "allowlist";
	run.egress_allow = "[\"a.example\"]";
	check_ok(run_create(redis, &run, 0, &e), &e);
	check_fails(run_egress(redis, run.id, "[\"b.example\"]", &e), &e,
	    ERR_RUN_ABSENT);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	assert_string_equal(
	    fixture_get(run.id).egress_allow, "[\"a.example\"]");
	check_ok(run_egress(redis, run.id, "[\"b.example\"]", &e), &e);
	assert_string_equal(
	    fixture_get(run.id).egress_allow, "[\"b.example\"]");
	check_ok(run_egress(redis, run.id, "", &e), &e);
	assert_string_equal(fixture_get(run.id).egress_allow, "");
	check_ok(run_exited(redis, &run, &e), &e);
	check_fails(run_egress(redis, run.id, "", &e), &e, ERR_RUN_NOT_RUNNING);
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_fails(run_egress(redis, run.id, "", &e), &e, ERR_RUN_NOT_RUNNING);
	check_ok(run_forget(redis, run.id, &e), &e);
	check_fails(run_egress(redis, run.id, "", &e), &e, ERR_RUN_ABSENT);
}

static void
the_subnet_of_a_run_is_kept_and_adopted(void **state)
{
	struct err e = ERR_INIT;
	struct run run = fixture_run();
	bool adopted;

	(void)state;
	check_ok(run_create(redis, &run, 0, &e), &e);
	run.subnet = "10.219.0.8/29";
	run.transport = run.guest_dir = "";
	check_ok(run_reached(redis, &run, &e), &e);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	assert_string_equal(fixture_get(run.id).subnet, "10.219.0.8/29");
	(void)fixture_say("FLUSHALL");
	/* As the reaper finds it on the container. */
	run.state = "running";
	check_ok(run_adopt(redis, &run, &adopted, &e), &e);
	assert_true(adopted);
	assert_string_equal(fixture_get(run.id).subnet, "10.219.0.8/29");
}

/* Put a fresh run into that state. */
static struct run
in_state(const char *state)
{
	struct err e = ERR_INIT;
	struct run run = fixture_run();

	if (str_eq(state, "absent")) {
		fixture_set_id(&run, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
		return run;
	}
	run = str_eq(state, "creating") ? fixture_create() : fixture_start();
	if (str_eq(state, "exited"))
		check_ok(run_exited(redis, &run, &e), &e);
	if (str_eq(state, "destroying"))
		check_ok(run_destroying(redis, run.id, &e), &e);
	return run;
}

static int
do_creating(struct run *run, struct err *e)
{
	return run_creating(redis, run->id, NULL, e);
}

static int
do_started(struct run *run, struct err *e)
{
	return run_started(redis, run->id, NULL, e);
}

static int
do_exited(struct run *run, struct err *e)
{
	return run_exited(redis, run, e);
}

static int
do_destroying(struct run *run, struct err *e)
{
	return run_destroying(redis, run->id, e);
}

static int
do_forget(struct run *run, struct err *e)
{
	return run_forget(redis, run->id, e);
}

static int
do_adopt(struct run *run, struct err *e)
{
	bool adopted;

	(void)store_now(redis, &run->created_ms, e);
	run->state = "running";
	return run_adopt(redis, run, &adopted, e);
}

static void
only_the_moves_of_the_table_are_made(void **state)
{
	static const char *const states[] = {
#define S(state, moves) #state,
#include "store/run_state.def"
#undef S
	};
	static const struct {
		int (*act)(struct run *run, struct err *e);
		/* By state: where it leads, '!' before it with an error. */
		const char *absent, *creating, *running, *exited, *destroying;
	} rows[] = {
	    {do_creating, "!absent", "creating", "!running", "!exited",
		"!destroying"},
	    {do_started, "!absent", "running", "!running", "!exited",
		"!destroying"},
	    {do_exited, "absent", "creating", "exited", "exited", "destroying"},
	    {do_destroying, "!absent", "destroying", "destroying", "destroying",
		"destroying"},
	    {do_adopt, "running", "creating", "running", "exited",
		"destroying"},
	    {do_forget, "absent", "absent", "!running", "!exited", "absent"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const to[] = {rows[i].absent, rows[i].creating,
		    rows[i].running, rows[i].exited, rows[i].destroying};

		for (size_t j = 0; j < sizeof(states) / sizeof(states[0]);
		     j++) {
			struct err e = ERR_INIT;
			struct run run = in_state(states[j]), got;
			bool refused = *to[j] == '!';

			if ((rows[i].act(&run, &e) != 0) != refused)
				fail_msg(
				    "row %zu in %s: %s", i, states[j], e.text);
			if (run_get(redis, run.id, true, &arena, &got, &e) != 0)
				got.state = "absent";
			assert_string_equal(got.state, to[j] + refused);
			(void)fixture_empty(state);
		}
	}
}

static void
a_creating_run_is_hidden_until_it_started(void **state)
{
	struct run run = fixture_create(), got;
	struct run_page page;
	struct err e = ERR_INIT;

	(void)state;
	check_fails(run_get(redis, run.id, false, &arena, &got, &e), &e,
	    ERR_RUN_ABSENT);
	check_ok(run_list(redis, "", 10, NULL, &arena, &page, &e), &e);
	assert_int_equal(page.count, 0);
	check_ok(run_all(redis, "", 10, &arena, &page, &e), &e);
	assert_int_equal(page.count, 1);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	check_ok(run_get(redis, run.id, false, &arena, &got, &e), &e);
	check_ok(run_list(redis, "", 10, NULL, &arena, &page, &e), &e);
	assert_int_equal(page.count, 1);
}

static void
a_life_leaves_only_keys_that_lapse(void **state)
{
	struct run run = fixture_start();
	struct err e = ERR_INIT;

	(void)state;
	(void)fixture_say("HSET sbx:inflight:%s op 1", run.id);
	check_ok(run_exited(redis, &run, &e), &e);
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_ok(run_forget(redis, run.id, &e), &e);
	assert_string_equal(fixture_say("DBSIZE"), "2");
	assert_true(
	    fixture_number(fixture_say("PTTL sbx:gone:%s", run.id)) > 500000);
	assert_true(fixture_number(fixture_say("PTTL sbx:last-id")) > 80000000);
}

static void
an_exit_is_kept_with_its_reason(void **state)
{
	struct run run = fixture_start(), got;
	struct err e = ERR_INIT;

	(void)state;
	run.exit_code = 137;
	run.exited_ms = run.created_ms + 5;
	run.oom_killed = true;
	run.exit_reason = "out of memory";
	check_ok(run_exited(redis, &run, &e), &e);
	run.exit_code = 1;
	check_ok(run_exited(redis, &run, &e), &e);
	got = fixture_get(run.id);
	assert_string_equal(got.state, "exited");
	assert_int_equal(got.exit_code, 137);
	assert_int_equal(got.exited_ms, run.created_ms + 5);
	assert_true(got.oom_killed);
	assert_string_equal(got.exit_reason, "out of memory");
	assert_int_equal(got.expires_ms, run.expires_ms);
}

static void
ids_go_up_though_the_clock_goes_back(void **state)
{
	static const struct {
		const char *last, *next;
	} rows[] = {
	    {"7ZZZZZZZZZ0000000000000000", "7ZZZZZZZZZ0000000000000001"},
	    {"7ZZZZZZZZZ000000000000000Z", "7ZZZZZZZZZ0000000000000010"},
	    {"7ZZZZZZZZZ0000000000009ZZZ", "7ZZZZZZZZZ000000000000A000"},
	    {"7YZZZZZZZZZZZZZZZZZZZZZZZZ", "7Z000000000000000000000000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)fixture_say("SET sbx:last-id %s", rows[i].last);
		assert_string_equal(fixture_create().id, rows[i].next);
	}
	(void)fixture_say("SET sbx:last-id 01ARZ3NDEKTSV4RRFFQ69G5FAV");
	struct run run = fixture_create();
	assert_in_range(ulid_time(run.id), run.created_ms, run.created_ms);
}

static void
pages_are_in_id_order_and_end(void **state)
{
	struct run run[7];
	struct run_page page;
	struct err e = ERR_INIT;
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		run[i] = fixture_start();
	page.next[0] = '\0';
	do {
		check_ok(
		    run_list(redis, page.next, 3, NULL, &arena, &page, &e), &e);
		assert_int_equal(page.count, seen < 6 ? 3 : 1);
		for (size_t i = 0; i < page.count; i++)
			assert_string_equal(page.run[i].id, run[seen++].id);
	} while (page.next[0] != '\0');
	assert_int_equal(seen, 7);

	check_ok(run_list(redis, "", 7, NULL, &arena, &page, &e), &e);
	assert_int_equal(page.count, 7);
	assert_string_equal(page.next, "");
	check_ok(run_list(redis, run[6].id, 7, NULL, &arena, &page, &e), &e);
	assert_int_equal(page.count, 0);
}

static void
a_label_finds_its_runs_among_thousands(void **state)
{
	struct run run = fixture_run();
	struct run_page page;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 2100; i++)
		(void)fixture_start();
	run.labels = "{\"team\":\"a:b \\\"c\\\"\",\"other\":\"x\"}";
	check_ok(run_create(redis, &run, 0, &e), &e);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	(void)fixture_start();
	check_ok(
	    run_list(redis, "", 5, "team:a:b \"c\"", &arena, &page, &e), &e);
	assert_int_equal(page.count, 1);
	assert_string_equal(page.run[0].id, run.id);
	assert_string_equal(page.next, "");
	check_ok(run_list(redis, "", 5, "team:a", &arena, &page, &e), &e);
	assert_int_equal(page.count, 0);
}

static void
the_memory_of_all_runs_is_capped(void **state)
{
	struct run first = fixture_start(), second = fixture_start(),
		   third = fixture_run();
	struct err e = ERR_INIT;

	(void)state;
	check_fails(run_create(redis, &third, 191, &e), &e, ERR_CAPACITY);
	assert_non_null(strstr(e.text, "128 of 191 MiB"));
	check_ok(run_create(redis, &third, 192, &e), &e);
	check_ok(run_destroying(redis, first.id, &e), &e);
	check_fails(run_create(redis, &third, 192, &e), &e, ERR_CAPACITY);
	check_ok(run_forget(redis, first.id, &e), &e);
	check_ok(run_create(redis, &third, 192, &e), &e);
	check_ok(run_exited(redis, &second, &e), &e);
	check_ok(run_destroying(redis, second.id, &e), &e);
	check_ok(run_create(redis, &third, 192, &e), &e);
	check_fails(run_create(redis, &third, 192, &e), &e, ERR_CAPACITY);
}

static void
keys_of_the_wrong_type_are_errors_not_crashes(void **state)
{
	struct run run = fixture_start(), got;
	struct run_page page;
	struct run_due due;
	struct err e = ERR_INIT;

	(void)state;
	(void)fixture_say("SET sbx:run:%s text", run.id);
	check_fails(
	    run_get(redis, run.id, true, &arena, &got, &e), &e, ERR_STORE);
	(void)fixture_say("SET sbx:runs text");
	check_fails(run_due(redis, 10, &arena, &due, &e), &e, ERR_STORE);
	check_fails(run_create(redis, &run, 0, &e), &e, ERR_STORE);
	(void)fixture_say("SET sbx:ids text");
	check_fails(
	    run_list(redis, "", 10, NULL, &arena, &page, &e), &e, ERR_STORE);
	(void)fixture_say("DEL sbx:last-id");
	(void)fixture_say("LPUSH sbx:last-id x");
	check_fails(run_create(redis, &run, 0, &e), &e, ERR_STORE);
}

static enum idem_state
ask_key(const struct idem *i, char ret_id[ULID_SIZE])
{
	enum idem_state state = IDEM_OTHER;
	struct err e = ERR_INIT;

	check_ok(idem_begin(redis, i, &state, ret_id, &e), &e);
	return state;
}

/* A creator is stopped, and its key lapses: who asks next makes the run, and
 * the first, which goes on then, makes no second one. */
static void
a_key_that_lapsed_makes_one_run_whoever_comes_back(void **state)
{
	const struct idem stopped = {"lapsed", "d1", "t1"};
	const struct idem next = {"lapsed", "d1", "t2"};
	struct run first = fixture_create(), second = fixture_create();
	struct err e = ERR_INIT;
	char id[ULID_SIZE];
	int64_t left;

	(void)state;
	assert_int_equal(ask_key(&stopped, id), IDEM_MINE);
	assert_int_equal(str_to_int(fixture_say("PTTL sbx:idem:lapsed"), 1,
			     IDEM_MARK_MS, &left),
	    0);
	assert_int_equal(ask_key(&next, id), IDEM_WAIT);
	(void)fixture_say("PEXPIRE sbx:idem:lapsed 0");
	/* Nobody has it: who was stopped may not start, but may ask again. */
	check_fails(
	    run_started(redis, first.id, &stopped, &e), &e, ERR_RUN_ABSENT);
	assert_int_equal(ask_key(&next, id), IDEM_MINE);
	assert_int_equal(ask_key(&stopped, id), IDEM_WAIT);
	check_fails(
	    run_started(redis, first.id, &stopped, &e), &e, ERR_RUN_ABSENT);
	check_ok(idem_free(redis, &stopped, &e), &e); /* not its own: stays */
	check_ok(run_started(redis, second.id, &next, &e), &e);
	check_fails(
	    run_started(redis, first.id, &stopped, &e), &e, ERR_RUN_ABSENT);
	assert_string_equal(fixture_get(first.id).state, "creating");
	assert_int_equal(ask_key(&stopped, id), IDEM_RUN);
	assert_string_equal(id, second.id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(a_record_explains_itself, fixture_empty),
	    cmocka_unit_test_setup(what_was_stored_is_read_back, fixture_empty),
	    cmocka_unit_test_setup(
		the_entries_of_an_allowlist_are_kept_and_replaced,
		fixture_empty),
	    cmocka_unit_test_setup(
		the_subnet_of_a_run_is_kept_and_adopted, fixture_empty),
	    cmocka_unit_test_setup(
		only_the_moves_of_the_table_are_made, fixture_empty),
	    cmocka_unit_test_setup(
		a_creating_run_is_hidden_until_it_started, fixture_empty),
	    cmocka_unit_test_setup(
		a_life_leaves_only_keys_that_lapse, fixture_empty),
	    cmocka_unit_test_setup(
		an_exit_is_kept_with_its_reason, fixture_empty),
	    cmocka_unit_test_setup(
		ids_go_up_though_the_clock_goes_back, fixture_empty),
	    cmocka_unit_test_setup(
		pages_are_in_id_order_and_end, fixture_empty),
	    cmocka_unit_test_setup(
		a_label_finds_its_runs_among_thousands, fixture_empty),
	    cmocka_unit_test_setup(
		the_memory_of_all_runs_is_capped, fixture_empty),
	    cmocka_unit_test_setup(
		keys_of_the_wrong_type_are_errors_not_crashes, fixture_empty),
	    cmocka_unit_test_setup(
		a_key_that_lapsed_makes_one_run_whoever_comes_back,
		fixture_empty),
	};
	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
