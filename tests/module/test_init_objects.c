/* Execs that outlive their stream: leaving them and finding them. */
#include "../wait.h"
#include "object_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 30000

/* -- leaving --------------------------------------------------------------- */

static void
a_detached_command_survives_its_connection(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a", "read x; sleep 0.2; echo hi; exit 3");
	wait_until(object_has_ended("a"), PATIENCE_MS);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "hi\n");
	assert_int_equal(o.exit.code, 3);
	outcome_release(&o);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
}

/* An exec that ends before its host says anything more. */
static struct wire_info
end_at_once(const struct wire_exec *x)
{
	struct wire_info info;
	struct outcome o;
	struct init in;

	object_start(&in, x);
	init_finish(&in, NULL, 0, &o);
	outcome_release(&o);
	object_hang_up(&in);
	assert_true(object_find(x->id, &info) && info.ended);
	return info;
}

static void
a_command_that_ends_before_it_is_detached_counts_as_detached(void **state)
{
	struct wire_exec x = {.script = "true", .id = "a", .keep = true};

	(void)state;
	assert_true(end_at_once(&x).detached);
	/* What nobody was about to leave does not. */
	x.id = "b";
	x.go_on = true;
	assert_false(end_at_once(&x).detached);
	x.id = "c";
	x.go_on = false;
	x.cols = x.rows = 20;
	assert_false(end_at_once(&x).detached);
	/* A terminal can be left, too: then its host says so. */
	x.id = "d";
	x.leaving = true;
	assert_true(end_at_once(&x).detached);
}

static void
a_host_that_goes_without_a_word_takes_a_kept_command_along(void **state)
{
	const struct wire_exec x = {
	    .script = ENDLESS, .id = "a", .keep = true, .open_stdin = true};
	struct wire_info info;
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_hang_up(&in);
	wait_until(init_marked() == 0, PATIENCE_MS);
	wait_until(object_has_ended("a"), PATIENCE_MS);
	assert_true(object_find("a", &info));
	assert_int_equal(info.exit.signal, SIGTERM);
	assert_false(info.detached);
}

static void
a_command_that_may_go_on_goes_on_without_its_host(void **state)
{
	const struct wire_exec x = {.script = "cat; sleep 0.3; echo on",
	    .id = "a",
	    .keep = true,
	    .go_on = true,
	    .open_stdin = true};
	struct wire_info info;
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	init_say(&in, WIRE_STDIN, "in ", 3);
	assert_true(object_find("a", &info));
	assert_false(info.detached);
	object_hang_up(&in);
	wait_until(object_find("a", &info) && info.detached, PATIENCE_MS);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "in on\n");
	outcome_release(&o);
}

static void
a_host_may_leave_in_the_middle_of_output_that_it_did_not_read(void **state)
{
	/* More than all buffers on the way to it, less than the ring. */
	const struct wire_exec x = {
	    .script = "head -c 900000 /dev/zero; echo .",
	    .id = "a",
	    .keep = true,
	    .go_on = true};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_hang_up(&in);
	object_read("a", 0, &o);
	assert_int_equal(o.out.size, 900002);
	assert_false(o.gapped);
	outcome_release(&o);
}

static void
a_text_for_its_input_arrives_though_the_host_has_left(void **state)
{
	const struct wire_exec x = {.script = "sleep 0.3; wc -c",
	    .id = "a",
	    .keep = true,
	    .open_stdin = true};
	static char text[WIRE_CHUNK];
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	for (size_t sent = 0; sent < WIRE_WINDOW_KEPT; sent += sizeof(text))
		init_say(&in, WIRE_STDIN, text, sizeof(text));
	init_say(&in, WIRE_STDIN_END, NULL, 0);
	object_detach(&in);
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "1048576\n");
	outcome_release(&o);
}

static void
its_deadline_goes_on_after_the_host_has_left(void **state)
{
	const struct wire_exec x = {
	    .script = ENDLESS, .id = "a", .keep = true, .timeout_ms = 300};
	struct outcome o;
	struct init in;

	(void)state;
	object_start(&in, &x);
	object_detach(&in);
	object_read("a", 0, &o);
	assert_true(o.exit.timed_out);
	assert_int_equal(init_marked(), 0);
	outcome_release(&o);
}

static void
a_command_that_is_not_kept_cannot_be_left(void **state)
{
	const struct wire_exec x = {.script = ENDLESS, .id = "a"};
	struct init in;

	(void)state;
	object_start(&in, &x);
	init_say(&in, WIRE_DETACH, NULL, 0);
	wait_until(init_marked() == 0, PATIENCE_MS);
	object_hang_up(&in);
}

/* -- the list -------------------------------------------------------------- */

static void
every_command_is_listed_while_it_runs(void **state)
{
	static const char *const argv[] = {"sleep", "1000", NULL};
	const struct wire_exec plain = {.argv = argv, .id = "plain"};
	const struct wire_exec old = {.script = ENDLESS};
	struct wire_info info;
	struct init in, other;

	(void)state;
	object_start(&in, &plain);
	object_start(&other, &old);
	object_launch("kept", "echo hi; " ENDLESS);
	assert_int_equal(objects_count(), 2);
	assert_true(object_find("plain", &info));
	assert_string_equal(info.cmd, "sleep 1000");
	assert_false(info.kept || info.detached || info.ended || info.tty);
	assert_true(info.started_ms <= clock_wall_ms());
	assert_true(info.started_ms > clock_wall_ms() - PATIENCE_MS);
	wait_until(object_find("kept", &info) && info.end == 3, PATIENCE_MS);
	assert_string_equal(info.cmd, "echo hi; " ENDLESS);
	assert_true(info.kept && info.detached && !info.ended);
	object_hang_up(&in);
	object_hang_up(&other);
	wait_until(objects_count() == 1, PATIENCE_MS);
	assert_int_equal(object_end("kept"), 0);
	assert_int_equal(objects_count(), 1);
}

static void
what_was_never_started_is_not_listed(void **state)
{
	const struct wire_exec x = {
	    .script = "true", .cwd = "/nope", .id = "a", .keep = true};
	struct init in;

	(void)state;
	object_call(&in);
	init_request(&in, &x);
	assert_int_equal(object_refusal(&in), WIRE_FAIL_CWD);
	wait_until(pid1_children(&objects_run) == 0, PATIENCE_MS);
	assert_int_equal(objects_count(), 0);
}

static void
a_long_command_is_cut_between_characters(void **state)
{
	BUF_AUTO script = BUF_INIT(4000);
	struct wire_info info;

	(void)state;
	buf_adds(&script, ": ");
	while (script.size < WIRE_CMD_MAX + 100)
		buf_adds(&script, "\xf0\x9f\x98\x80");
	object_launch("a", script.data);
	assert_true(object_find("a", &info));
	assert_int_equal(strlen(info.cmd), WIRE_CMD_MAX - 2);
	assert_memory_equal(info.cmd, script.data, WIRE_CMD_MAX - 2);
}

static void
a_list_longer_than_a_socket_holds_comes_whole(void **state)
{
	static struct init in[300];
	const size_t count = sizeof(in) / sizeof(in[0]);
	char script[1100], id[8];
	const struct wire_exec x = {
	    .script = script, .id = id, .open_stdin = true};
	struct init reader;

	(void)state;
	memset(script, ' ', sizeof(script));
	memcpy(script, "read x;", 7);
	script[sizeof(script) - 1] = '\0';
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(id, sizeof(id), "%zu", i);
		object_start(&in[i], &x);
	}
	/* Somebody who asks and does not read holds up nobody. */
	object_call(&reader);
	init_say(&reader, WIRE_LIST, NULL, 0);
	assert_int_equal(objects_count(), count);
	object_hang_up(&reader);
	for (size_t i = 0; i < count; i++)
		init_say(&in[i], WIRE_STDIN, "\n", 1);
	wait_until(objects_count() == 0, PATIENCE_MS);
	for (size_t i = 0; i < count; i++)
		object_hang_up(&in[i]);
}

static void
what_is_asked_may_come_in_single_bytes(void **state)
{
	const struct wire_attach attach = {"a", 0};
	const struct wire_act act = {.what = WIRE_ACT_END, .id = "a"};
	BUF_AUTO frames = BUF_INIT(1000);
	const char *payload;
	struct init in;
	size_t size;

	(void)state;
	object_launch("a", "echo hi; " ENDLESS);
	wire_put_attach(&frames, &attach);
	wire_put(&frames, WIRE_LIST, NULL, 0);
	wire_put_act(&frames, &act);
	for (size_t at = 0; at < frames.size;) {
		size_t end =
		    at + WIRE_HEAD + wire_payload_size(frames.data + at);

		object_call(&in);
		while (at < end) {
			assert_int_equal(
			    write(in.to, frames.data + at++, 1), 1);
			(void)poll(NULL, 0, 1);
		}
		enum wire_type type = init_next(&in, &payload, &size);
		assert_true(type == WIRE_STARTED || type == WIRE_INFO ||
			    type == WIRE_DONE);
		object_hang_up(&in);
	}
	assert_true(object_has_ended("a"));
}

static void
nonsense_is_refused(void **state)
{
	static const struct {
		enum wire_type type;
		size_t size;
	} bad[] = {{WIRE_DETACH, 0}, {WIRE_ACT, 1}, {WIRE_ACT, 50},
	    {WIRE_ATTACH, 9}, {WIRE_STDIN, 60000}, {WIRE_INFO, 500},
	    {(enum wire_type)200, 1}};
	char bytes[WIRE_HEAD + 100];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct init in;

		memset(bytes, 'x', sizeof(bytes));
		wire_head(bytes, bad[i].type, bad[i].size);
		size_t size = WIRE_HEAD + bad[i].size;
		size = size < sizeof(bytes) ? size : sizeof(bytes);
		object_call(&in);
		assert_int_equal(write(in.to, bytes, size), size);
		assert_int_equal(object_refusal(&in), WIRE_FAIL_INTERNAL);
	}
	assert_int_equal(objects_count(), 0);
}

/* -- what outlives them --------------------------------------------------- */

static void
children_that_live_on_do_not_keep_it_from_ending(void **state)
{
	struct outcome o;

	(void)state;
	object_launch("a", "setsid sleep 1000 & echo hi; exit 4");
	object_read("a", 0, &o);
	assert_string_equal(o.out.data, "hi\n");
	assert_int_equal(o.exit.code, 4);
	outcome_release(&o);
	assert_true(object_has_ended("a"));
	assert_int_equal(init_marked(), 1);
	/* To end it ends those. */
	assert_int_equal(object_end("a"), 0);
	assert_int_equal(init_marked(), 0);
	assert_true(object_has_ended("a"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    OBJECT_TEST(a_detached_command_survives_its_connection),
	    OBJECT_TEST(
		a_command_that_ends_before_it_is_detached_counts_as_detached),
	    OBJECT_TEST(
		a_host_that_goes_without_a_word_takes_a_kept_command_along),
	    OBJECT_TEST(a_command_that_may_go_on_goes_on_without_its_host),
	    OBJECT_TEST(
		a_host_may_leave_in_the_middle_of_output_that_it_did_not_read),
	    OBJECT_TEST(a_text_for_its_input_arrives_though_the_host_has_left),
	    OBJECT_TEST(its_deadline_goes_on_after_the_host_has_left),
	    OBJECT_TEST(a_command_that_is_not_kept_cannot_be_left),
	    OBJECT_TEST(every_command_is_listed_while_it_runs),
	    OBJECT_TEST(what_was_never_started_is_not_listed),
	    OBJECT_TEST(a_long_command_is_cut_between_characters),
	    OBJECT_TEST(a_list_longer_than_a_socket_holds_comes_whole),
	    OBJECT_TEST(what_is_asked_may_come_in_single_bytes),
	    OBJECT_TEST(nonsense_is_refused),
	    OBJECT_TEST(children_that_live_on_do_not_keep_it_from_ending),
	};

	return cmocka_run_group_tests(tests, objects_begin, NULL);
}
