/* What is done to an exec that runs: signals, sizes, its end; and fences. */
#include "../wait.h"
#include "lib/fd.h"
#include "object_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 30000
/* As test_init_kill.c has it: what leaves its session, its parent, and sense.
 */
#define STUBBORN                                                      \
	"trap '' TERM; setsid sh -c \"trap '' TERM; " ENDLESS "\" & " \
	"(setsid sh -c '(sleep 1000 &)' &); echo up; " ENDLESS

static enum wire_fail
signal_it(const char *id, int number)
{
	return object_do(&(struct wire_act){
	    .what = WIRE_ACT_SIGNAL, .id = id, .signal = (uint8_t)number});
}

static enum wire_fail
resize(const char *id, uint16_t cols, uint16_t rows)
{
	return object_do(&(struct wire_act){
	    .what = WIRE_ACT_RESIZE, .id = id, .cols = cols, .rows = rows});
}

/* Until it has said exactly so much. */
static void
wait_said(const char *id, const char *text)
{
	struct wire_info info;
	const char *payload;
	struct init in;
	size_t size;

	wait_until(
	    object_find(id, &info) && info.end >= strlen(text), PATIENCE_MS);
	assert_int_equal(info.end, strlen(text));
	object_attach(&in, id, 0);
	init_wait_started(&in);
	for (size_t got = 0; got < strlen(text); got += size) {
		assert_int_equal(init_next(&in, &payload, &size), WIRE_STDOUT);
		assert_memory_equal(payload, text + got, size);
	}
	object_hang_up(&in);
}

/* -- signals --------------------------------------------------------------- */

static void
a_signal_reaches_the_command(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a", "exec 2>/dev/null; trap 'echo hup' HUP; trap 'echo "
			   "bye; exit 5' USR2; echo up; "
			   "while :; do sleep 0.01; done");
	wait_said("a", "up\n");
	assert_int_equal(signal_it("a", SIGHUP), 0);
	wait_said("a", "up\nhup\n");
	assert_int_equal(signal_it("a", SIGUSR2), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\nhup\nbye\n");
	assert_int_equal(o.exit.code, 5);
	outcome_release(&o);
}

static void
a_signal_reaches_the_whole_process_group_and_no_other(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a",
	    "sleep 1000 & setsid sh -c 'echo up; exec sleep 1000' & "
	    "sleep 1000; echo never");
	wait_said("a", "up\n");
	assert_int_equal(signal_it("a", SIGKILL), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\n");
	assert_int_equal(o.exit.signal, SIGKILL);
	outcome_release(&o);
	wait_until(init_marked() == 1, PATIENCE_MS);
}

static void
signals_take_effect_in_their_order(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a", "echo up; " ENDLESS);
	wait_said("a", "up\n");
	/* A stop after a continuation would leave it stopped. */
	for (int i = 0; i < 50; i++) {
		assert_int_equal(signal_it("a", SIGSTOP), 0);
		assert_int_equal(signal_it("a", SIGCONT), 0);
	}
	assert_int_equal(signal_it("a", SIGTERM), 0);
	object_read("a", 0, &o);
	assert_int_equal(o.exit.signal, SIGTERM);
	outcome_release(&o);
}

static void
what_has_ended_takes_no_signal(void **state)
{
	(void)state;
	assert_int_equal(signal_it("a", SIGTERM), WIRE_FAIL_EXEC_ABSENT);
	object_launch("a", "true");
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_int_equal(signal_it("a", SIGTERM), WIRE_FAIL_EXEC_ENDED);
	assert_int_equal(resize("a", 1, 1), WIRE_FAIL_EXEC_TTY);
}

/* -- terminals ------------------------------------------------------------- */

static void
a_terminal_is_one(void **state)
{
	const struct wire_exec x = {
	    .script = "test -t 0 && test -t 1 && test -t 2 && stty size; "
		      "echo $TERM; tty >/dev/null && echo tty; exit 6",
	    .id = "a",
	    .keep = true,
	    .cols = 91,
	    .rows = 17};
	struct wire_info info;
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	init_finish(&in, NULL, 0, &o);
	assert_string_equal(o.out.data, "17 91\r\nxterm-256color\r\ntty\r\n");
	assert_int_equal(o.err.size, 0);
	assert_int_equal(o.exit.code, 6);
	outcome_release(&o);
	object_hang_up(&in);
	assert_true(object_find("a", &info));
	assert_true(info.tty);
}

static void
a_terminal_gets_a_new_size(void **state)
{
	const struct wire_exec x = {
	    .script = "trap 'stty size; exit 0' WINCH; echo up; "
		      "while :; do sleep 0.01; done",
	    .id = "a",
	    .keep = true,
	    .cols = 80,
	    .rows = 24};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	wait_said("a", "up\r\n");
	assert_int_equal(resize("a", 132, 50), 0);
	init_finish(&in, NULL, 0, &o);
	assert_string_equal(o.out.data, "up\r\n50 132\r\n");
	outcome_release(&o);
	object_hang_up(&in);
}

static void
a_signal_goes_to_what_is_in_the_foreground(void **state)
{
	/* With job control, the sleep is in a process group of its own. */
	const struct wire_exec x = {
	    .script = "bash -mc 'echo up; sleep 1000; echo code $?'",
	    .id = "a",
	    .keep = true,
	    .cols = 80,
	    .rows = 24};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	wait_said("a", "up\r\n");
	wait_until(init_marked() == 3, PATIENCE_MS);
	assert_int_equal(signal_it("a", SIGTERM), 0);
	init_finish(&in, NULL, 0, &o);
	assert_non_null(strstr(o.out.data, "code 143\r\n"));
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
	object_hang_up(&in);
}

static void
a_terminals_host_takes_the_command_along_unless_it_may_go_on(void **state)
{
	struct wire_exec x = {.script = "echo up; " ENDLESS,
	    .id = "a",
	    .keep = true,
	    .cols = 80,
	    .rows = 24};
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_hang_up(&in);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	x.id = "b";
	x.go_on = true;
	object_start(&in, &x);
	object_hang_up(&in);
	wait_said("b", "up\r\n");
	assert_false(object_has_ended("b"));
}

/* -- the end --------------------------------------------------------------- */

static void
an_end_leaves_nothing_of_the_tree(void **state)
{
	struct wire_info info;

	(void)state;
	object_launch("a", STUBBORN);
	wait_said("a", "up\n");
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(init_marked(), 0);
	assert_true(object_find("a", &info));
	assert_true(info.ended);
	assert_int_equal(info.exit.signal, SIGKILL);
	/* There is nothing left to do then. */
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(object_end("b"), WIRE_FAIL_EXEC_ABSENT);
}

static void
an_end_asks_politely_first(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a",
	    "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; "
	    "done");
	wait_said("a", "up\n");
	assert_int_equal(object_end("a"), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\nbye\n");
	assert_int_equal(o.exit.code, 9);
	outcome_release(&o);
}

static void
an_end_is_told_to_the_host_whose_command_it_was(void **state)
{
	const struct wire_exec x = {.script = ENDLESS, .id = "a"};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(init_marked(), 0);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.exit.signal, SIGTERM);
	outcome_release(&o);
	object_hang_up(&in);
	wait_until(objects_count() == 0, PATIENCE_MS);
}

static void
an_end_does_not_wait_for_a_host_that_does_not_read(void **state)
{
	const struct wire_exec x = {.script = "yes", .id = "a", .keep = true};
	struct init in;

	(void)state;
	object_start(&in, &x);
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(init_marked(), 0);
	object_hang_up(&in);
}

static void
a_stopped_supervisor_does_as_it_is_told(void **state)
{
	(void)state;
	object_launch("a", "echo up; " ENDLESS);
	wait_said("a", "up\n");
	wait_until(pid1_children(&objects_run) == 1, PATIENCE_MS);
	assert_int_equal(pid1_signal_children(&objects_run, SIGSTOP), 1);
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(init_marked(), 0);
}

/* -- fences ---------------------------------------------------------------- */

static void
begin_fence(struct init *in, uint64_t generation)
{
	BUF_AUTO frame = BUF_INIT(64);
	struct err e = ERR_INIT;

	wire_put_fence(&frame, generation);
	object_call(in);
	check_ok(fd_write_all(in->to, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
}

static void
end_fence(struct init *in)
{
	struct wire_fenced fenced;
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	assert_int_equal(init_next(in, &payload, &size), WIRE_FENCED);
	check_ok(wire_get_fenced(payload, size, &fenced, &e), &e);
	assert_true(fenced.done);
	object_hang_up(in);
}

static void
fence(uint64_t generation)
{
	struct init in;

	begin_fence(&in, generation);
	end_fence(&in);
}

static void
a_fence_ends_what_a_host_holds_and_not_what_it_has_left(void **state)
{
	const struct wire_exec held = {.script = "echo up; " ENDLESS,
	    .id = "held",
	    .keep = true,
	    .go_on = true,
	    .generation = 1};
	struct wire_exec left = held;
	struct wire_info info;
	struct init in, gone;

	(void)state;
	left.id = "left";
	object_start(&in, &left);
	object_detach(&in);
	left.id = "gone";
	object_start(&gone, &left);
	object_hang_up(&gone);
	wait_until(object_find("gone", &info) && info.detached, PATIENCE_MS);
	object_start(&in, &held);
	fence(2);
	assert_true(object_find("held", &info));
	assert_true(info.ended && info.exit.fenced);
	assert_true(object_find("left", &info) && !info.ended);
	assert_true(object_find("gone", &info) && !info.ended);
	object_hang_up(&in);
}

static void
a_host_that_lost_the_run_can_leave_nothing_behind(void **state)
{
	const struct wire_exec x = {.script = ENDLESS,
	    .id = "a",
	    .keep = true,
	    .go_on = true,
	    .generation = 1};
	struct outcome o;
	struct init in, fencing, late;

	(void)state;
	object_start(&in, &x);
	/* It hears both at once. */
	pid_t supervisor = pid1_hold_child(&objects_run);
	init_say(&in, WIRE_DETACH, NULL, 0);
	begin_fence(&fencing, 2);
	object_call(&late);
	init_request(&late, &x);
	assert_int_equal(object_refusal(&late), WIRE_FAIL_FENCED);
	pid1_let_go(supervisor);
	end_fence(&fencing);
	init_finish(&in, NULL, 0, &o);
	assert_true(o.exit.fenced);
	assert_int_equal(init_marked(), 0);
	outcome_release(&o);
	object_hang_up(&in);
}

static void
acts_of_an_older_generation_are_refused(void **state)
{
	static const enum wire_act_what all[] = {
	    WIRE_ACT_INPUT, WIRE_ACT_SIGNAL, WIRE_ACT_RESIZE, WIRE_ACT_END};
	struct wire_act act = {.id = "a", .signal = SIGKILL};
	struct wire_info info;
	struct outcome o;

	(void)state;
	object_launch("a", "echo up; " ENDLESS);
	wait_said("a", "up\n");
	fence(5);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		act.what = all[i];
		act.generation = 4;
		assert_int_equal(object_do(&act), WIRE_FAIL_FENCED);
	}
	assert_true(object_find("a", &info) && !info.ended);
	act.what = WIRE_ACT_SIGNAL;
	act.generation = 5;
	assert_int_equal(object_do(&act), 0);
	/* Reading is everybody's. */
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\n");
	outcome_release(&o);
}

static void
a_fence_ends_who_feeds_under_an_older_generation(void **state)
{
	const struct wire_exec x = {.script = "sleep 1000",
	    .id = "a",
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	const struct wire_act act = {.what = WIRE_ACT_INPUT, .id = "a"};
	static char text[WIRE_CHUNK];
	BUF_AUTO frame = BUF_INIT(200);
	struct err e = ERR_INIT;
	const char *payload;
	struct init in, feeder;
	size_t size;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	wire_put_act(&frame, &act);
	object_call(&feeder);
	check_ok(fd_write_all(feeder.to, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
	init_wait_started(&feeder);
	/* As much as goes, so that it waits for the command. */
	uint32_t more, room = WIRE_WINDOW;
	struct pollfd p = {feeder.from, POLLIN, 0};
	do {
		init_say(&feeder, WIRE_STDIN, text, room);
		room = 0;
		if (poll(&p, 1, 500) == 1) {
			assert_int_equal(
			    init_next(&feeder, &payload, &size), WIRE_ROOM);
			check_ok(wire_get_room(payload, size, &more, &e), &e);
			room = more;
		}
	} while (room > 0);
	fence(1);
	assert_int_equal(object_refusal(&feeder), WIRE_FAIL_FENCED);
	assert_false(object_has_ended("a"));
	wait_until(pid1_children(&objects_run) == 1, PATIENCE_MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(a_signal_reaches_the_command),
	    OBJECT_TEST(a_signal_reaches_the_whole_process_group_and_no_other),
	    OBJECT_TEST(signals_take_effect_in_their_order),
	    OBJECT_TEST(what_has_ended_takes_no_signal),
	    OBJECT_TEST(a_terminal_is_one),
	    OBJECT_TEST(a_terminal_gets_a_new_size),
	    OBJECT_TEST(a_signal_goes_to_what_is_in_the_foreground),
	    OBJECT_TEST(
		a_terminals_host_takes_the_command_along_unless_it_may_go_on),
	    OBJECT_TEST(an_end_leaves_nothing_of_the_tree),
	    OBJECT_TEST(an_end_asks_politely_first),
	    OBJECT_TEST(an_end_is_told_to_the_host_whose_command_it_was),
	    OBJECT_TEST(an_end_does_not_wait_for_a_host_that_does_not_read),
	    OBJECT_TEST(a_stopped_supervisor_does_as_it_is_told),
	    OBJECT_TEST(
		a_fence_ends_what_a_host_holds_and_not_what_it_has_left),
	    OBJECT_TEST(a_host_that_lost_the_run_can_leave_nothing_behind),
	    OBJECT_TEST(acts_of_an_older_generation_are_refused),
	    OBJECT_TEST(a_fence_ends_who_feeds_under_an_older_generation),
	};

	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
