/* sbx-reaper: deadlines, and its office. */
#include "lib/str.h"
#include "reaper_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON 20000 /* ms: far beyond what anything here takes */

static bool
has_record(const char *id)
{
	return str_eq(fixture_say("EXISTS sbx:run:%s", id), "1");
}

static struct run
start_with_ttl(int64_t ttl_sec)
{
	struct run run = fixture_run();
	struct err e = ERR_INIT;

	run.ttl_sec = ttl_sec;
	check_ok(run_create(redis, &run, 0, &e), &e);
	check_ok(run_started(redis, run.id, NULL, &e), &e);
	return run;
}

/* A container of it is there, so that reconciliation leaves it alone. */
static void
with_container(const struct run *run)
{
	struct listed listed = {.run = run, .status = "running"};

	reaper_containers(&listed, 1);
	reaper_inspect(run, "running", 0, false);
}

static void
a_run_goes_at_its_deadline_and_not_before(void **state)
{
	struct run run = start_with_ttl(2);
	struct err e = ERR_INIT;
	int64_t now;

	(void)state;
	with_container(&run);
	reaper_make_directory(run.id, 0);
	(void)reaper_start();
	wait_until(reaper_removals(run.id) > 0, SOON);
	check_ok(store_now(redis, &now, &e), &e);
	assert_true(now >= run.expires_ms);
	wait_until(!has_record(run.id), SOON);
	assert_false(reaper_has_directory(run.id));
	assert_string_equal(
	    fixture_say("EXISTS sbx:gone:%s sbx:runs sbx:ids", run.id), "1");
	wait_until(reaper_logged("\"event\":\"run.removed\""), SOON);
	assert_true(reaper_logged("\"was\":\"running\""));
}

static void
a_run_before_its_deadline_is_left_alone(void **state)
{
	struct run live = start_with_ttl(600), old = fixture_start();

	(void)state;
	with_container(&live);
	fixture_expire(old.id);
	(void)reaper_start();
	wait_until(!has_record(old.id), SOON);
	assert_int_equal(reaper_removals(live.id), 0);
	assert_true(has_record(live.id));
}

static void
a_creation_whose_creator_died_is_undone(void **state)
{
	struct run run = fixture_create();

	(void)state;
	(void)fixture_say("ZADD sbx:runs 1000 %s", run.id);
	(void)reaper_start();
	wait_until(!has_record(run.id), SOON);
	assert_int_equal(reaper_removals(run.id), 1);
	wait_until(reaper_logged("\"was\":\"creating\""), SOON);
}

static void
a_removal_that_docker_refuses_is_tried_again(void **state)
{
	struct run run = fixture_start();

	(void)state;
	fake_on(engine, (struct fake_rule){.method = "DELETE",
			    .path = "/containers/*",
			    .status = 500,
			    .body = "{\"message\":\"device is busy\"}",
			    .times = 1});
	fixture_expire(run.id);
	(void)reaper_start();
	wait_until(reaper_logged("run.removal_failed"), SOON);
	assert_true(reaper_logged("device is busy"));
	assert_string_equal(fixture_get(run.id).state, "destroying");
	(void)fixture_say("ZADD sbx:runs 1000 %s", run.id);
	wait_until(!has_record(run.id), SOON);
	assert_int_equal(reaper_removals(run.id), 2);
}

static void
removals_that_hang_do_not_hold_up_others(void **state)
{
	struct run stuck[7], other[20];
	char path[128];

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		stuck[i] = fixture_start();
		fixture_expire(stuck[i].id);
	}
	fake_on(engine, (struct fake_rule){.method = "DELETE",
			    .path = "/containers/*",
			    .times = 7,
			    .end = FAKE_STALL,
			    .bytes = 1,
			    .status = 204});
	(void)reaper_start();
	(void)snprintf(path, sizeof(path), "/containers/*");
	wait_until(fake_seen(engine, "DELETE", path) == 7, SOON);
	for (size_t i = 0; i < 20; i++) {
		other[i] = fixture_start();
		fixture_expire(other[i].id);
	}
	for (size_t i = 0; i < 20; i++)
		wait_until(!has_record(other[i].id), SOON);
	assert_true(has_record(stuck[0].id));
}

static void
hundreds_of_runs_go_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++)
		fixture_expire(fixture_start().id);
	(void)reaper_start();
	wait_until(str_eq(fixture_say("EXISTS sbx:runs"), "0"), SOON);
	/* Reconciliation may ask for one, too: its container is missing. */
	assert_true(
	    fake_seen(engine, "DELETE", "/containers/teploy-sbx-*") >= 300);
}

static void
deadlines_hold_while_redis_is_away(void **state)
{
	struct run due = start_with_ttl(4), live = start_with_ttl(600);

	(void)state;
	const struct listed listed[] = {{.run = &due, .status = "running"},
	    {.run = &live, .status = "running"}};
	reaper_containers(listed, 2);
	reaper_make_directory(due.id, 0);
	(void)reaper_start();
	wait_until(reaper_logged("office.taken"), SOON);
	/* A list is asked for after the first look at the deadlines. */
	wait_until(fake_seen(engine, "GET", "/containers/json*") > 2, SOON);
	redis_fixture_kill(&fixture);
	wait_until(reaper_removals(due.id) == 1, SOON);
	wait_until(!reaper_has_directory(due.id), SOON);
	assert_int_equal(reaper_removals(live.id), 0);
	redis_fixture_start(&fixture);
	wait_until(!has_record(due.id), SOON);
	assert_true(has_record(live.id));
}

static void
no_container_outlives_a_day_without_redis(void **state)
{
	struct run old = fixture_run(), young = fixture_run();

	(void)state;
	fixture_set_id(&old, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
	fixture_set_id(&young, "01ARZ3NDEKTSV4RRFFQ69G5FAW");
	old.created_ms = clock_wall_ms() - 86401000;
	young.created_ms = clock_wall_ms() - 86000000;
	const struct listed listed[] = {{.run = &old, .status = "running"},
	    {.run = &young, .status = "running"}};
	reaper_containers(listed, 2);
	redis_fixture_kill(&fixture);
	pid_t pid = reaper_start();
	wait_until(reaper_removals(old.id) > 0, SOON);
	assert_int_equal(reaper_removals(young.id), 0);
	assert_int_equal(reaper_end(pid, SIGTERM), 0);
	redis_fixture_start(&fixture);
}

static void
an_engine_that_is_away_is_waited_for(void **state)
{
	struct run run = fixture_start();

	(void)state;
	fake_down(engine);
	fixture_expire(run.id);
	(void)reaper_start();
	wait_until(reaper_logged("sweep.failed"), SOON);
	wait_until(reaper_logged("run.removal_failed"), SOON);
	fake_up(engine);
	(void)fixture_say("ZADD sbx:runs 1000 %s", run.id);
	wait_until(!has_record(run.id), SOON);
	wait_until(reaper_logged("sweep.recovered"), SOON);
}

static void
a_standby_takes_over_from_one_that_was_killed(void **state)
{
	char holder[64];

	(void)state;
	pid_t first = reaper_start();
	wait_until(reaper_logged("office.taken"), SOON);
	(void)reaper_start();
	(void)snprintf(holder, sizeof(holder), ":%d:", (int)first);
	assert_non_null(strstr(fixture_say("GET sbx:reaper"), holder));
	assert_int_equal(reaper_end(first, SIGKILL), 128 + SIGKILL);
	struct run run = fixture_start();
	fixture_expire(run.id);
	wait_until(!has_record(run.id), SOON);
	assert_null(strstr(fixture_say("GET sbx:reaper"), holder));
}

static void
only_the_holder_of_the_office_acts(void **state)
{
	struct run run = fixture_start();

	(void)state;
	fixture_expire(run.id);
	(void)fixture_say("SET sbx:reaper 1,somebody");
	pid_t pid = reaper_start();
	wait_until(reaper_logged("office.awaited"), SOON);
	assert_int_equal(reaper_end(pid, SIGTERM), 0);
	assert_int_equal(reaper_removals(run.id), 0);
	assert_string_equal(fixture_say("GET sbx:reaper"), "1,somebody");
}

static void
a_reaper_that_is_told_to_stop_leaves_its_office(void **state)
{
	(void)state;
	pid_t pid = reaper_start();
	wait_until(reaper_logged("office.taken"), SOON);
	assert_int_equal(reaper_end(pid, SIGTERM), 0);
	assert_string_equal(fixture_say("EXISTS sbx:reaper"), "0");
}

static void
a_killed_redis_ends_no_reaper(void **state)
{
	struct run run = fixture_start();

	(void)state;
	pid_t pid = reaper_start();
	for (int i = 0; i < 3; i++) {
		wait_until(str_eq(fixture_say("EXISTS sbx:reaper"), "1"), SOON);
		redis_fixture_kill(&fixture);
		redis_fixture_start(&fixture);
		(void)fixture_say("DEL sbx:reaper");
	}
	fixture_expire(run.id);
	wait_until(!has_record(run.id), SOON);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
}

int
main(void)
{
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, reaper_test_open, reaper_test_close)
	const struct CMUnitTest tests[] = {
	    TEST(a_run_goes_at_its_deadline_and_not_before),
	    TEST(a_run_before_its_deadline_is_left_alone),
	    TEST(a_creation_whose_creator_died_is_undone),
	    TEST(a_removal_that_docker_refuses_is_tried_again),
	    TEST(removals_that_hang_do_not_hold_up_others),
	    TEST(hundreds_of_runs_go_at_once),
	    TEST(deadlines_hold_while_redis_is_away),
	    TEST(no_container_outlives_a_day_without_redis),
	    TEST(an_engine_that_is_away_is_waited_for),
	    TEST(a_standby_takes_over_from_one_that_was_killed),
	    TEST(only_the_holder_of_the_office_acts),
	    TEST(a_reaper_that_is_told_to_stop_leaves_its_office),
	    TEST(a_killed_redis_ends_no_reaper),
	};

	return cmocka_run_group_tests(
	    tests, reaper_group_open, reaper_group_close);
}
