/* Execs that outlive their stream: reading what they say. */
#include "../wait.h"
#include "object_fixture.h"

#include <poll.h>
#include <string.h>

#define PATIENCE_MS 30000
#define RING 1048576 /* bytes of output that are kept */

static void
output_can_be_read_again_from_any_offset(void **state)
{
	static const char all[] = "one\ntwo\nthree\n";
	struct outcome o;

	(void)state;
	object_launch("a", "echo one; echo two; echo three");
	wait_until(object_has_ended("a"), PATIENCE_MS);
	for (size_t i = 0; i <= sizeof(all) + 5; i++) {
		size_t from = i < sizeof(all) ? i : sizeof(all) - 1;

		object_read("a", i, &o);
		assert_string_equal(o.out.data, all + from);
		assert_int_equal(o.exit.code, 0);
		assert_false(o.gapped);
		outcome_release(&o);
	}
}

static void
streams_keep_their_order(void **state)
{
	const struct wire_exec x = {
	    .script =
		"for i in 1 2 3; do read x; echo o$i; read x; echo e$i >&2; "
		"done",
	    .id = "a",
	    .keep = true,
	    .feedable = true,
	    .open_stdin = true};
	struct wire_info info;
	struct init in;
	const char *payload;
	size_t size;
	BUF_AUTO heard = BUF_INIT(1000);
	enum wire_type type;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	/* Pieces that lie there together have no order. */
	for (uint64_t i = 1; i <= 6; i++) {
		assert_int_equal(object_feed("a", "\n", 1, false), 0);
		wait_until(
		    object_find("a", &info) && info.end == 3 * i, PATIENCE_MS);
	}
	wait_until(object_has_ended("a"), PATIENCE_MS);
	object_attach(&in, "a", 0);
	init_wait_started(&in);
	while ((type = init_next(&in, &payload, &size)) != WIRE_EXIT) {
		buf_addc(&heard, type == WIRE_STDOUT ? '1' : '2');
		buf_add(&heard, payload, size);
	}
	assert_string_equal(heard.data, "1o1\n2e1\n1o2\n2e2\n1o3\n2e3\n");
	object_hang_up(&in);
}

static void
what_was_dropped_is_a_gap(void **state)
{
	struct wire_info info;
	struct outcome o;

	(void)state;
	object_launch("a", "yes | head -c 3000000; echo; echo end");
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_true(object_find("a", &info));
	assert_int_equal(info.end, 3000005);
	assert_int_equal(info.first, 3000005 - RING);
	object_read("a", 5, &o);
	assert_true(o.gapped);
	assert_int_equal(o.gap, info.first);
	assert_int_equal(o.out.size, RING);
	assert_memory_equal(o.out.data, "\ny\ny", 4);
	assert_string_equal(o.out.data + RING - 5, "\nend\n");
	outcome_release(&o);
	object_read("a", info.first, &o);
	assert_false(o.gapped);
	assert_int_equal(o.out.size, RING);
	outcome_release(&o);
}

static void
a_reader_gets_what_comes_as_it_comes(void **state)
{
	const char *payload;
	struct init in;
	size_t size;

	(void)state;
	object_launch("a", "while :; do echo; sleep 0.05; done");
	object_attach(&in, "a", 0);
	init_wait_started(&in);
	for (int i = 0; i < 5; i++)
		assert_int_equal(init_next(&in, &payload, &size), WIRE_STDOUT);
	assert_false(object_has_ended("a"));
	object_hang_up(&in);
	assert_int_equal(object_end("a"), 0);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
}

static void
a_reader_that_stops_holds_up_nobody(void **state)
{
	struct init stopped[3];
	struct outcome o;

	(void)state;
	/* More than a ring, and it waits for nobody. */
	object_launch("a", "sleep 0.2; head -c 5000000 /dev/zero; echo end");
	for (int i = 0; i < 3; i++) {
		object_attach(&stopped[i], "a", 0);
		init_wait_started(&stopped[i]);
	}
	object_read("a", 0, &o);
	assert_memory_equal(o.out.data + o.out.size - 5, "\0end\n", 5);
	outcome_release(&o);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	/* What it missed meanwhile is a gap to it. */
	init_finish(&stopped[0], NULL, 0, &o);
	assert_memory_equal(o.out.data + o.out.size - 5, "\0end\n", 5);
	assert_true(o.gapped);
	outcome_release(&o);
	assert_true(pid1_children(&objects_run) >= 2);
	for (int i = 0; i < 3; i++)
		object_hang_up(&stopped[i]);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
}

static void
many_readers_read_the_same(void **state)
{
	struct init in[20];
	struct outcome o;

	(void)state;
	object_launch("a",
	    "sleep 0.2; i=0; while [ $i -lt 2000 ]; do echo line $i; "
	    "echo err $i >&2; i=$((i+1)); done");
	for (int i = 0; i < 20; i++)
		object_attach(&in[i], "a", 0);
	for (int i = 0; i < 20; i++) {
		init_finish(&in[i], NULL, 0, &o);
		assert_int_equal(
		    o.out.size, 10 * 7 + 90 * 8 + 900 * 9 + 1000 * 10);
		assert_int_equal(
		    o.err.size, 10 * 6 + 90 * 7 + 900 * 8 + 1000 * 9);
		assert_int_equal(o.exit.code, 0);
		outcome_release(&o);
		object_hang_up(&in[i]);
	}
}

static void
the_hosts_own_stream_slows_the_command(void **state)
{
	const struct wire_exec x = {
	    .script = "head -c 20000000 /dev/zero", .id = "a", .keep = true};
	struct wire_info info;
	struct outcome o;
	struct init in;
	uint64_t before;

	(void)state;
	object_start(&in, &x);
	do {
		assert_true(object_find("a", &info));
		before = info.end;
		(void)poll(NULL, 0, 100);
		assert_true(object_find("a", &info));
	} while (info.end == 0 || info.end != before);
	assert_true(info.end < 5000000);
	init_finish(&in, NULL, 0, &o);
	assert_int_equal(o.out.size, 20000000);
	outcome_release(&o);
	object_hang_up(&in);
}

static void
what_is_not_there_cannot_be_read(void **state)
{
	const struct wire_exec plain = {.script = ENDLESS, .id = "plain"};
	struct init in, reader;

	(void)state;
	object_start(&in, &plain);
	object_attach(&reader, "other", 0);
	assert_int_equal(object_refusal(&reader), WIRE_FAIL_EXEC_ABSENT);
	object_attach(&reader, "plain", 0);
	assert_int_equal(object_refusal(&reader), WIRE_FAIL_EXEC_OUTPUT);
	object_hang_up(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(output_can_be_read_again_from_any_offset),
	    OBJECT_TEST(streams_keep_their_order),
	    OBJECT_TEST(what_was_dropped_is_a_gap),
	    OBJECT_TEST(a_reader_gets_what_comes_as_it_comes),
	    OBJECT_TEST(a_reader_that_stops_holds_up_nobody),
	    OBJECT_TEST(many_readers_read_the_same),
	    OBJECT_TEST(the_hosts_own_stream_slows_the_command),
	    OBJECT_TEST(what_is_not_there_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
