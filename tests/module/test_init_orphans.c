/*
 * Where the kernel has no subreapers (gVisor), what loses its parent becomes
 * PID 1's child: it is of its command all the same.
 */
#include "../wait.h"
#include "init_fixture.h"
#include "lib/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define STAY "trap \"\" TERM; while :; do sleep 1; done"

/* Orphans in sessions of their own, in the command's, and without any of its
 * environment there; all of them ignore TERM. */
#define ORPHANS                                  \
	"(setsid sh -c '" STAY "' &)\n"          \
	"(setsid setsid sh -c '" STAY "' &)\n"   \
	"(sh -c '" STAY "' &)\n"                 \
	"(env -i /bin/sh -c '" STAY "' &)\n"     \
	"(unset SBX_EXEC; sh -c '" STAY "' &)\n" \
	"sleep 1000 & kill -STOP $!\n"

/* PID 1 has no children: no supervisor, and no orphan of any command. */
static bool
nothing_is_left(void)
{
	return init_supervisors(0) == 0 && init_marked() == 0;
}

static void
deadline_leaves_no_orphan(void **state)
{
	const struct wire_exec x = {
	    .script = ORPHANS "while :; do sleep 1000; done",
	    .timeout_ms = 500};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_true(o.exit.timed_out);
	assert_int_equal(init_marked(), 0);
	wait_until(nothing_is_left(), PATIENCE_MS);
	outcome_release(&o);
}

static void
host_that_leaves_takes_orphans_along(void **state)
{
	const struct wire_exec x = {
	    .script = ORPHANS "echo up; while :; do sleep 1000; done"};
	const char *payload;
	struct init in;
	size_t size;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	assert_int_equal(init_next(&in, &payload, &size), WIRE_STDOUT);
	init_leave(&in);
	wait_until(nothing_is_left(), PATIENCE_MS);
}

static void
kill_after_the_shell_has_ended_finds_what_it_left(void **state)
{
	const struct wire_exec x = {
	    .script = ORPHANS "echo up; exec sleep 1000"};
	const char *payload;
	struct outcome o;
	struct init in;
	size_t size;

	(void)state;
	init_start(&in, &x);
	init_wait_started(&in);
	assert_int_equal(init_next(&in, &payload, &size), WIRE_STDOUT);
	init_say(&in, WIRE_KILL, NULL, 0);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(init_marked(), 0);
	wait_until(nothing_is_left(), PATIENCE_MS);
	outcome_release(&o);
	init_leave(&in);
}

/* Of one command, and not of the other. */
static void
orphans_of_others_are_left_alone(void **state)
{
	const struct wire_exec first = {
	    .script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit 5"};
	const struct wire_exec second = {
	    .script = ORPHANS "while :; do sleep 1000; done",
	    .timeout_ms = 300};
	struct outcome o;

	(void)state;
	init_run(&first, NULL, 0, &o);
	assert_int_equal(o.exit.code, 5);
	outcome_release(&o);
	wait_until(init_marked() == 1, PATIENCE_MS);
	init_run(&second, NULL, 0, &o);
	assert_true(o.exit.timed_out);
	outcome_release(&o);
	assert_int_equal(init_marked(), 1);
	/* It and its supervisor, which sees that it has ended. */
	wait_until(init_supervisors(0) == 2, PATIENCE_MS);
	init_kill_marked();
	wait_until(nothing_is_left(), PATIENCE_MS);
}

static void
orphans_get_no_sigpipe_from_writing_to_nobody(void **state)
{
	char path[] = "/tmp/sbx-test-XXXXXX", script[300];
	const struct wire_exec x = {.script = script};
	struct outcome o;
	FD_AUTO fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	/* More than a pipe holds, after the host has left. */
	(void)snprintf(script, sizeof(script),
	    "(setsid sh -c 'sleep 0.3; head -c 300000 /dev/zero && "
	    "echo done >%s' &) ; exit 0",
	    path);
	init_run(&x, NULL, 0, &o);
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
	wait_until(lseek(fd, 0, SEEK_END) == 5, PATIENCE_MS);
	wait_until(nothing_is_left(), PATIENCE_MS);
	(void)unlink(path);
}

static void
the_setting_cannot_be_asked_away(void **state)
{
	static const char *const env[] = {"SBX_EXEC=mine", NULL};
	const struct wire_exec x = {.script = "echo $SBX_EXEC", .env = env};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_string_not_equal(o.out.data, "mine\n");
	assert_string_not_equal(o.out.data, "\n");
	outcome_release(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deadline_leaves_no_orphan),
	    cmocka_unit_test(host_that_leaves_takes_orphans_along),
	    cmocka_unit_test(kill_after_the_shell_has_ended_finds_what_it_left),
	    cmocka_unit_test(orphans_of_others_are_left_alone),
	    cmocka_unit_test(orphans_get_no_sigpipe_from_writing_to_nobody),
	    cmocka_unit_test(the_setting_cannot_be_asked_away),
	};

	return cmocka_run_group_tests(tests, init_begin_alone, init_end);
}
