/* Commands on a terminal (CONTRACT 3). */
#include "harness.h"
#include "objects.h"

#include <string.h>

#define END_MS 30000

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

static int
with_run(void **state)
{
	(void)state;
	run_new(IMAGE_PLAIN, object_run);
	return 0;
}

static int
without_run(void **state)
{
	(void)state;
	run_end(object_run);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

/* Somebody at a terminal: what was shown so far. */
struct seat {
	char id[ULID_SIZE];
	struct stream *s;
	struct buf shown;
};

static void
sit_down(struct seat *at, const char *cmd)
{
	const struct buf fresh = BUF_INIT(1 << 20);

	at->shown = fresh;
	object_start(json_pack("{s:s,s:{s:i,s:i}}", "cmd", cmd, "tty", "cols",
			 100, "rows", 40),
	    at->id);
	at->s = object_follow(at->id, "");
	assert_int_equal(stream_status(at->s), 200);
}

/* Wait until it shows that. */
static void
see(struct seat *at, const char *text)
{
	while (strstr(at->shown.data, text) == NULL) {
		const struct event *ev = stream_await(at->s, "stdout", END_MS);

		if (ev == NULL)
			fail_msg("not \"%s\" but: %s", text, at->shown.data);
		buf_add(&at->shown, ev->data, ev->size);
	}
}

static void
type(struct seat *at, const char *keys)
{
	buf_reset(&at->shown);
	assert_int_equal(object_post(at->id, "stdin", keys), 204);
}

/* It ends with that code. */
static void
get_up(struct seat *at, int code)
{
	EXECUTED_AUTO x = exec_finish(at->s);

	assert_int_equal(exit_code(&x), code);
	assert_int_equal(x.err.size, 0);
	stream_close(at->s);
	buf_release(&at->shown);
}

#define LOOK                                                               \
	"test -t 0 && test -t 1 && test -t 2 && tty && stty size && echo " \
	"$TERM; echo err >&2"

static void
a_command_has_a_terminal_of_that_size(void **state)
{
	(void)state;
	EXECUTED_AUTO x =
	    exec_json(object_run, json_pack("{s:s,s:{s:i,s:i}}", "cmd", LOOK,
				      "tty", "cols", 132, "rows", 43));
	assert_int_equal(exit_code(&x), 0);
	assert_true(str_starts(x.out.data, "/dev/pts/"));
	assert_non_null(
	    strstr(x.out.data, "\r\n43 132\r\nxterm-256color\r\nerr\r\n"));
	assert_int_equal(x.err.size, 0);
	EXECUTED_AUTO plain = exec_json(object_run,
	    json_pack("{s:s,s:b,s:{s:s}}", "cmd", "stty size; echo $TERM",
		"tty", 1, "env", "TERM", "vt100"));
	assert_string_equal(plain.out.data, "24 80\r\nvt100\r\n");
	REPLY_AUTO r = http_do("POST", run_url(object_run, "exec"),
	    "{\"cmd\":\"true\",\"tty\":{\"cols\":2000}}", NULL);
	check_problem(&r, 400, "invalid_input", "cols");
}

static void
a_shell_is_talked_to(void **state)
{
	struct seat at;

	(void)state;
	needs_host_kernel("its terminals send no signals");
	sit_down(&at, "PS1='ready> ' sh -i");
	REPLY_AUTO r = object_get(at.id);
	assert_true(json_is_true(json_at(r.json, "tty")));
	assert_true(json_is_true(json_at(r.json, "stdin")));
	see(&at, "ready> ");
	type(&at, "echo $((6*7))x\n");
	see(&at, "42x\r\nready> ");
	/* Keys that the terminal makes something of. */
	type(&at, "sh -c 'echo busy$((1+1)); exec sleep 300'\n");
	see(&at, "busy2\r\n");
	type(&at, "\003");
	see(&at, "ready> ");
	type(&at, "exit 5\n");
	get_up(&at, 5);
}

static void
end_of_file_is_a_key(void **state)
{
	struct seat at;

	(void)state;
	needs_host_kernel("its terminals know no end");
	sit_down(&at, "cat; echo over");
	type(&at, "line\n");
	see(&at, "line\r\nline\r\n");
	type(&at, "\004");
	see(&at, "over\r\n");
	get_up(&at, 0);
}

static void
its_size_can_change(void **state)
{
	static const char *const bad[] = {"{}", "{\"cols\":80}",
	    "{\"cols\":80,\"rows\":0}", "{\"cols\":80,\"rows\":1001}",
	    "{\"cols\":\"80\",\"rows\":1}"};
	struct seat at;
	char id[ULID_SIZE];

	(void)state;
	sit_down(&at,
	    "trap 'stty size' WINCH; stty size; while [ ! -e go ]; do "
	    "sleep 0.02; done");
	see(&at, "40 100\r\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r =
		    http_do("POST", object_url(at.id, "resize"), bad[i], NULL);
		check_problem(&r, 400, "invalid_input", NULL);
	}
	assert_int_equal(
	    object_post(at.id, "resize", "{\"cols\":7,\"rows\":1000}"), 204);
	see(&at, "1000 7\r\n");
	object_let("go");
	get_up(&at, 0);
	REPLY_AUTO late = http_do("POST", object_url(at.id, "resize"),
	    "{\"cols\":80,\"rows\":24}", NULL);
	check_problem(&late, 409, "exec_not_running", NULL);
	object_sh("sleep 300", id);
	REPLY_AUTO none = http_do("POST", object_url(id, "resize"),
	    "{\"cols\":80,\"rows\":24}", NULL);
	check_problem(&none, 400, "invalid_input", "terminal");
}

static void
text_is_typed_and_more_can_be(void **state)
{
	struct seat at = {.shown = BUF_INIT(1 << 20)};

	(void)state;
	object_start(
	    json_pack("{s:s,s:b,s:s}", "cmd", "read a; read b; echo $a-$b",
		"tty", 1, "stdin", "first\n"),
	    at.id);
	at.s = object_follow(at.id, "");
	type(&at, "second\n");
	see(&at, "first-second\r\n");
	get_up(&at, 0);
}

static void
signals_go_to_its_foreground(void **state)
{
	struct seat at;

	(void)state;
	needs_host_kernel("its terminals tell no foreground");
	sit_down(&at, "PS1='ready> ' sh -i");
	see(&at, "ready> ");
	type(&at, "sh -c 'trap \"echo told\" USR1; echo up$((1+1)); while :; "
		  "do sleep 0.02; done'\n");
	see(&at, "up2\r\n");
	assert_int_equal(
	    object_post(at.id, "signal", "{\"signal\":\"USR1\"}"), 204);
	see(&at, "told\r\n");
	assert_int_equal(
	    object_post(at.id, "signal", "{\"signal\":\"INT\"}"), 204);
	see(&at, "ready> ");
	REPLY_AUTO end = http_do("DELETE", object_url(at.id, ""), NULL, NULL);
	assert_int_equal(end.status, 204);
	EXECUTED_AUTO x = exec_finish(at.s);
	assert_non_null(x.exit);
	stream_close(at.s);
	buf_release(&at.shown);
}

static void
who_leaves_a_terminal_hangs_up_or_comes_back(void **state)
{
	static const char *const body[] = {
	    "{\"cmd\":\"echo up; exec sleep 87656\",\"tty\":true}",
	    "{\"cmd\":\"echo up; exec sleep 87656\",\"tty\":true,"
	    "\"onDisconnect\":\"continue\"}"};
	char id[2][ULID_SIZE];

	(void)state;
	needs_host_kernel("its terminals send no signals");
	for (int i = 0; i < 2; i++) {
		struct stream *s =
		    stream_open(run_url(object_run, "exec"), body[i], NULL);

		(void)snprintf(id[i], ULID_SIZE, "%s",
		    http_header(stream_headers(s), "X-Exec-Id"));
		assert_non_null(stream_await(s, "stdout", END_MS));
		stream_close(s);
	}
	wait_until(object_is(id[0], "exited"), END_MS);
	assert_true(object_is(id[1], "running"));
	struct stream *s = object_follow(id[1], "");
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_string_equal(ev->data, "up\r\n");
	assert_int_equal(object_post(id[1], "stdin", "\003"), 204);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), 130);
	assert_string_equal(
	    json_string_value(json_at(x.exit, "signal")), "SIGINT");
}

static void
the_images_user_has_it_too(void **state)
{
	char run[ULID_SIZE];

	(void)state;
	run_new(IMAGE_USER, run);
	EXECUTED_AUTO x = exec_json(
	    run, json_pack("{s:s,s:b}", "cmd",
		     "id -u; echo x >$(tty); ls -ln $(tty) | cut -d' ' -f1,2",
		     "tty", 1));
	assert_int_equal(exit_code(&x), 0);
	assert_true(str_starts(x.out.data, "1000\r\nx\r\ncrw"));
	run_end(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_command_has_a_terminal_of_that_size),
	    TEST(a_shell_is_talked_to),
	    TEST(end_of_file_is_a_key),
	    TEST(its_size_can_change),
	    TEST(text_is_typed_and_more_can_be),
	    TEST(signals_go_to_its_foreground),
	    TEST(who_leaves_a_terminal_hangs_up_or_comes_back),
	    TEST(the_images_user_has_it_too),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
