/*
 * sbx-init exec: how a command ends, by itself, at its deadline or because the
 * host says so, and that nothing of it is left then.
 */
#include "../wait.h"
#include "init_fixture.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000

/* What survives all but a thorough kill: own sessions, double forks, TERM
 * ignored, stopped. */
#define STUBBORN                                                               \
	"trap '' TERM\n"                                                       \
	"(setsid sh -c 'trap \"\" TERM; while :; do :; done' &)\n"             \
	"(setsid setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done')&\n" \
	"sleep 1000 & kill -STOP $!\n"                                         \
	"echo up\n"                                                            \
	"while :; do sleep 1000; done\n"

static void
wait_output(struct init *in, const char *text)
{
	const char *payload;
	size_t size;

	assert_int_equal(init_next(in, &payload, &size), WIRE_STDOUT);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(payload, text, size);
}

static void
deadline_leaves_nothing_of_the_tree(void **state)
{
	const struct wire_exec x = {.script = STUBBORN, .timeout_ms = 300};
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.code, -1);
	assert_true(o.exit.timed_out);
	assert_int_equal(init_marked(), 0);
	outcome_release(&o);
	init_leave(&in);
}

static void
deadline_asks_politely_first(void **state)
{
	struct wire_exec x = {
	    .script = "trap 'echo bye; exit 7' TERM; sleep 1000 & wait",
	    .timeout_ms = 300};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	/* On a busy box the shell may not have come to its trap by then. */
	while (o.out.size == 0 && x.timeout_ms < 5000) {
		outcome_release(&o);
		x.timeout_ms *= 2;
		init_run(&x, NULL, 0, &o);
	}
	assert_string_equal(o.out.data, "bye\n");
	assert_int_equal(o.exit.code, -1);
	assert_true(o.exit.timed_out);
	assert_int_equal(init_marked(), 0);
	outcome_release(&o);
}

static void
deadline_does_not_wait_for_a_reader(void **state)
{
	const struct wire_exec x = {
	    .script = "trap '' TERM; yes", .timeout_ms = 500};
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	wait_until(init_marked() == 0, PATIENCE_MS);
	init_finish(&in, NULL, 0, &o);
	assert_true(o.exit.timed_out);
	assert_true(o.out.size > 0);
	outcome_release(&o);
	init_leave(&in);
}

static void
kill_leaves_nothing_and_tells_the_status(void **state)
{
	const struct wire_exec x = {.script = STUBBORN};
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	wait_output(&in, "up\n");
	init_say(&in, WIRE_KILL, NULL, 0);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.code, 137);
	assert_int_equal(o.exit.signal, SIGKILL);
	assert_false(o.exit.timed_out);
	assert_int_equal(init_marked(), 0);
	outcome_release(&o);
	init_leave(&in);
}

static void
kill_is_not_stuck_behind_input(void **state)
{
	const struct wire_exec x = {.script = "sleep 1000", .open_stdin = true};
	static char input[WIRE_WINDOW];
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	/* A pipe of it goes to the command, and that much is offered anew. */
	init_say(&in, WIRE_STDIN, input, sizeof(input));
	const char *payload;
	size_t size;
	assert_int_equal(init_next(&in, &payload, &size), WIRE_ROOM);
	init_say(&in, WIRE_STDIN, input, sizeof(input));
	init_say(&in, WIRE_KILL, NULL, 0);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.code, 128 + SIGTERM);
	outcome_release(&o);
	init_leave(&in);
}

static void
input_beyond_its_window_ends_the_command(void **state)
{
	const struct wire_exec x = {.script = "sleep 1000", .open_stdin = true};
	static char input[WIRE_CHUNK];
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	for (int i = 0; i < 3; i++)
		init_say(&in, WIRE_STDIN, input, sizeof(input));
	wait_until(init_marked() == 0, PATIENCE_MS);
	init_leave(&in);
}

static void
host_that_leaves_takes_the_tree_along(void **state)
{
	const struct wire_exec x = {.script = STUBBORN};
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	wait_output(&in, "up\n");
	init_leave(&in);
	wait_until(init_marked() == 0, PATIENCE_MS);
}

static void
host_that_only_stops_sending_has_left(void **state)
{
	const struct wire_exec x = {.script = "sleep 1000"};
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	fd_close(&in.to);
	init_wait_end(&in);
	wait_until(init_marked() == 0, PATIENCE_MS);
}

static void
host_that_only_stops_reading_has_left(void **state)
{
	const struct wire_exec x = {.script = "sleep 1000"};
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	fd_close(&in.from);
	init_wait_end(&in);
	wait_until(init_marked() == 0, PATIENCE_MS);
}

static void
supervisor_cannot_be_ended_by_a_term(void **state)
{
	const struct wire_exec x = {
	    .script = "kill -TERM $PPID; kill -HUP $PPID; kill -USR1 $PPID;"
		      "echo still here"};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "still here\n");
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
}

static void
assert_ends_in_time(const char *script)
{
	const struct wire_exec x = {.script = script, .timeout_ms = 300};
	int64_t began = clock_mono_ms();
	struct outcome o;

	init_run(&x, NULL, 0, &o);
	assert_true(o.exit.timed_out);
	/* 3 s, said the contract; a busy box adds its own. */
	assert_true(clock_mono_ms() < began + 15000);
	wait_until(init_marked() == 0, PATIENCE_MS);
	outcome_release(&o);
}

static void
supervisor_that_was_stopped_keeps_its_deadline(void **state)
{
	(void)state;
	assert_ends_in_time("kill -STOP $PPID; sleep 1013");
}

static void
supervisor_that_is_stopped_all_the_time_keeps_its_deadline(void **state)
{
	(void)state;
	assert_ends_in_time("while :; do kill -STOP $PPID; done");
}

static void
command_goes_with_a_supervisor_that_was_killed(void **state)
{
	const struct wire_exec x = {.script = "while :; do sleep 1; done"};
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	/* (That of the command before may be just ending.) */
	wait_until(init_supervisors(0) == 1, PATIENCE_MS);
	assert_int_equal(init_supervisors(SIGKILL), 1);
	wait_until(init_marked() == 0, PATIENCE_MS);
	init_leave(&in);
}

static void
exit_comes_while_a_background_child_holds_the_output(void **state)
{
	const struct wire_exec x = {
	    .script = "setsid sleep 1000 & head -c 60000 /dev/zero; exit 5"};
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.code, 5);
	assert_int_equal(o.out.size, 60000);
	wait_until(init_marked() == 1, PATIENCE_MS);
	/* The host leaves, the child lives on, and the supervisor with it. */
	fd_close(&in.to);
	fd_close(&in.from);
	init_wait_end(&in);
	wait_until(init_supervisors(0) == 1, PATIENCE_MS);
	wait_until(init_marked() == 1, PATIENCE_MS);
	init_kill_marked();
	outcome_release(&o);
}

static void
output_of_the_command_precedes_its_exit_for_a_slow_reader(void **state)
{
	/* More than the pipe to us holds. */
	const struct wire_exec x = {
	    .script = "sleep 1000 & head -c 150000 /dev/zero; exit 6"};
	struct outcome o;
	struct init in;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	/* The shell is gone, with its last bytes in a pipe, before we read. */
	wait_until(init_marked() == 1, PATIENCE_MS);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.out.size, 150000);
	assert_int_equal(o.exit.code, 6);
	outcome_release(&o);
	init_kill_marked();
	init_leave(&in);
}

static void
background_child_may_write_to_nobody(void **state)
{
	char path[] = "/tmp/sbx-test-XXXXXX", script[300];
	const struct wire_exec x = {.script = script};
	struct outcome o;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	/* More than a pipe holds, after the host has left. */
	(void)snprintf(script, sizeof(script),
	    "(sleep 0.3; head -c 300000 /dev/zero && echo done >%s) & exit 0",
	    path);
	init_run(&x, NULL, 0, &o);
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
	wait_until(lseek(fd, 0, SEEK_END) == 5, PATIENCE_MS);
	wait_until(init_marked() == 0, PATIENCE_MS);
	(void)unlink(path);
	fd_close(&fd);
}

/* -- helpers that are processes of a command --------------------------------
 */

/* A process that is a new one all the time. */
static int
hop(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	for (;;) {
		if (fork() > 0)
			_exit(0);
		(void)setsid();
	}
}

static void *
spin(void *arg)
{
	for (;;)
		(void)poll(NULL, 0, 1000);
	return arg;
}

/* A process whose first thread is gone: a zombie, by the look of it. */
static int
headless(void)
{
	pthread_t thread;

	(void)signal(SIGTERM, SIG_IGN);
	if (pthread_create(&thread, NULL, spin, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

static char self[4096];

static void
assert_killed(const char *helpers)
{
	BUF_AUTO script = BUF_INIT(5000);
	struct outcome o;

	buf_addf(&script, "for i in 1 2 3 4 5 6; do '%s' %s & done; sleep 1000",
	    self, helpers);
	const struct wire_exec x = {.script = script.data, .timeout_ms = 300};
	init_run(&x, NULL, 0, &o);
	assert_true(o.exit.timed_out);
	/* The exit is told in any case, though they take long on a busy box. */
	wait_until(init_marked() == 0, PATIENCE_MS);
	outcome_release(&o);
}

static void
process_that_is_never_the_same_is_killed(void **state)
{
	(void)state;
	assert_killed("hop");
}

static void
process_without_its_first_thread_is_killed(void **state)
{
	(void)state;
	assert_killed("headless");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deadline_leaves_nothing_of_the_tree),
	    cmocka_unit_test(deadline_asks_politely_first),
	    cmocka_unit_test(deadline_does_not_wait_for_a_reader),
	    cmocka_unit_test(kill_leaves_nothing_and_tells_the_status),
	    cmocka_unit_test(kill_is_not_stuck_behind_input),
	    cmocka_unit_test(input_beyond_its_window_ends_the_command),
	    cmocka_unit_test(host_that_leaves_takes_the_tree_along),
	    cmocka_unit_test(host_that_only_stops_sending_has_left),
	    cmocka_unit_test(host_that_only_stops_reading_has_left),
	    cmocka_unit_test(supervisor_cannot_be_ended_by_a_term),
	    cmocka_unit_test(supervisor_that_was_stopped_keeps_its_deadline),
	    cmocka_unit_test(
		supervisor_that_is_stopped_all_the_time_keeps_its_deadline),
	    cmocka_unit_test(command_goes_with_a_supervisor_that_was_killed),
	    cmocka_unit_test(
		exit_comes_while_a_background_child_holds_the_output),
	    cmocka_unit_test(
		output_of_the_command_precedes_its_exit_for_a_slow_reader),
	    cmocka_unit_test(background_child_may_write_to_nobody),
	    cmocka_unit_test(process_that_is_never_the_same_is_killed),
	    cmocka_unit_test(process_without_its_first_thread_is_killed),
	};

	if (argc == 2 && strcmp(argv[1], "hop") == 0)
		return hop();
	if (argc == 2 && strcmp(argv[1], "headless") == 0)
		return headless();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, init_begin, init_end);
}
