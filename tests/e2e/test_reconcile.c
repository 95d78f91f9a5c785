/* What exists, what was decided and what is listed agree again (DESIGN 1, 7),
 * whatever was done to Docker or Redis; and no live run is harmed by it. */
#include "dockerd.h"
#include "engine_killed.h"
#include "gate.h"
#include "harness.h"
#include "templates.h"
#include "views.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END_MS 30000
#define TICKS_MS 30000 /* a few of the reaper's, on a busy machine */
#define GRACE_MS 60000 /* DESIGN 7 */

/* Runs that live through everything from the second test on. */
static char lasting[2][ULID_SIZE];
static char warm[ULID_SIZE]; /* one with a warm volume */
static int64_t lasting_since;

/* The instance's, made by nobody: never started, and of no record. */
static int64_t stray_since;

static int
setup(void **state)
{
	const char *env[] = {NULL, NULL};

	(void)state;
	dockerd_start(false);
	env[0] = gate_open();
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

static int
teardown(void **state)
{
	int rc;

	for (size_t i = 0; i < 2; i++)
		run_end(lasting[i]);
	run_end(warm);
	if (warm[0] != '\0')
		template_drop("acme/kept");
	rc = stack_stop(state);
	gate_close();
	dockerd_stop();
	return rc;
}

/* -- looking --------------------------------------------------------------- */

static void
check_executes(const char *id)
{
	EXECUTED_AUTO x = exec_sh(id, "echo $KEPT");

	assert_int_equal(exit_code(&x), 0);
	assert_string_equal(x.out.data, "kept\n");
}

static void
check_lasting(void)
{
	for (size_t i = 0; i < 2; i++)
		check_executes(lasting[i]);
}

static bool
is_state(const char *id, const char *state)
{
	return str_eq(views_state(id), state);
}

static int64_t
reserved_mb(void)
{
	REPLY_AUTO r = http_do("GET", "/v1/usage", NULL, NULL);

	return json_integer_value(json_at(r.json, "memory.reservedMb"));
}

static bool
ended_by(const char *id, const char *reason)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	return str_eq(
	    json_string_value(json_at(r.json, "exit.reason")), reason);
}

/* It is shown as exited for that reason, refuses an exec with it, holds no
 * memory, and can be deleted. */
static void
check_exited(const char *id, const char *reason)
{
	wait_until(is_state(id, "exited"), TICKS_MS);
	views_await(TICKS_MS);
	int64_t memory = reserved_mb();
	wait_until(ended_by(id, reason), TICKS_MS);
	REPLY_AUTO exec =
	    http_do("POST", run_url(id, "exec"), "{\"cmd\":\"id\"}", NULL);
	check_problem(&exec, 409, "run_not_running", reason);
	run_end(id);
	assert_int_equal(reserved_mb(), memory);
	assert_true(views_agree());
}

/* POST /containers/NAME/WHAT. */
static void
act_on(const char *id, const char *method, const char *what)
{
	char path[128], name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s%s", name, what);
	REPLY_AUTO r = docker_do(method, path, NULL);
	assert_int_equal(r.status, 204);
}

static void
run_kept(char ret_id[ULID_SIZE])
{
	run_from(json_pack("{s:s,s:{s:s},s:i}", "image", IMAGE_PLAIN, "env",
		     "KEPT", "kept", "ttlSec", 3000),
	    ret_id);
}

/* Booted from the template that another left. */
static void
warm_kept(void)
{
	char cold[ULID_SIZE];
	template_new(IMAGE_PLAIN, "acme/kept", "/srv/kept", cold);

	template_says(cold, "/srv/kept", "mkdir web; echo >web/go.mod", "");
	template_made(cold, NULL);
	run_end(cold);
	REPLY_AUTO r =
	    template_run(IMAGE_PLAIN, "acme/kept", "/srv/kept", warm);
	assert_true(json_is_true(json_at(r.json, "warm.booted")));
}

/* -- the engine ------------------------------------------------------------ */

static void
an_engine_that_restarts_ends_its_runs_and_they_say_so(void **state)
{
	static const int number[] = {SIGTERM, SIGKILL};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char id[ULID_SIZE];

		run_kept(id);
		dockerd_end(number[i]);
		dockerd_resume();
		check_exited(id, "engine-restart");
	}
}

/* A command goes on where it does not need Docker. Else who watches it is told
 * that it was cut off; it runs on all the same, since Docker gives it no end of
 * its input. */
static void
restart_under(int number, const char *sleeper)
{
	bool socket = run_has_socket(lasting[0]);
	char cmd[64];

	(void)snprintf(
	    cmd, sizeof(cmd), "{\"cmd\":\"echo up; sleep %s\"}", sleeper);
	struct stream *s = stream_open(run_url(lasting[0], "exec"), cmd, NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	dockerd_end(number);
	if (socket)
		check_executes(lasting[0]);
	dockerd_resume();
	wait_until(stack_ready(), END_MS);
	assert_true(stack_gvisor() || proc_count(sleeper) > 0);
	proc_kill(sleeper);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), socket ? 137 : -1);
}

static void
runs_outlive_an_engine_with_live_restore(void **state)
{
	(void)state;
	dockerd_live_restore(true);
	for (size_t i = 0; i < 2; i++)
		run_kept(lasting[i]);
	restart_under(SIGTERM, "91111.1");
	check_lasting();
	restart_under(SIGKILL, "92222.1");
	check_lasting();
	views_await(TICKS_MS);
	for (size_t i = 0; i < 2; i++)
		assert_true(is_state(lasting[i], "running"));
	warm_kept();
	lasting_since = clock_mono_ms();
}

/* -- containers ------------------------------------------------------------ */

static void
a_container_ended_from_outside_says_how(void **state)
{
	char killed[ULID_SIZE], stopped[ULID_SIZE];

	(void)state;
	run_kept(killed);
	run_kept(stopped);
	act_on(killed, "POST", "/kill?signal=KILL");
	act_on(stopped, "POST", "/stop?t=10");
	check_exited(killed, "killed");
	check_exited(stopped, "stopped");
}

static bool
has_directory(const char *id)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/runs/%s", stack.run_dir, id);
	return access(path, F_OK) == 0;
}

static void
a_container_removed_behind_our_back_takes_its_run_along(void **state)
{
	char id[ULID_SIZE];
	int64_t memory = reserved_mb();

	(void)state;
	run_kept(id);
	assert_int_equal(reserved_mb(), memory + 1024);
	act_on(id, "DELETE", "?force=1");
	wait_until(is_state(id, ""), TICKS_MS);
	views_await(TICKS_MS);
	assert_false(has_directory(id));
	assert_int_equal(reserved_mb(), memory);
	check_lasting();
}

/* -- leftovers ------------------------------------------------------------- */

static void
make_id(char ret_id[ULID_SIZE], unsigned char mark)
{
	const unsigned char random[10] = {mark};

	ulid_format(clock_wall_ms(), random, ret_id);
}

/* A directory as a crash leaves it, that old. */
static void
leave_directory(const char *id, int age_sec)
{
	const struct timespec then = {time(NULL) - age_sec, 0};
	const struct timespec times[] = {then, then};
	char path[128], file[140];

	(void)snprintf(path, sizeof(path), "%s/runs/%s", stack.run_dir, id);
	(void)snprintf(file, sizeof(file), "%s/env", path);
	if (mkdir(path, 0700) == 0)
		assert_int_equal(creat(file, 0600) < 0, 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void
directories_of_nobody_go_and_young_ones_are_spared(void **state)
{
	char old[ULID_SIZE], young[ULID_SIZE];

	(void)state;
	make_id(old, 1);
	make_id(young, 2);
	leave_directory(young, 0);
	leave_directory(old, 120);
	wait_until(!has_directory(old), TICKS_MS);
	assert_true(has_directory(young));
	leave_directory(young, 120);
	wait_until(!has_directory(young), TICKS_MS);
	check_lasting();
}

static void
leave_unstarted(void)
{
	char id[ULID_SIZE], path[100];

	make_id(id, 3);
	json_auto_t *body = json_pack("{s:s,s:[s],s:{s:s,s:s,s:s}}", "Image",
	    IMAGE_PLAIN, "Cmd", "true", "Labels", "teploy.sandbox", "1",
	    "teploy.sandbox.run", id, "teploy.sandbox.instance",
	    stack.instance);
	char *text = json_dumps(body, JSON_COMPACT);
	str_lower(id);
	(void)snprintf(
	    path, sizeof(path), "/containers/create?name=teploy-sbx-%s", id);
	REPLY_AUTO r = docker_do("POST", path, text);
	assert_int_equal(r.status, 201);
	free(text);
	stray_since = clock_mono_ms();
}

/* -- Redis ----------------------------------------------------------------- */

static void
shell(const char *command)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, stack.state_dir, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Redis ends, and is started on the data that were put aside. */
static void
restore_redis(void)
{
	pid_t redis;

	assert_int_equal(stack_pids(STACK_REDIS, &redis, 1), 1);
	/* Or it would be started again before they are there. */
	assert_int_equal(kill(stack.serve, SIGSTOP), 0);
	assert_int_equal(kill(redis, SIGKILL), 0);
	wait_until(!proc_alive(redis), END_MS);
	shell("rm -rf \"$0\"/redis && mv \"$0\"/redis.old \"$0\"/redis");
	assert_int_equal(kill(stack.serve, SIGCONT), 0);
	wait_until(stack_new(STACK_REDIS, &redis, 1) == 1, END_MS);
	wait_until(stack_ready(), END_MS);
}

static int64_t
grant(const char *id, const char *owner)
{
	char body[100];

	(void)snprintf(
	    body, sizeof(body), "{\"owner\":\"%s\",\"ttlSec\":600}", owner);
	REPLY_AUTO r = http_do("POST", run_url(id, "lease"), body, NULL);
	if (r.status != 200)
		fail_msg("lease: %ld %s", r.status, r.body.data);
	return json_integer_value(json_at(r.json, "lease.generation"));
}

/* It does not know of a run made since, knows one that is gone, and has
 * forgotten a grant. */
static void
an_old_redis_is_set_right(void **state)
{
	char made[ULID_SIZE], gone[ULID_SIZE];

	(void)state;
	run_kept(gone);
	shell("cp -a \"$0\"/redis \"$0\"/redis.old");
	run_kept(made);
	run_end(gone);
	int64_t before = grant(lasting[0], "anna");
	leave_unstarted();

	restore_redis();
	wait_until(is_state(gone, ""), TICKS_MS);
	/* Too young to be judged, and not harmed meanwhile. */
	json_auto_t *container = docker_container(made);
	assert_true(json_is_true(json_at(container, "State.Running")));
	/* The grant was lost with the data, as by a flush; the run itself knows
	 * its generation, and says so to the first who is admitted under an
	 * older one. */
	REPLY_AUTO first = http_do(
	    "POST", run_url(lasting[0], "exec"), "{\"cmd\":\"true\"}", NULL);
	check_problem(&first, 409, "lease_superseded", "superseded");
	check_lasting();
	assert_true(grant(lasting[0], "berta") > before);
	assert_true(is_state(made, ""));
	wait_until(is_state(made, "running"), GRACE_MS + TICKS_MS);
	check_executes(made);
	run_end(made);
	views_await(GRACE_MS);
	/* The engine tells when it was made in whole seconds. */
	assert_true(clock_mono_ms() - stray_since > GRACE_MS - 2000);
}

static void
a_flushed_redis_loses_no_run(void **state)
{
	int64_t before = grant(lasting[1], "anna");

	(void)state;
	wait_until(clock_mono_ms() - lasting_since > GRACE_MS, GRACE_MS);
	REPLY_AUTO run = http_do("GET", run_url(lasting[1], ""), NULL, NULL);
	REPLY_AUTO with = http_do("GET", run_url(warm, ""), NULL, NULL);
	freeReplyObject(redis_do("FLUSHALL"));
	views_await(TICKS_MS);
	check_lasting();
	/* A lease is lost by it; its generation goes up all the same. */
	assert_true(grant(lasting[1], "berta") > before);
	REPLY_AUTO again = http_do("GET", run_url(lasting[1], ""), NULL, NULL);
	for (size_t i = 0; i < 4; i++) {
		static const char *const kept[] = {
		    "image", "network", "createdAt", "limits"};

		assert_true(json_equal(
		    json_at(again.json, kept[i]), json_at(run.json, kept[i])));
	}
	REPLY_AUTO kept = http_do("GET", run_url(warm, ""), NULL, NULL);
	assert_true(
	    json_equal(json_at(kept.json, "warm"), json_at(with.json, "warm")));
	template_says(warm, "/srv/kept", "ls", "web\n");
	template_made(warm, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		an_engine_that_restarts_ends_its_runs_and_they_say_so),
	    cmocka_unit_test(
		a_run_that_ended_with_its_engine_amid_a_snapshot_is_copied),
	    cmocka_unit_test(
		a_snapshot_whose_engine_is_killed_is_whole_or_nothing),
	    cmocka_unit_test(
		a_warm_commit_whose_engine_is_killed_is_whole_or_nothing),
	    cmocka_unit_test(runs_outlive_an_engine_with_live_restore),
	    cmocka_unit_test(a_container_ended_from_outside_says_how),
	    cmocka_unit_test(
		a_container_removed_behind_our_back_takes_its_run_along),
	    cmocka_unit_test(
		directories_of_nobody_go_and_young_ones_are_spared),
	    cmocka_unit_test(an_old_redis_is_set_right),
	    cmocka_unit_test(a_flushed_redis_loses_no_run),
	    cmocka_unit_test(what_was_half_made_when_it_was_killed_is_removed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
