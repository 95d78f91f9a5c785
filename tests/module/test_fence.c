/*
 * A grant against operations that were admitted before it (DESIGN 2): Redis
 * decides, and the run's init sees to it. Needs root.
 */
#include "../wait.h"
#include "guest/object.h"
#include "pid1_fixture.h"
#include "run_fixture.h"
#include "store/lease.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define REFUSED 42
#define BACKGROUND "01ARZ3NDEKTSV4RRFFQ69G5FAW"

/* Who holds the run: nobody at first. */
static struct credential holder = {"", 0};

static struct pid1 init;
static struct guest_place place;

static int
open_init(void **state)
{
	(void)fixture_empty(state);
	holder = (struct credential){"", 0};
	if (geteuid() != 0)
		return 0;
	init = pid1_root();
	pid1_put_shell(&init);
	pid1_start_ready(&init, "");
	place = (struct guest_place){"", init.root, init.pid, WIRE_VERSION};
	return 0;
}

static int
close_init(void **state)
{
	(void)state;
	if (geteuid() == 0)
		pid1_finish(&init);
	return 0;
}

/* -- what a worker may be about to do ------------------------------------- */

static int
do_exec(uint64_t generation, struct err *e)
{
	static const char *const env[] = {NULL};
	const struct wire_exec x = {.script = "echo hi",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .generation = generation};
	const struct guest_order order = {.exec = &x};

	return guest_exec(NULL, &place, &order, e) != NULL ? 0 : -1;
}

static int
do_signal(uint64_t generation, struct err *e)
{
	const struct wire_act act = {.what = WIRE_ACT_SIGNAL,
	    .id = BACKGROUND,
	    .signal = SIGCONT,
	    .generation = generation};

	return guest_act(NULL, &place, &act, e);
}

static int
do_end(uint64_t generation, struct err *e)
{
	const struct wire_act act = {
	    .what = WIRE_ACT_END, .id = BACKGROUND, .generation = generation};

	return guest_act(NULL, &place, &act, e);
}

static int
do_input(uint64_t generation, struct err *e)
{
	const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = BACKGROUND, .generation = generation};
	struct guest *g = guest_input(NULL, &place, &act, e);

	if (g == NULL || guest_feed(g, "hi", 2, -1, PATIENCE_MS, e) != 0)
		return -1;
	return guest_feed_end(g, -1, PATIENCE_MS, e);
}

typedef int do_fn(uint64_t generation, struct err *e);

/* A worker that is stopped after that was admitted, before it starts. */
static _Noreturn void
be_worker(const char *id, do_fn *act)
{
	struct err e = ERR_INIT;
	struct redis *r = redis_new(fixture.url, &e);
	struct run run;
	struct op op = {.id = "01ARZ3NDEKTSV4RRFFQ69G5FAV", .window_ms = 30000};

	memcpy(op.run, id, ULID_SIZE);
	if (r == NULL || op_begin(r, &op, &holder, &arena, &run, &e) != 0)
		_exit(1);
	(void)raise(SIGSTOP);
	if (act((uint64_t)op.generation, &e) == 0)
		_exit(0);
	_exit(e.kind == ERR_LEASE_SUPERSEDED ? REFUSED : 2);
}

/* Grant, as after the mark of a worker that is stopped has lapsed. */
static struct lease
grant(const char *id)
{
	struct err e = ERR_INIT;
	struct lease lease;

	(void)fixture_say("DEL sbx:inflight:%s", id);
	check_ok(lease_acquire(redis, id, "anna", 60000, "", &lease, &e), &e);
	holder = (struct credential){"anna", lease.generation};
	return lease;
}

/* How a worker ends that was stopped while somebody was granted the run, or
 * while nobody was. */
static int
end_of_worker(const struct run *run, do_fn *act, bool granted)
{
	struct err e = ERR_INIT;
	uint64_t known;
	bool done = false;
	int status;
	pid_t worker = fork();

	if (worker == 0)
		be_worker(run->id, act);
	assert_int_equal(waitpid(worker, &status, WUNTRACED), worker);
	assert_true(WIFSTOPPED(status));
	if (granted) {
		struct lease lease = grant(run->id);

		check_ok(guest_fence(NULL, &place, (uint64_t)lease.generation,
			     &done, &known, &e),
		    &e);
		assert_true(done);
	}
	(void)kill(worker, SIGCONT);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	return WEXITSTATUS(status);
}

static void
an_exec_admitted_before_a_grant_is_refused_after_it(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	struct run run = fixture_start();
	assert_int_equal(end_of_worker(&run, do_exec, false), 0);
	assert_int_equal(end_of_worker(&run, do_exec, true), REFUSED);
}

static void
count_one(void *arg, const struct wire_info *info)
{
	if (!info->ended && info->detached)
		++*(int *)arg;
}

static void
acts_admitted_before_a_grant_are_refused_after_it(void **state)
{
	static do_fn *const acts[] = {do_signal, do_input, do_end};
	static const char *const env[] = {NULL};
	const struct wire_exec x = {.script = "while read x; do :; done",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .id = BACKGROUND,
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	const struct guest_order order = {.exec = &x};
	struct err e = ERR_INIT;
	int left = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	struct guest *g = guest_exec(NULL, &place, &order, &e);
	if (g == NULL)
		fail_msg("%s", e.text);
	check_ok(guest_detach(g, PATIENCE_MS, &e), &e);
	guest_free(g);
	struct run run = fixture_start();
	for (size_t i = 0; i < 3; i++) {
		if (acts[i] != do_end)
			assert_int_equal(
			    end_of_worker(&run, acts[i], false), 0);
		assert_int_equal(end_of_worker(&run, acts[i], true), REFUSED);
		check_ok(guest_list(NULL, &place, count_one, &left, &e), &e);
	}
	/* In the background, it outlived all of those grants. */
	assert_int_equal(left, 3);
	assert_int_equal(end_of_worker(&run, do_end, false), 0);
	wait_until(pid1_children(&init) == 0, PATIENCE_MS);
}

static void
a_grant_is_raised_above_what_the_guest_knows(void **state)
{
	struct err e = ERR_INIT;
	uint64_t known = 0;
	bool done = true;

	(void)state;
	if (geteuid() != 0)
		skip();
	struct run run = fixture_start();
	check_ok(guest_fence(NULL, &place, 1000, &done, &known, &e), &e);
	struct lease lease = grant(run.id);
	assert_int_equal(lease.generation, 1);
	check_ok(guest_fence(NULL, &place, 1, &done, &known, &e), &e);
	assert_false(done);
	check_ok(lease_raise(
		     redis, run.id, "anna", 60000, (int64_t)known, &lease, &e),
	    &e);
	assert_int_equal(lease.generation, 1001);
	check_fails(lease_raise(redis, run.id, "bert", 60000, 2000, &lease, &e),
	    &e, ERR_LEASE_HELD);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_init, close_init)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_exec_admitted_before_a_grant_is_refused_after_it),
	    TEST(acts_admitted_before_a_grant_are_refused_after_it),
	    TEST(a_grant_is_raised_above_what_the_guest_knows),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
