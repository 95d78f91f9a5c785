/* Feeding an exec that runs. */
#include "../wait.h"
#include "lib/fd.h"
#include "object_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static void
launch(const char *id, const char *script)
{
	const struct wire_exec x = {.script = script,
	    .id = id,
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	struct init in;

	object_start(&in, &x);
	object_detach(&in);
}

static enum wire_fail
feed(const char *id, const char *text, bool close)
{
	return object_feed(id, text, strlen(text), close);
}

static void
input_comes_in_pieces_and_ends_when_told(void **state)
{
	struct wire_info info;
	struct outcome o;

	(void)state;
	launch("a", "cat; echo end");
	assert_int_equal(feed("a", "one ", false), 0);
	wait_until(object_find("a", &info) && info.end == 4, PATIENCE_MS);
	assert_int_equal(feed("a", "two ", false), 0);
	assert_int_equal(feed("a", "", false), 0);
	wait_until(object_find("a", &info) && info.end == 8, PATIENCE_MS);
	assert_false(info.ended);
	assert_int_equal(feed("a", "three ", true), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "one two three end\n");
	outcome_release(&o);
}

static void
after_its_end_there_is_no_input(void **state)
{
	(void)state;
	launch("a", "cat >/dev/null; sleep 1000");
	assert_int_equal(feed("a", "", true), 0);
	assert_int_equal(feed("a", "more", false), WIRE_FAIL_EXEC_ENDED);
	assert_int_equal(feed("a", "", true), WIRE_FAIL_EXEC_ENDED);
	launch("b", "exit 0");
	wait_until(object_has_ended("b"), PATIENCE_MS);
	assert_int_equal(feed("b", "more", false), WIRE_FAIL_EXEC_ENDED);
	assert_int_equal(feed("c", "more", false), WIRE_FAIL_EXEC_ABSENT);
	object_launch("d", "sleep 1000");
	assert_int_equal(feed("d", "more", false), WIRE_FAIL_EXEC_ENDED);
}

static void
a_command_may_close_its_input(void **state)
{
	(void)state;
	launch("a", "exec <&-; echo up; sleep 1000");
	/* Nobody can know before some of it was in vain. */
	wait_until(
	    feed("a", "more", false) == WIRE_FAIL_EXEC_ENDED, PATIENCE_MS);
	assert_false(object_has_ended("a"));
}

static void
much_input_waits_for_a_slow_command(void **state)
{
	const size_t size = 10 << 20;
	char *text = malloc(size);
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < size; i++)
		text[i] = (char)(i * 31 >> 7);
	launch("a",
	    "sleep 0.5; (head -c 100000; sleep 0.2; cat) | cksum | cut -f2 "
	    "-d' '");
	assert_int_equal(object_feed("a", text, size, true), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "10485760\n");
	outcome_release(&o);
	free(text);
}

static void
every_byte_arrives_as_it_was(void **state)
{
	const size_t size = 3000001;
	char *text = malloc(size);
	struct wire_info info;
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < size; i++)
		text[i] = (char)(i * 31 >> 7);
	launch("a", "cat; sleep 0.2");
	assert_int_equal(object_feed("a", text, 1000001, false), 0);
	assert_int_equal(object_feed("a", text + 1000001, 1000000, false), 0);
	assert_int_equal(object_feed("a", text + 2000001, 1000000, true), 0);
	wait_until(object_find("a", &info) && info.end == size, PATIENCE_MS);
	object_read("a", 0, &o);
	assert_int_equal(o.out.size, 1 << 20);
	assert_memory_equal(o.out.data, text + size - (1 << 20), 1 << 20);
	outcome_release(&o);
	free(text);
}

/* Feeding begins, and may close it. */
static void
begin_feeding(const char *id, struct init *in)
{
	const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = id, .close = true};
	BUF_AUTO frame = BUF_INIT(200);
	struct err e = ERR_INIT;

	wire_put_act(&frame, &act);
	object_call(in);
	check_ok(fd_write_all(in->to, frame.data, frame.size,
		     clock_mono_ms() + PATIENCE_MS, &e),
	    &e);
	init_wait_started(in);
}

static void
what_a_command_ended_by_was_taken(void **state)
{
	const char *payload;
	struct init in;
	size_t size;

	(void)state;
	launch("a", "read line");
	begin_feeding("a", &in);
	init_say(&in, WIRE_STDIN, "line\n", 5);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_int_equal(init_next(&in, &payload, &size), WIRE_ROOM);
	init_say(&in, WIRE_STDIN_END, NULL, 0);
	assert_int_equal(init_next(&in, &payload, &size), WIRE_DONE);
	object_hang_up(&in);
}

static void
a_feeder_that_leaves_has_fed_what_it_sent(void **state)
{
	struct wire_info info;
	struct init in;

	(void)state;
	launch("a", "cat");
	begin_feeding("a", &in);
	init_say(&in, WIRE_STDIN, "some", 4);
	wait_until(object_find("a", &info) && info.end == 4, PATIENCE_MS);
	object_hang_up(&in);
	wait_until(pid1_children(&objects_run) == 1, PATIENCE_MS);
	/* It did not get to the end, so that is still open. */
	assert_int_equal(feed("a", " more", true), 0);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_true(object_find("a", &info));
	assert_int_equal(info.end, 9);
}

static void
a_command_that_ends_turns_its_feeder_away(void **state)
{
	const size_t size = 1 << 20;
	char *text = calloc(1, size);

	(void)state;
	/* (Else its end of the pipe is closed, and what comes is dropped.) */
	launch("a", "exec 3<&0; sleep 1000 <&3 & sleep 0.5; exit 3");
	assert_int_equal(
	    object_feed("a", text, size, false), WIRE_FAIL_EXEC_ENDED);
	free(text);
}

static void
a_command_that_runs_under_a_host_can_be_fed_by_others(void **state)
{
	const struct wire_exec x = {.script = "cat; echo end",
	    .id = "a",
	    .feedable = true,
	    .open_stdin = true};
	const char *payload;
	struct outcome o;
	struct init in;
	size_t size;

	(void)state;
	object_start(&in, &x);
	init_say(&in, WIRE_STDIN, "mine ", 5);
	assert_int_equal(init_next(&in, &payload, &size), WIRE_ROOM);
	assert_int_equal(feed("a", "theirs ", true), 0);
	init_finish(&in, NULL, 0, &o);
	assert_string_equal(o.out.data, "mine theirs end\n");
	outcome_release(&o);
	object_hang_up(&in);
}

static void
a_terminal_takes_lines_and_its_end_is_a_character(void **state)
{
	const struct wire_exec x = {
	    .script = "stty -echo; echo up; cat; echo one; cat; echo two",
	    .id = "a",
	    .keep = true,
	    .feedable = true,
	    .cols = 80,
	    .rows = 24};
	struct wire_info info;
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	wait_until(object_find("a", &info) && info.end == 4, PATIENCE_MS);
	assert_int_equal(feed("a", "line\n", true), 0);
	wait_until(object_find("a", &info) && info.end == 15, PATIENCE_MS);
	/* Not at the start of a line. */
	assert_int_equal(feed("a", "part", true), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\r\nline\r\none\r\nparttwo\r\n");
	outcome_release(&o);
}

static void
a_terminal_interrupts_what_is_in_its_foreground(void **state)
{
	const struct wire_exec x = {.script =
					"trap 'echo int; exit 7' INT; echo up; "
					"while :; do sleep 0.01; done",
	    .id = "a",
	    .keep = true,
	    .feedable = true,
	    .cols = 80,
	    .rows = 24};
	struct wire_info info;
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	wait_until(object_find("a", &info) && info.end == 4, PATIENCE_MS);
	assert_int_equal(feed("a", "\3", false), 0);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "up\r\n^Cint\r\n");
	assert_int_equal(o.exit.code, 7);
	outcome_release(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(input_comes_in_pieces_and_ends_when_told),
	    OBJECT_TEST(after_its_end_there_is_no_input),
	    OBJECT_TEST(a_command_may_close_its_input),
	    OBJECT_TEST(much_input_waits_for_a_slow_command),
	    OBJECT_TEST(every_byte_arrives_as_it_was),
	    OBJECT_TEST(what_a_command_ended_by_was_taken),
	    OBJECT_TEST(a_feeder_that_leaves_has_fed_what_it_sent),
	    OBJECT_TEST(a_command_that_ends_turns_its_feeder_away),
	    OBJECT_TEST(a_command_that_runs_under_a_host_can_be_fed_by_others),
	    OBJECT_TEST(a_terminal_takes_lines_and_its_end_is_a_character),
	    OBJECT_TEST(a_terminal_interrupts_what_is_in_its_foreground),
	};

	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
