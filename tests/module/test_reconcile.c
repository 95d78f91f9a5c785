/* sbx-reaper: making Docker and Redis agree. */
#include "lib/str.h"
#include "reaper_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SOON 20000
#define OLD 61 /* seconds: beyond the grace */

static const char *const ids[] = {"01ARZ3NDEKTSV4RRFFQ69G5FA0",
    "01ARZ3NDEKTSV4RRFFQ69G5FA1", "01ARZ3NDEKTSV4RRFFQ69G5FA2",
    "01ARZ3NDEKTSV4RRFFQ69G5FA3", "01ARZ3NDEKTSV4RRFFQ69G5FA4",
    "01ARZ3NDEKTSV4RRFFQ69G5FA5"};

static bool
has_record(const char *id)
{
	return str_eq(fixture_say("EXISTS sbx:run:%s", id), "1");
}

static bool
has_state(const char *id, const char *wanted)
{
	return str_eq(fixture_say("HGET sbx:run:%s state", id), wanted);
}

/* A run that Redis has forgotten, made so long ago. */
static struct run
forgotten(size_t i, int age_sec)
{
	struct run run = fixture_run();

	fixture_set_id(&run, ids[i]);
	run.created_ms = clock_wall_ms() - age_sec * 1000;
	return run;
}

/* A whole round began and ended after this was called. */
static void
wait_for_a_round(void)
{
	size_t seen = fake_seen(engine, "GET", "/containers/json*");

	wait_until(
	    fake_seen(engine, "GET", "/containers/json*") >= seen + 2, SOON);
}

static void
a_running_container_without_a_record_is_adopted(void **state)
{
	struct run run = forgotten(0, 100);
	struct run frozen = forgotten(1, 100);
	struct listed listed[] = {
	    {.run = &run, .status = "running", .age_sec = OLD},
	    {.run = &frozen, .status = "paused", .age_sec = OLD}};

	(void)state;
	run.labels = "{\"team\":\"blue\"}";
	run.guest_wire = 3;
	reaper_containers(listed, 2);
	reaper_make_directory(run.id, 3600);
	(void)reaper_start();
	wait_until(has_state(run.id, "running"), SOON);
	wait_until(has_state(frozen.id, "running"), SOON);
	struct run got = fixture_get(run.id);
	assert_string_equal(got.image, run.image);
	assert_string_equal(got.network, run.network);
	assert_string_equal(got.user, run.user);
	assert_string_equal(got.labels, run.labels);
	assert_int_equal(got.created_ms, run.created_ms);
	assert_int_equal(got.memory_mb, run.memory_mb);
	assert_int_equal(got.pids, run.pids);
	assert_true(got.expires_ms > clock_wall_ms() + 1700000);
	wait_until(fixture_get(run.id).guest_wire == 3, SOON);
	wait_for_a_round();
	assert_int_equal(fixture_get(frozen.id).guest_wire, 0);
	assert_int_equal(reaper_removals(run.id), 0);
	assert_true(reaper_has_directory(run.id));
}

/* What a snapshot's image put into a volume no label tells: it came later. */
static void
an_adopted_run_keeps_what_is_known_of_its_warm_volume(void **state)
{
	static const char gen[] = "01BX5ZZKBKACTAV9WEVGEMMVS1";
	struct run warm = forgotten(0, 100), seeded = forgotten(1, 100);
	struct listed listed[] = {
	    {.run = &warm, .status = "running", .age_sec = OLD},
	    {.run = &seeded, .status = "running", .age_sec = OLD}};
	char pin[100];

	(void)state;
	warm.warm_repo = seeded.warm_repo = "acme/site";
	warm.warm_path = seeded.warm_path = "/srv/site";
	warm.warm_kind = "overlay";
	warm.warm_gen = gen;
	warm.warm_hash = "c0ffee";
	warm.warm_dir = "web";
	warm.warm_booted = true;
	seeded.warm_kind = "image";
	seeded.warm_gen = "";
	seeded.warm_hash = "0ddba11";
	seeded.warm_dir = ".";
	reaper_make_directory(seeded.id, 100);
	reaper_put_file(seeded.id, "warm", "1 facade app\n");
	reaper_containers(listed, 2);
	(void)reaper_start();
	wait_until(has_state(warm.id, "running"), SOON);
	wait_until(has_state(seeded.id, "running"), SOON);
	struct run got = fixture_get(warm.id);
	assert_string_equal(got.warm_repo, "acme/site");
	assert_string_equal(got.warm_path, "/srv/site");
	assert_string_equal(got.warm_kind, "overlay");
	assert_string_equal(got.warm_gen, gen);
	assert_string_equal(got.warm_hash, "c0ffee");
	assert_string_equal(got.warm_dir, "web");
	assert_true(got.warm_booted);
	(void)snprintf(pin, sizeof(pin), "%s %s", gen, warm.id);
	assert_string_equal(
	    fixture_say("ZRANGE sbx:warm-pins:acme/site 0 -1"), pin);
	got = fixture_get(seeded.id);
	assert_string_equal(got.warm_kind, "image");
	assert_string_equal(got.warm_hash, "facade");
	assert_string_equal(got.warm_dir, "app");
	assert_true(got.warm_booted);
}

static void
an_ended_container_without_a_record_is_shown_as_exited(void **state)
{
	struct run run = forgotten(0, 100);
	struct listed listed = {
	    .run = &run, .status = "exited", .age_sec = OLD};

	(void)state;
	reaper_containers(&listed, 1);
	reaper_inspect(&run, "exited", 137, true);
	(void)reaper_start();
	wait_until(has_state(run.id, "exited"), SOON);
	struct run got = fixture_get(run.id);
	assert_int_equal(got.exit_code, 137);
	assert_true(got.oom_killed);
	assert_int_equal(reaper_removals(run.id), 0);
}

static void
what_cannot_be_a_run_is_removed(void **state)
{
	struct run never = forgotten(0, 100), expired = forgotten(1, 1801),
		   partial = forgotten(2, 100), unnamed = forgotten(3, 100),
		   dead = forgotten(4, 100), young = forgotten(5, 100);
	const struct listed listed[] = {
	    {.run = &young, .status = "created", .age_sec = 30},
	    {.run = &never, .status = "created", .age_sec = OLD},
	    {.run = &expired, .status = "running", .age_sec = OLD},
	    {.run = &partial,
		.status = "running",
		.age_sec = OLD,
		.without = "memory"},
	    {.run = &unnamed,
		.status = "running",
		.age_sec = OLD,
		.run_label = "nonsense"},
	    {.run = &dead, .status = "dead", .age_sec = OLD, .without = "run"}};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		reaper_inspect(listed[i].run, "running", 0, false);
	reaper_containers(listed, 6);
	(void)reaper_start();
	for (size_t i = 1; i < 6; i++)
		wait_until(reaper_removals(listed[i].run->id) > 0, SOON);
	assert_int_equal(reaper_removals(young.id), 0);
	reaper_containers(listed, 1);
	wait_until(str_eq(fixture_say("EXISTS sbx:runs"), "0"), SOON);
}

static void
a_run_that_was_destroyed_is_not_adopted(void **state)
{
	struct run back = fixture_start(), gone = fixture_start();
	const struct listed listed[] = {
	    {.run = &back, .status = "running", .age_sec = OLD},
	    {.run = &gone, .status = "running", .age_sec = OLD}};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *id = listed[i].run->id;

		check_ok(run_destroying(redis, id, &e), &e);
		check_ok(run_forget(redis, id, &e), &e);
	}
	/* One is there in truth: its creator woke up late. The other is only
	 * in a list that was made before its removal. */
	reaper_containers(listed, 2);
	reaper_inspect(&back, "running", 0, false);
	(void)reaper_start();
	wait_until(reaper_removals(back.id) > 0, SOON);
	wait_for_a_round();
	assert_int_equal(reaper_removals(gone.id), 0);
	assert_false(has_record(gone.id));
}

static void
a_run_whose_container_ended_becomes_exited(void **state)
{
	struct run run = fixture_start(), killed = fixture_start();
	const struct listed listed[] = {{.run = &run, .status = "exited"},
	    {.run = &killed, .status = "exited"}};

	(void)state;
	reaper_containers(listed, 2);
	reaper_inspect(&run, "exited", 3, false);
	reaper_inspect(&killed, "exited", 137, true);
	(void)reaper_start();
	wait_until(has_state(run.id, "exited"), SOON);
	wait_until(has_state(killed.id, "exited"), SOON);
	struct run got = fixture_get(killed.id);
	assert_true(got.oom_killed);
	assert_string_equal(got.exit_reason, "out-of-memory");
	assert_int_equal(got.exited_ms, 1767323045678);
	assert_int_equal(fixture_get(run.id).exit_code, 3);
	wait_for_a_round();
	assert_true(has_state(run.id, "exited"));
}

static void
a_record_whose_container_is_gone_goes_too(void **state)
{
	struct run run = fixture_start(), ended = fixture_start(),
		   creating = fixture_create(), unlisted = fixture_start();
	struct err e = ERR_INIT;

	(void)state;
	check_ok(run_exited(redis, &ended, &e), &e);
	reaper_make_directory(run.id, 0);
	/* Made after the list: it is there when looked at by name. */
	reaper_inspect(&unlisted, "running", 0, false);
	(void)reaper_start();
	wait_until(!has_record(run.id), SOON);
	wait_until(!has_record(ended.id), SOON);
	assert_false(reaper_has_directory(run.id));
	wait_for_a_round();
	assert_true(has_state(creating.id, "creating"));
	assert_true(has_state(unlisted.id, "running"));
}

static void
a_directory_of_no_run_is_removed(void **state)
{
	struct run run = fixture_create();

	(void)state;
	reaper_make_directory(ids[0], OLD);
	reaper_make_directory(ids[1], 30);
	reaper_make_directory(run.id, OLD);
	reaper_make_directory("not-an-id", OLD);
	(void)reaper_start();
	wait_until(!reaper_has_directory(ids[0]), SOON);
	wait_until(!has_record(ids[0]), SOON);
	wait_for_a_round();
	assert_true(reaper_has_directory(ids[1]));
	assert_true(reaper_has_directory(run.id));
	assert_true(reaper_has_directory("not-an-id"));
}

/* As GET /volumes tells of the guest's volume of a run. */
static void
add_volume(struct buf *to, const char *id)
{
	buf_addf(to,
	    "%s{\"Name\":\"v-%s\",\"Mountpoint\":\"/v\",\"Labels\":{"
	    "\"teploy.sandbox.run\":\"%s\"}}",
	    to->size > 0 ? "," : "{\"Volumes\":[", id, id);
}

static void
a_volume_of_no_run_is_removed(void **state)
{
	struct run run = fixture_create();
	BUF_AUTO body = BUF_INIT(4096);
	char young[ULID_SIZE], path[64];

	(void)state;
	ulid_format(
	    clock_wall_ms(), (const unsigned char *)"0123456789", young);
	add_volume(&body, ids[0]);
	add_volume(&body, young);
	add_volume(&body, run.id);
	buf_adds(&body, "]}");
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/volumes?*",
			    .status = 200,
			    .body = body.data});
	pid_t pid = reaper_start();
	(void)snprintf(path, sizeof(path), "/volumes/v-%s", ids[0]);
	wait_until(fake_seen(engine, "DELETE", path) > 0, SOON);
	wait_for_a_round();
	(void)snprintf(path, sizeof(path), "/volumes/v-%s", young);
	assert_int_equal(fake_seen(engine, "DELETE", path), 0);
	(void)snprintf(path, sizeof(path), "/volumes/v-%s", run.id);
	assert_int_equal(fake_seen(engine, "DELETE", path), 0);
	/* The rule points into body: nobody may ask any more. */
	assert_int_equal(reaper_end(pid, SIGTERM), 0);
}

static void
add_network(struct buf *to, const char *id)
{
	buf_addf(to,
	    "%s{\"Name\":\"n-%s\",\"Labels\":{\"teploy.sandbox.run\":\"%s\"}}",
	    to->size > 0 ? "," : "[", id, id);
}

static void
a_network_of_no_run_is_removed(void **state)
{
	struct run run = fixture_create();
	BUF_AUTO body = BUF_INIT(4096);
	char path[64];

	(void)state;
	add_network(&body, run.id);
	add_network(&body, ids[0]);
	buf_adds(&body, "]");
	fake_on(engine, (struct fake_rule){.method = "GET",
			    .path = "/networks?*",
			    .status = 200,
			    .body = body.data});
	pid_t pid = reaper_start();
	(void)snprintf(path, sizeof(path), "/networks/n-%s", ids[0]);
	wait_until(fake_seen(engine, "DELETE", path) > 0, SOON);
	wait_for_a_round();
	(void)snprintf(path, sizeof(path), "/networks/n-%s", run.id);
	assert_int_equal(fake_seen(engine, "DELETE", path), 0);
	assert_int_equal(reaper_end(pid, SIGTERM), 0);
}

static void
a_flushed_redis_loses_no_run(void **state)
{
	struct run run = fixture_start();
	struct listed listed = {
	    .run = &run, .status = "running", .age_sec = OLD};

	(void)state;
	reaper_containers(&listed, 1);
	(void)reaper_start();
	wait_until(reaper_logged("office.taken"), SOON);
	(void)fixture_say("FLUSHALL");
	wait_until(has_state(run.id, "running"), SOON);
	wait_until(reaper_logged("\"adopted\":1"), SOON);
}

static void
the_last_known_deadline_outranks_the_labels(void **state)
{
	struct run run = fixture_start();
	struct listed listed = {
	    .run = &run, .status = "running", .age_sec = OLD};

	(void)state;
	/* Its labels say that it ended an hour ago; Redis knew better. */
	run.created_ms -= 5400000;
	reaper_containers(&listed, 1);
	pid_t pid = reaper_start();
	wait_for_a_round();
	(void)fixture_say("FLUSHALL");
	wait_until(has_state(run.id, "running"), SOON);
	/* And the next reaper knows of it, too. */
	wait_for_a_round();
	(void)reaper_end(pid, SIGKILL);
	(void)fixture_say("FLUSHALL");
	(void)reaper_start();
	wait_until(has_state(run.id, "running"), SOON);
	assert_int_equal(reaper_removals(run.id), 0);
}

/* Redis is flushed while a run with an extended deadline is in its grace. */
static void
a_deadline_is_remembered_through_the_grace(void **state)
{
	struct run run = fixture_start();
	struct listed listed = {
	    .run = &run, .status = "running", .age_sec = 10};

	(void)state;
	run.created_ms -= 5400000;
	reaper_containers(&listed, 1);
	(void)reaper_start();
	wait_for_a_round();
	(void)fixture_say("FLUSHALL");
	wait_for_a_round();
	assert_false(has_record(run.id));
	listed.age_sec = OLD;
	reaper_containers(&listed, 1);
	wait_until(has_state(run.id, "running"), SOON);
	assert_int_equal(reaper_removals(run.id), 0);
}

static void
one_item_that_fails_does_not_end_the_round(void **state)
{
	struct run bad = forgotten(0, 100), good = forgotten(1, 100);
	const struct listed listed[] = {{.run = &bad,
					    .status = "running",
					    .age_sec = OLD,
					    .run_label = "nonsense"},
	    {.run = &good, .status = "running", .age_sec = OLD}};

	(void)state;
	fake_on(engine, (struct fake_rule){.method = "DELETE",
			    .path = "/containers/*",
			    .status = 500,
			    .body = "{\"message\":\"device is busy\"}"});
	reaper_containers(listed, 2);
	(void)reaper_start();
	wait_until(has_state(good.id, "running"), SOON);
	wait_until(reaper_logged("\"failed\":1"), SOON);
	assert_true(reaper_logged("device is busy"));
}

/* Its container went, and its record. Lets no back-off pass. */
static bool
was_removed(const char *id)
{
	(void)fixture_say("ZADD sbx:runs XX 1000 %s", id);
	return reaper_removals(id) > 0 && !has_record(id);
}

/* Whatever call of the engine fails, and however: in the end the stray is gone,
 * the live run lives, and the reaper too. */
static void
any_failing_call_heals(void **state)
{
	static const enum fake_end ends[] = {FAKE_CLOSE, FAKE_RESET};
	struct run stray = forgotten(0, 100), live = forgotten(1, 100);
	const struct listed listed[] = {
	    {.run = &stray, .status = "created", .age_sec = OLD},
	    {.run = &live, .status = "running", .age_sec = OLD}};

	for (size_t i = 0; i < 2; i++)
		for (size_t nth = 1; nth <= 6; nth++) {
			if (i + nth > 1) {
				(void)reaper_test_close(state);
				(void)reaper_test_open(state);
			}
			reaper_inspect(&stray, "created", 0, false);
			reaper_containers(listed, 2);
			fake_fail_nth(engine, nth, ends[i]);
			pid_t pid = reaper_start();
			wait_until(was_removed(stray.id), SOON);
			wait_until(has_state(live.id, "running"), SOON);
			assert_int_equal(reaper_removals(live.id), 0);
			assert_int_equal(reaper_end(pid, SIGTERM), 0);
		}
}

int
main(void)
{
#define TEST(name)                       \
	cmocka_unit_test_setup_teardown( \
	    name, reaper_test_open, reaper_test_close)
	const struct CMUnitTest tests[] = {
	    TEST(a_running_container_without_a_record_is_adopted),
	    TEST(an_adopted_run_keeps_what_is_known_of_its_warm_volume),
	    TEST(an_ended_container_without_a_record_is_shown_as_exited),
	    TEST(what_cannot_be_a_run_is_removed),
	    TEST(a_run_that_was_destroyed_is_not_adopted),
	    TEST(a_run_whose_container_ended_becomes_exited),
	    TEST(a_record_whose_container_is_gone_goes_too),
	    TEST(a_directory_of_no_run_is_removed),
	    TEST(a_volume_of_no_run_is_removed),
	    TEST(a_network_of_no_run_is_removed),
	    TEST(a_flushed_redis_loses_no_run),
	    TEST(the_last_known_deadline_outranks_the_labels),
	    TEST(a_deadline_is_remembered_through_the_grace),
	    TEST(one_item_that_fails_does_not_end_the_round),
	    TEST(any_failing_call_heals),
	};

	return cmocka_run_group_tests(
	    tests, reaper_group_open, reaper_group_close);
}
