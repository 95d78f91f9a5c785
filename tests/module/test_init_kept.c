/* The bounds of kept execs, and what becomes of them when something breaks. */
#include "../wait.h"
#include "lib/fd.h"
#include "object_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define KEPT 32
#define RING 1048576

static char *
name(int i)
{
	static char text[4][16];
	static int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(text[turn], sizeof(text[turn]), "exec-%d", i);
	return text[turn];
}

static void
launch_ended(int i, const char *script)
{
	object_launch(name(i), script);
	wait_until(object_has_ended(name(i)), PATIENCE_MS);
}

static bool
is_known(int i)
{
	struct wire_info info;

	return object_find(name(i), &info);
}

/* -- bounds ---------------------------------------------------------------- */

static void
the_oldest_that_has_ended_goes_first(void **state)
{
	(void)state;
	object_launch(name(0), ENDLESS);
	launch_ended(2, "true");
	launch_ended(1, "true");
	for (int i = 3; i < KEPT; i++)
		launch_ended(i, "true");
	assert_int_equal(objects_count(), KEPT);
	launch_ended(KEPT, "true");
	assert_int_equal(objects_count(), KEPT);
	assert_false(is_known(2));
	assert_true(is_known(1));
	launch_ended(KEPT + 1, "true");
	assert_false(is_known(1));
	assert_true(is_known(0));
	assert_true(is_known(3));
}

static void
what_runs_is_not_forgotten_for_something_new(void **state)
{
	const struct wire_exec x = {
	    .script = "true", .id = "one more", .keep = true};
	const struct wire_exec plain = {.script = "exit 3", .id = "plain"};
	struct outcome o;
	struct init in;

	(void)state;
	for (int i = 0; i < KEPT; i++)
		object_launch(name(i), ENDLESS);
	object_call(&in);
	init_request(&in, &x);
	assert_int_equal(object_refusal(&in), WIRE_FAIL_EXEC_MANY);
	/* Others run all the same. */
	object_start(&in, &plain);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.code, 3);
	outcome_release(&o);
	object_hang_up(&in);
	assert_int_equal(object_end(name(7)), 0);
	launch_ended(KEPT, "true");
	assert_false(is_known(7));
	assert_int_equal(objects_count(), KEPT);
}

/* What PID 1's memory maps come to, in KiB, of that kind. */
static long
memory_kib(const char *kind)
{
	char path[64], text[4096];

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/smaps_rollup", (int)objects_run.pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	const char *line = strstr(text, kind);
	return line != NULL ? strtol(line + strlen(kind) + 1, NULL, 10) : 0;
}

#define FULL "head -c 3000000 /dev/zero"

static void
sixteen_full_rings_fit_and_more_make_the_oldest_go(void **state)
{
	struct wire_info info;

	(void)state;
	for (int i = 0; i < 14; i++)
		launch_ended(i, FULL);
	assert_int_equal(objects_count(), 14);
	for (int i = 14; i < 20; i++)
		launch_ended(i, FULL);
	assert_true(objects_count() >= 14 && objects_count() <= 16);
	assert_false(is_known(0));
	assert_true(object_find(name(19), &info));
	assert_int_equal(info.end - info.first, RING);
	assert_true(memory_kib("Pss_Shmem") <= 17 * 1024);
}

static void
what_runs_shares_what_there_is(void **state)
{
	struct wire_info info;
	struct outcome o;

	(void)state;
	if (geteuid() != 0)
		skip();
	objects_close(state);
	objects_open_sized(64); /* so 4 MiB for all */
	for (int i = 0; i < KEPT; i++) {
		object_launch(name(i), FULL "; " ENDLESS);
		wait_until(object_find(name(i), &info) && info.end == 3000000,
		    PATIENCE_MS);
	}
	/* The first ones were full before the others came. */
	for (int i = 0; i < KEPT; i++)
		wait_until(object_find(name(i), &info) &&
			       info.end - info.first <= 4 << 20 >> 5,
		    PATIENCE_MS);
	assert_true(info.end - info.first > 100000);
	assert_true(memory_kib("Pss_Shmem") <= 5 * 1024);
	assert_int_equal(object_end(name(0)), 0);
	object_read(name(0), 0, &o);
	assert_true(o.gapped);
	assert_int_equal(o.out.size, 3000000 - o.gap);
	outcome_release(&o);
}

/* -- damage ---------------------------------------------------------------- */

static void
a_killed_supervisor_leaves_its_command_ended(void **state)
{
	struct wire_info info;
	struct outcome o;
	struct init reader;

	(void)state;
	object_launch("a", "echo up; exec sleep 1000");
	wait_until(object_find("a", &info) && info.end == 3, PATIENCE_MS);
	/* (Its child may be seen as PID 1's, then.) */
	assert_true(pid1_signal_children(&objects_run, SIGKILL) >= 1);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_true(object_find("a", &info));
	assert_int_equal(info.exit.signal, SIGKILL);
	wait_until(init_marked() == 0, PATIENCE_MS);
	/* Its output is there still, and its end is told to who reads. */
	object_attach(&reader, "a", 0);
	init_finish(&reader, NULL, 0, &o);
	assert_string_equal(o.out.data, "up\n");
	assert_int_equal(o.exit.code, 137);
	outcome_release(&o);
	object_hang_up(&reader);
	assert_int_equal(object_end("a"), 0);
}

static void
a_reader_hears_that_the_supervisor_was_killed(void **state)
{
	const struct wire_exec x = {.script = "read x; kill -9 $PPID",
	    .id = "a",
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	struct outcome o;
	struct init in, reader;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	object_attach(&reader, "a", 0);
	init_wait_started(&reader);
	assert_int_equal(object_feed("a", "\n", 1, false), 0);
	init_finish(&reader, NULL, 0, &o);
	assert_int_equal(o.exit.code, 137);
	outcome_release(&o);
	object_hang_up(&reader);
}

static void
a_reset_by_force_leaves_kept_commands_listed_as_ended(void **state)
{
	const struct wire_exec plain = {.script = ENDLESS, .id = "plain"};
	struct wire_info info;
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &plain);
	launch_ended(0, "echo hi; exit 3");
	for (int i = 1; i < 5; i++)
		object_launch(name(i), "setsid sleep 1000 & " ENDLESS);
	assert_int_equal(objects_count(), 6);
	assert_int_equal(kill(objects_run.pid, SIGUSR1), 0);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	wait_until(objects_count() == 5, PATIENCE_MS);
	assert_int_equal(init_marked(), 0);
	for (int i = 1; i < 5; i++) {
		assert_true(object_find(name(i), &info) && info.ended);
		assert_int_equal(info.exit.signal, SIGKILL);
	}
	object_read(name(0), 0, &o);
	assert_string_equal(o.out.data, "hi\n");
	assert_int_equal(o.exit.code, 3);
	outcome_release(&o);
	object_hang_up(&in);
	launch_ended(5, "true");
}

static void
a_signal_from_inside_does_not_end_the_run(void **state)
{
	(void)state;
	object_launch("a", ENDLESS);
	launch_ended(0, "kill -HUP 1; kill -TERM 1; kill -KILL 1");
	assert_false(object_has_ended("a"));
}

/* As kill -1 would: one that could be ignored could hide the host's. */
static void
a_reset_may_come_from_inside(void **state)
{
	char go[] = "/tmp/sbx-go-XXXXXX", script[128];

	(void)state;
	FD_AUTO fd = mkstemp(go);
	assert_true(fd >= 0);
	(void)snprintf(script, sizeof(script),
	    "while [ -e %s ]; do sleep 0.01; done; kill -USR1 1; " ENDLESS, go);
	object_launch("a", ENDLESS);
	object_launch("b", script);
	assert_int_equal(unlink(go), 0);
	wait_until(object_has_ended("a") && object_has_ended("b"), PATIENCE_MS);
	launch_ended(0, "true");
}

/* -- the limit of pids ----------------------------------------------------- */

static char cgroup[64];

static void
write_cgroup(const char *file, long number)
{
	char path[128], text[32];

	(void)snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);
	int n = snprintf(text, sizeof(text), "%ld", number);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, (size_t)n), n);
}

/* PID 1 gets a control group of its own. */
static void
enter_cgroup(void)
{
	(void)snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/pids/sbx-%d",
	    (int)getpid());
	if (access("/sys/fs/cgroup/pids", F_OK) != 0)
		(void)snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/sbx-%d",
		    (int)getpid());
	if (mkdir(cgroup, 0755) != 0)
		skip();
	write_cgroup("cgroup.procs", objects_run.pid);
}

/* There may be as many processes as there are, and so many more. */
static void
allow_pids(long more)
{
	char path[128];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/pids.current", cgroup);
	char *text = fd_read_file(path, 64, NULL, &e);
	assert_non_null(text);
	write_cgroup("pids.max", strtol(text, NULL, 10) + more);
	free(text);
}

static void
leave_cgroup(void)
{
	write_cgroup("../cgroup.procs", objects_run.pid);
	assert_int_equal(rmdir(cgroup), 0);
}

static void
at_the_limit_of_pids_what_needs_none_goes_on(void **state)
{
	const struct wire_exec x = {.script = "true", .id = "x", .keep = true};
	const struct wire_act input = {.what = WIRE_ACT_INPUT, .id = "fed"};
	const struct wire_act go_on = {
	    .what = WIRE_ACT_SIGNAL, .id = "b", .signal = SIGCONT};
	const struct wire_exec fed = {.script = "exec sleep 1000",
	    .id = "fed",
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	struct init in;

	(void)state;
	launch_ended(0, "true");
	enter_cgroup();
	object_start(&in, &fed);
	object_detach(&in);
	object_launch("b", "sleep 1000 & exec sleep 1000");
	wait_until(init_marked() == 3, PATIENCE_MS);
	wait_until(pid1_children(&objects_run) == 2, PATIENCE_MS);
	allow_pids(0);
	object_call(&in);
	init_request(&in, &x);
	assert_int_equal(object_refusal(&in), WIRE_FAIL_LIMIT);
	object_attach(&in, name(0), 0);
	assert_int_equal(object_refusal(&in), WIRE_FAIL_LIMIT);
	assert_int_equal(object_do(&input), WIRE_FAIL_LIMIT);
	assert_int_equal(objects_count(), 3);
	assert_int_equal(object_do(&go_on), 0);
	/* A supervisor, but no command. */
	allow_pids(1);
	object_call(&in);
	init_request(&in, &x);
	assert_int_equal(object_refusal(&in), WIRE_FAIL_LIMIT);
	wait_until(pid1_children(&objects_run) == 2, PATIENCE_MS);
	assert_int_equal(objects_count(), 3);
	assert_int_equal(object_end("b"), 0);
	assert_true(object_has_ended("b"));
	launch_ended(1, "true");
	assert_int_equal(object_end("fed"), 0);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	leave_cgroup();
}

static void
pid_1_is_small_before_and_after(void **state)
{
	struct outcome o;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_true(memory_kib("Private_Dirty") <= 100);
	for (int i = 0; i < 3; i++) {
		launch_ended(i, "echo hi");
		object_read(name(i), 0, &o);
		outcome_release(&o);
	}
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	assert_int_equal(objects_count(), 3);
	assert_true(memory_kib("Private_Dirty") <= 200);
}

static void
pid_1_is_small_after_much_at_once(void **state)
{
	static struct init in[300];

	(void)state;
	for (int i = 0; i < 300; i++) {
		const struct wire_exec x = {
		    .script = "read x", .id = name(i), .open_stdin = true};

		object_start(&in[i], &x);
	}
	assert_int_equal(objects_count(), 300);
	for (int i = 0; i < 300; i++)
		init_say(&in[i], WIRE_STDIN, "\n", 1);
	wait_until(objects_count() == 0, PATIENCE_MS);
	for (int i = 0; i < 300; i++)
		object_hang_up(&in[i]);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	assert_true(memory_kib("Private_Dirty") <= 200);
	launch_ended(0, "true");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(the_oldest_that_has_ended_goes_first),
	    OBJECT_TEST(what_runs_is_not_forgotten_for_something_new),
	    OBJECT_TEST(sixteen_full_rings_fit_and_more_make_the_oldest_go),
	    OBJECT_TEST(what_runs_shares_what_there_is),
	    OBJECT_TEST(a_killed_supervisor_leaves_its_command_ended),
	    OBJECT_TEST(a_reader_hears_that_the_supervisor_was_killed),
	    OBJECT_TEST(a_reset_by_force_leaves_kept_commands_listed_as_ended),
	    OBJECT_TEST(a_signal_from_inside_does_not_end_the_run),
	    OBJECT_TEST(a_reset_may_come_from_inside),
	    OBJECT_TEST(at_the_limit_of_pids_what_needs_none_goes_on),
	    OBJECT_TEST(pid_1_is_small_before_and_after),
	    OBJECT_TEST(pid_1_is_small_after_much_at_once),
	};

	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
