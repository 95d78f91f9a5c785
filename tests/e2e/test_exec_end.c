/* Exec: how a command ends, and that nothing of it stays where it must not
 * (CONTRACT 3). */
#include "harness.h"

#include <string.h>

#define END_MS 20000 /* far beyond what is promised; hangs end here */

static char id[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, id);
	return 0;
}

static int
teardown(void **state)
{
	run_end(id);
	return stack_stop(state);
}

/* An argument of sleep that no other process of this machine has. */
static const char *
mark(void)
{
	static char text[32];
	static int used;

	(void)snprintf(text, sizeof(text), "86000.%d%05d", ++used,
	    (int)(clock_mono_us() % 100000));
	return text;
}

/* A command with %s replaced by that mark, thrice at most. */
static struct stream *
start(const char *format, const char *sleeper, int timeout_sec)
{
	char cmd[1000];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(cmd, sizeof(cmd), format, sleeper, sleeper, sleeper);
#pragma GCC diagnostic pop
	char *body = json_dumps(
	    json_pack("{s:s,s:i}", "cmd", cmd, "timeoutSec", timeout_sec),
	    JSON_COMPACT);
	struct stream *s = stream_open(run_url(id, "exec"), body, NULL);
	free(body);
	assert_int_equal(stream_status(s), 200);
	return s;
}

static void
exit_codes_are_the_commands_own(void **state)
{
	static const int codes[] = {0, 1, 3, 126, 127, 255};
	char cmd[32];

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		(void)snprintf(cmd, sizeof(cmd), "exit %d", codes[i]);
		EXECUTED_AUTO x = exec_sh(id, cmd);
		assert_int_equal(exit_code(&x), codes[i]);
		assert_int_equal(json_object_size(x.exit), 2);
	}
}

static void
death_by_a_signal_is_named(void **state)
{
	static const struct {
		const char *cmd, *name;
		int code;
	} deaths[] = {{"kill -9 $$", "SIGKILL", 137},
	    {"kill -TERM $$", "SIGTERM", 143},
	    {"kill -SEGV $$", "SIGSEGV", 139}};

	(void)state;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		EXECUTED_AUTO x = exec_sh(id, deaths[i].cmd);

		assert_int_equal(exit_code(&x), deaths[i].code);
		assert_string_equal(
		    json_string_value(json_at(x.exit, "signal")),
		    deaths[i].name);
		assert_true(json_is_false(json_at(x.exit, "timedOut")));
	}
}

/* Trees that are hard to kill. %s is the mark of their sleepers. */
static const char *const trees[] = {
    "sleep %s",
    "sleep %s & sleep %s & sleep %s",
    "(while :; do :; done) & sleep %s",
    "(setsid sh -c 'sleep %s; sleep %s' &) ; sleep %s",
    "(setsid sh -c '(sleep %s &) ; exit' &) ; sleep %s",
    "trap '' TERM INT HUP; sleep %s & wait; while :; do sleep %s; done",
    "sh -c 'kill -STOP $$; sleep %s' & sleep %s",
    "nohup sleep %s >/dev/null 2>&1 & exec sleep %s >/dev/null 2>&1",
};

#define TREES (sizeof(trees) / sizeof(trees[0]))

/* All at once, each with its own mark: the wait is that of one. */
static void
at_the_deadline_the_whole_tree_is_killed(void **state)
{
	struct stream *s[TREES];
	char marks[TREES][32];

	(void)state;
	for (size_t i = 0; i < TREES; i++) {
		(void)snprintf(marks[i], sizeof(marks[i]), "%s", mark());
		s[i] = start(trees[i], marks[i], 1);
	}
	for (size_t i = 0; i < TREES; i++) {
		EXECUTED_AUTO x = exec_finish(s[i]);

		assert_int_equal(exit_code(&x), -1);
		assert_true(json_is_true(json_at(x.exit, "timedOut")));
		assert_int_equal(json_object_size(x.exit), 2);
		/* Not soon: by the time that exit is told. */
		if (proc_count(marks[i]) != 0)
			fail_msg("left of: %s", trees[i]);
		stream_close(s[i]);
	}
}

static void
a_timeout_says_term_first(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_json(id,
	    json_pack("{s:s,s:i}", "cmd",
		"trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done",
		"timeoutSec", 1));
	assert_string_equal(x.out.data, "bye\n");
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_true(json_at(x.exit, "timedOut")));
}

static void
a_client_that_leaves_takes_its_command_along(void **state)
{
	struct stream *s[TREES];
	char marks[TREES][32];

	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	for (size_t i = 0; i < TREES; i++) {
		(void)snprintf(marks[i], sizeof(marks[i]), "%s", mark());
		s[i] = start(trees[i], marks[i], 600);
	}
	for (size_t i = 0; i < TREES; i++)
		wait_until(proc_count(marks[i]) > 0, END_MS);
	for (size_t i = 0; i < TREES; i++)
		stream_close(s[i]);
	for (size_t i = 0; i < TREES; i++)
		wait_until(proc_count(marks[i]) == 0, END_MS);
}

/* A child that holds the output must not hold the answer, and lives on. */
static void
a_background_child_outlives_its_shell(void **state)
{
	static const struct {
		const char *cmd;
		int code;
	} shells[] = {{"sleep %s & echo hi", 0},
	    {"setsid sh -c 'sleep %s' & echo hi; exit 3", 3},
	    {"(sleep %s &) ; echo hi; kill -9 $$", 137}};

	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	for (size_t i = 0; i < 3; i++) {
		char sleeper[32];

		(void)snprintf(sleeper, sizeof(sleeper), "%s", mark());
		struct stream *s = start(shells[i].cmd, sleeper, 600);
		EXECUTED_AUTO x = exec_finish(s);
		stream_close(s);
		assert_string_equal(x.out.data, "hi\n");
		assert_int_equal(exit_code(&x), shells[i].code);
		assert_in_range(proc_count(sleeper), 1, 3);
		proc_kill(sleeper);
		wait_until(proc_count(sleeper) == 0, END_MS);
	}
}

/* What was written before the end comes before exit, however fast the end. */
static void
exit_comes_after_the_last_byte(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		EXECUTED_AUTO x = exec_sh(id,
		    "head -c 300000 /dev/zero | tr '\\0' a; printf z; "
		    "kill -9 $$");

		assert_int_equal(x.out.size, 300001);
		assert_int_equal(x.out.data[300000], 'z');
		assert_true(str_ends(x.frames.data, "stdout exit "));
	}
}

/* Zombies that a run's PID 1 has not reaped, seen from the host. */
static size_t
zombies_of(pid_t init)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), found = 0;

	for (size_t i = 0; i < count; i++)
		found += all[i].state == 'Z' &&
			 proc_descends(all, count, all[i].pid, init);
	return found;
}

static void
orphans_are_reaped(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(id,
	    "for i in $(seq 400); do (sh -c 'sleep 0.01 &') ; done; echo ok");
	assert_string_equal(x.out.data, "ok\n");
	json_auto_t *container = docker_container(id);
	pid_t init = (pid_t)json_integer_value(json_at(container, "State.Pid"));
	wait_until(zombies_of(init) == 0, END_MS);
	EXECUTED_AUTO next = exec_sh(id, "echo fine");
	assert_string_equal(next.out.data, "fine\n");
}

static void
a_run_destroyed_under_a_command_says_so(void **state)
{
	char other[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, other);
	struct stream *s = stream_open(
	    run_url(other, "exec"), "{\"cmd\":\"echo up; sleep 600\"}", NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	run_end(other);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_string(json_at(x.exit, "error")));
	assert_true(str_starts(x.err.data, "sandbox: "));
	assert_string_equal(x.frames.data, "stderr exit ");
}

static void
a_container_that_died_leaves_an_exited_run(void **state)
{
	char other[ULID_SIZE], path[128], name[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, other);
	struct stream *s = stream_open(
	    run_url(other, "exec"), "{\"cmd\":\"echo up; sleep 600\"}", NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	(void)snprintf(name, sizeof(name), "%s", other);
	str_lower(name);
	(void)snprintf(path, sizeof(path),
	    "/containers/teploy-sbx-%s/kill?signal=KILL", name);
	REPLY_AUTO killed = docker_do("POST", path, NULL);
	assert_int_equal(killed.status, 204);

	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_string(json_at(x.exit, "error")));
	REPLY_AUTO exec =
	    http_do("POST", run_url(other, "exec"), "{\"cmd\":\"id\"}", NULL);
	check_problem(&exec, 409, "run_not_running", NULL);
	REPLY_AUTO r = http_do("GET", run_url(other, ""), NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(
	    json_string_value(json_at(r.json, "state")), "exited");
	assert_int_equal(json_integer_value(json_at(r.json, "exit.code")), 137);
	assert_true(json_is_false(json_at(r.json, "exit.oomKilled")));
	run_end(other);
}

static void
memory_is_a_hard_cap_and_the_run_survives_it(void **state)
{
	char small[ULID_SIZE];

	(void)state;
	needs_host_kernel("--ignore-cgroups caps no memory");
	run_from(json_pack("{s:s,s:{s:i}}", "image", IMAGE_PLAIN, "limits",
		     "memoryMb", 32),
	    small);
	EXECUTED_AUTO x = exec_sh(
	    small, "awk 'BEGIN { s = \"x\"; while (1) s = s s }'; echo $?");
	assert_string_equal(x.out.data, "137\n");
	EXECUTED_AUTO direct =
	    exec_sh(small, "exec awk 'BEGIN { s = \"x\"; while (1) s = s s }'");
	assert_int_equal(exit_code(&direct), 137);
	assert_string_equal(
	    json_string_value(json_at(direct.exit, "signal")), "SIGKILL");
	assert_true(json_is_true(json_at(direct.exit, "oomKilled")));
	EXECUTED_AUTO next = exec_sh(small, "echo alive");
	assert_string_equal(next.out.data, "alive\n");
	run_end(small);
}

/* At the limit an exec fails with a word, at once, and DELETE still works. */
static void
a_run_without_free_pids_answers_and_can_be_destroyed(void **state)
{
	char few[ULID_SIZE];

	(void)state;
	needs_host_kernel("--ignore-cgroups caps no pids");
	run_from(json_pack("{s:s,s:{s:i}}", "image", IMAGE_PLAIN, "limits",
		     "pids", 16),
	    few);
	EXECUTED_AUTO bomb = exec_sh(few,
	    "i=0; while [ $i -lt 40 ]; do sleep 600 >/dev/null 2>&1 & "
	    "i=$((i+1)); done");
	assert_int_equal(bomb.status, 200);
	EXECUTED_AUTO x = exec_sh(few, "echo hi");
	if (x.status == 200) {
		assert_int_not_equal(exit_code(&x), 0);
		assert_true(x.err.size > 0);
	} else {
		assert_in_range(x.status, 409, 504);
		assert_non_null(strstr(x.problem.data, "\"detail\""));
	}
	run_end(few);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exit_codes_are_the_commands_own),
	    cmocka_unit_test(death_by_a_signal_is_named),
	    cmocka_unit_test(at_the_deadline_the_whole_tree_is_killed),
	    cmocka_unit_test(a_timeout_says_term_first),
	    cmocka_unit_test(a_client_that_leaves_takes_its_command_along),
	    cmocka_unit_test(a_background_child_outlives_its_shell),
	    cmocka_unit_test(exit_comes_after_the_last_byte),
	    cmocka_unit_test(orphans_are_reaped),
	    cmocka_unit_test(a_run_destroyed_under_a_command_says_so),
	    cmocka_unit_test(a_container_that_died_leaves_an_exited_run),
	    cmocka_unit_test(memory_is_a_hard_cap_and_the_run_survives_it),
	    cmocka_unit_test(
		a_run_without_free_pids_answers_and_can_be_destroyed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
