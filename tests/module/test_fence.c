/*
 * A grant against operations that were admitted before it (DESIGN 2): Redis
 * decides, and the run's init sees to it. Needs root.
 */
#include "guest/guest.h"
#include "pid1_fixture.h"
#include "run_fixture.h"
#include "store/lease.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSED 42

static const struct credential nobody = {"", 0};

static struct pid1 init;
static struct guest_place place;

static int
open_init(void **state)
{
	(void)fixture_empty(state);
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

/* A worker that is stopped after an exec was admitted, before it starts. */
static _Noreturn void
be_worker(const char *id)
{
	static const char *const env[] = {NULL};
	struct err e = ERR_INIT;
	struct redis *r = redis_new(fixture.url, &e);
	struct run run;
	struct op op = {.id = "01ARZ3NDEKTSV4RRFFQ69G5FAV", .window_ms = 30000};

	memcpy(op.run, id, ULID_SIZE);
	if (r == NULL || op_begin(r, &op, &nobody, &arena, &run, &e) != 0)
		_exit(1);
	(void)raise(SIGSTOP);
	const struct wire_exec x = {.script = "echo hi",
	    .env = env,
	    .cwd = "/",
	    .user = "",
	    .generation = (uint64_t)op.generation};
	const struct guest_order order = {.exec = &x};
	if (guest_exec(NULL, &place, &order, &e) != NULL)
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
	return lease;
}

/* How a worker ends that was stopped while somebody was granted the run, or
 * while nobody was. */
static int
end_of_worker(const struct run *run, bool granted)
{
	struct err e = ERR_INIT;
	uint64_t known;
	bool done = false;
	int status;
	pid_t worker = fork();

	if (worker == 0)
		be_worker(run->id);
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
	assert_int_equal(end_of_worker(&run, false), 0);
	assert_int_equal(end_of_worker(&run, true), REFUSED);
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
	    TEST(a_grant_is_raised_above_what_the_guest_knows),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
