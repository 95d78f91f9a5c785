/* run/hold with a real Redis and a scripted engine. */
#include "../fake/engine.h"
#include "../wait.h"
#include "run/hold.h"
#include "run_fixture.h"
#include "store/held.h"

#include <stdatomic.h>
#include <string.h>

#define END_MS 30000

static struct fake *fake;
static struct run_ctx ctx;
static struct run run;

static int
setup(void **state)
{
	(void)fixture_empty(state);
	fake = fake_new();
	ctx = (struct run_ctx){
	    .redis = redis, .engine = engine_new(fake_socket(fake))};
	run = fixture_start();
	run = fixture_get(run.id);
	fake_on(fake,
	    (struct fake_rule){
		.method = "POST", .path = "/containers/*pause", .status = 204});
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	engine_free(ctx.engine);
	fake_free(fake);
	return 0;
}

static size_t
paused(void)
{
	return fake_seen(fake, "POST", "/containers/*/pause");
}

static size_t
resumed(void)
{
	return fake_seen(fake, "POST", "/containers/*/unpause");
}

/* What a call that arrives now finds, waiting not at all. */
static int
arrive(struct err *e)
{
	struct run now = fixture_get(run.id);

	return hold_await(&ctx, &now, 0, e);
}

static bool
stands(void)
{
	struct run now = fixture_get(run.id);

	return hold_stands(&now);
}

/* -- the holder ------------------------------------------------------------ */

static void
one_has_it_at_a_time(void **state)
{
	struct hold one, two;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &one, &e), &e);
	check_fails(
	    hold_take(&ctx, &run, "warm-commit", &two, &e), &e, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "A snapshot of run"));
	hold_release(&one);
	hold_release(&one);
	check_ok(hold_take(&ctx, &run, "warm-commit", &two, &e), &e);
	hold_release(&two);
	assert_int_equal(paused() + resumed(), 0);
	assert_string_equal(fixture_get(run.id).hold, "");
}

static void
only_what_is_frozen_is_waited_for(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(arrive(&e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	assert_int_equal(paused(), 1);
	check_fails(arrive(&e), &e, ERR_RUN_PAUSED);
	assert_non_null(strstr(e.text, "a snapshot of it"));
	hold_thaw(&h);
	assert_int_equal(resumed(), 1);
	check_ok(arrive(&e), &e);
	hold_thaw(&h);
	hold_release(&h);
	assert_int_equal(resumed(), 1);
}

/* runc gives up on what is in the kernel for long: that passes. */
static void
what_does_not_freeze_at_once_is_tried_again(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	fake_on(fake,
	    (struct fake_rule){.method = "POST",
		.path = "/containers/*/pause",
		.times = 3,
		.status = 500,
		.body = "{\"message\":\"Cannot pause container x: OCI runtime "
			"pause failed: unable to freeze: unknown\"}"});
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	assert_int_equal(paused(), 4);
	hold_release(&h);
	assert_int_equal(resumed(), 1);
}

static void
a_holder_that_died_is_followed_once_it_lapsed(void **state)
{
	struct err e = ERR_INIT;
	struct hold dead, next;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &dead, &e), &e);
	check_ok(hold_freeze(&dead, &e), &e);
	fixture_say("HSET sbx:run:%s holdUntil 1", run.id);
	check_ok(arrive(&e), &e); /* nobody waits for it */
	check_ok(hold_take(&ctx, &run, "warm-commit", &next, &e), &e);
	check_ok(hold_freeze(&next, &e), &e);
	/* It comes to, and is told; what the other paused stays so. */
	check_fails(hold_check(&dead, &e), &e, ERR_RUN_NOT_RUNNING);
	assert_true(hold_lost(&dead));
	hold_release(&dead);
	assert_int_equal(resumed(), 0);
	check_fails(arrive(&e), &e, ERR_RUN_PAUSED);
	hold_release(&next);
	assert_int_equal(resumed(), 1);
}

static void
a_holder_notices_that_the_run_goes(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	assert_false(hold_lost(&h));
	check_ok(run_destroying(redis, run.id, &e), &e);
	wait_until(hold_lost(&h), END_MS);
	hold_release(&h);
	assert_int_equal(resumed(), 0);
	check_fails(
	    hold_take(&ctx, &run, "snapshot", &h, &e), &e, ERR_RUN_NOT_RUNNING);
	check_ok(run_forget(redis, run.id, &e), &e);
	check_fails(
	    hold_take(&ctx, &run, "snapshot", &h, &e), &e, ERR_RUN_ABSENT);
}

static void
a_holder_notices_that_redis_has_forgotten_it(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	fixture_say("FLUSHALL");
	wait_until(hold_lost(&h), END_MS);
	hold_release(&h);
	assert_string_equal(fixture_say("KEYS *"), "");
}

static void
a_hold_is_kept_while_it_is_asked_about(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	fixture_say("HSET sbx:run:%s holdUntil 1", run.id);
	wait_until(!hold_lost(&h) && stands(), END_MS);
	hold_release(&h);
}

static void
a_run_that_has_exited_is_not_paused(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	run.exit_code = 137;
	run.exited_ms = 1;
	check_ok(run_exited(redis, &run, &e), &e);
	run.state = "exited";
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	hold_release(&h);
	assert_int_equal(paused() + resumed(), 0);
}

static void
what_cannot_be_paused_is_told_and_let_go(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	fake_on(fake, (struct fake_rule){.path = "/containers/*/pause",
			  .status = 409,
			  .body = "{\"message\":\"Container x is not "
				  "running\"}"});
	check_fails(hold_freeze(&h, &e), &e, ERR_RUN_NOT_RUNNING);
	hold_release(&h);
	check_ok(arrive(&e), &e);
	assert_string_equal(fixture_get(run.id).hold, "");
}

/* -- who waits ------------------------------------------------------------- */

static bool
left(void *arg)
{
	return atomic_fetch_add((atomic_int *)arg, 1) >= 2;
}

static void
who_waits_leaves_when_its_client_does(void **state)
{
	struct err e = ERR_INIT;
	atomic_int asked = 0;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	struct run now = fixture_get(run.id);
	ctx.gone = left;
	ctx.arg = &asked;
	check_fails(hold_await(&ctx, &now, clock_mono_ms() + END_MS, &e), &e,
	    ERR_GONE_AWAY);
	hold_release(&h);
}

static int begun, ended;

static int
refuse_wait(void *arg, struct err *e)
{
	(void)arg;
	begun++;
	return begun > 1 ? err_set(e, ERR_BUSY, "full") : 0;
}

static void
count_end(void *arg)
{
	(void)arg;
	ended++;
}

static void
no_more_wait_than_may(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	begun = ended = 0;
	ctx.wait_begin = refuse_wait;
	ctx.wait_end = count_end;
	check_ok(arrive(&e), &e); /* no wait */
	assert_int_equal(begun, 0);
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	check_fails(arrive(&e), &e, ERR_RUN_PAUSED);
	assert_int_equal(begun, 1);
	assert_int_equal(ended, 1);
	check_fails(arrive(&e), &e, ERR_BUSY);
	assert_int_equal(ended, 1);
	hold_release(&h);
}

static void
who_waits_for_a_run_that_ends_is_told(void **state)
{
	struct err e = ERR_INIT;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	struct run was = fixture_get(run.id);
	check_ok(run_destroying(redis, run.id, &e), &e);
	check_fails(hold_await(&ctx, &was, 0, &e), &e, ERR_RUN_NOT_RUNNING);
	check_ok(run_forget(redis, run.id, &e), &e);
	check_fails(hold_await(&ctx, &was, 0, &e), &e, ERR_RUN_ABSENT);
	hold_release(&h);
}

/* -- the reaper ------------------------------------------------------------ */

static void
what_nobody_holds_is_resumed_and_nothing_else(void **state)
{
	struct err e = ERR_INIT;
	bool done = true;
	struct hold h;

	(void)state;
	check_ok(hold_take(&ctx, &run, "snapshot", &h, &e), &e);
	check_ok(hold_freeze(&h, &e), &e);
	check_ok(hold_mend(&ctx, &run, &done, &e), &e);
	assert_false(done);
	assert_int_equal(resumed(), 0);
	fixture_say("HSET sbx:run:%s holdUntil 1", run.id);
	check_ok(hold_mend(&ctx, &run, &done, &e), &e);
	assert_true(done);
	assert_int_equal(resumed(), 1);
	assert_string_equal(fixture_get(run.id).hold, "");
	hold_release(&h);
	assert_int_equal(resumed(), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_has_it_at_a_time),
	    TEST(only_what_is_frozen_is_waited_for),
	    TEST(what_does_not_freeze_at_once_is_tried_again),
	    TEST(a_holder_that_died_is_followed_once_it_lapsed),
	    TEST(a_holder_notices_that_the_run_goes),
	    TEST(a_holder_notices_that_redis_has_forgotten_it),
	    TEST(a_hold_is_kept_while_it_is_asked_about),
	    TEST(a_run_that_has_exited_is_not_paused),
	    TEST(what_cannot_be_paused_is_told_and_let_go),
	    TEST(who_waits_leaves_when_its_client_does),
	    TEST(no_more_wait_than_may),
	    TEST(who_waits_for_a_run_that_ends_is_told),
	    TEST(what_nobody_holds_is_resumed_and_nothing_else),
	};

	return cmocka_run_group_tests_name(
	    "hold", tests, fixture_open, fixture_close);
}
