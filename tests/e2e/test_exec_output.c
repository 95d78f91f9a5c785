/* Exec: what a command prints is what the client gets (CONTRACT 3, frames). */
#include "harness.h"

#include "lib/utf8.h"

#include <string.h>

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

/* Every frame of an exec, as they came. */
static struct stream *
frames_of(const char *body, const char *header)
{
	struct stream *s = stream_open(run_url(id, "exec"), body, header, NULL);

	if (stream_status(s) != 200)
		fail_msg("exec: %ld", stream_status(s));
	return s;
}

static void
a_stream_says_what_it_is_and_begins_at_once(void **state)
{
	char canonical[ULID_SIZE];

	(void)state;
	struct stream *s =
	    frames_of("{\"cmd\":\"until [ -e begun ]; do sleep 0.05; done\"}",
		"Accept-Encoding: gzip, deflate");
	const struct buf *headers = stream_headers(s);
	assert_true(str_starts(
	    http_header(headers, "Content-Type"), "text/event-stream"));
	assert_null(http_header(headers, "Content-Encoding"));
	assert_null(http_header(headers, "Content-Length"));
	assert_true(ulid_parse(http_header(headers, "X-Exec-Id"), canonical));
	/* The command is silent: headers and comment must not wait for it. */
	const struct event *ev = stream_next(s, 30000);
	assert_non_null(ev);
	assert_string_equal(ev->name, ":");
	EXECUTED_AUTO go = exec_sh(id, "touch begun");
	assert_int_equal(exit_code(&go), 0);
	EXECUTED_AUTO x = exec_finish(s);
	assert_string_equal(x.frames.data, "exit ");
	assert_int_equal(exit_code(&x), 0);
	stream_close(s);
}

static void
blank_lines_and_carriage_returns_come_through(void **state)
{
	(void)state;
	EXECUTED_AUTO x =
	    exec_sh(id, "printf 'a\\n\\nb\\r\\nc\\rprogress 50%%\\r"
			"progress 100%%\\n\\n'");
	assert_string_equal(
	    x.out.data, "a\n\nb\r\nc\rprogress 50%\rprogress 100%\n\n");
	EXECUTED_AUTO y = exec_sh(id, "printf '\\n'; printf ' x \\n: y' >&2");
	assert_string_equal(y.out.data, "\n");
	assert_string_equal(y.err.data, " x \n: y");
	EXECUTED_AUTO z = exec_sh(id, "printf '\\n\\n\\n'");
	assert_string_equal(z.out.data, "\n\n\n");
}

static void
output_without_a_newline_does_not_gain_one(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(id, "printf 'hello \\nsandbox'");
	assert_string_equal(x.out.data, "hello \nsandbox");
	EXECUTED_AUTO none = exec_sh(id, ":");
	assert_string_equal(none.frames.data, "exit ");
}

/* A progress bar has no newline for minutes. */
static void
a_line_that_has_not_ended_arrives_too(void **state)
{
	(void)state;
	struct stream *s =
	    frames_of("{\"cmd\":\"printf '50%%\\\\r'; "
		      "until [ -e seen ]; do sleep 0.05; done\"}",
		NULL);
	const struct event *ev = stream_await(s, "stdout", 30000);
	assert_non_null(ev);
	assert_string_equal(ev->data, "50%\r");
	EXECUTED_AUTO go = exec_sh(id, "touch seen");
	assert_int_equal(exit_code(&go), 0);
	EXECUTED_AUTO x = exec_finish(s);
	assert_int_equal(exit_code(&x), 0);
	stream_close(s);
}

static void
a_character_is_never_split_over_two_frames(void **state)
{
	const struct event *ev;
	BUF_AUTO out = BUF_INIT(1000);
	BUF_AUTO err = BUF_INIT(1000);

	(void)state;
	/* Both streams are in the middle of a character at the same time. */
	struct stream *s = frames_of(
	    "{\"cmd\":\"printf '\\\\360'; sleep 0.05; printf '\\\\303' >&2; "
	    "sleep 0.05; printf '\\\\237\\\\230'; sleep 0.05; "
	    "printf '\\\\251' >&2; sleep 0.05; printf '\\\\200'\"}",
	    NULL);
	while ((ev = stream_next(s, 30000)) != NULL) {
		assert_true(utf8_valid(ev->data, ev->size));
		assert_null(strstr(ev->data, "\xef\xbf\xbd"));
		if (str_eq(ev->name, "stdout"))
			buf_adds(&out, ev->data);
		if (str_eq(ev->name, "stderr"))
			buf_adds(&err, ev->data);
	}
	stream_close(s);
	assert_string_equal(out.data, "\xf0\x9f\x98\x80");
	assert_string_equal(err.data, "\xc3\xa9");
}

static void
bytes_that_are_not_utf8_become_replacement_characters(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(
	    id, "printf 'a\\377b\\355\\240\\200c'; printf 'x\\342\\202' >&2");
	assert_string_equal(x.out.data, "a\xef\xbf\xbd"
					"b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
					"c");
	assert_string_equal(x.err.data, "x\xef\xbf\xbd");
	assert_true(str_ends(x.frames.data, "stderr exit "));
}

static void
nul_bytes_come_through(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(id, "printf 'a\\0b'");
	assert_int_equal(x.out.size, 3);
	assert_memory_equal(x.out.data, "a\0b", 3);
}

static void
json_format_makes_each_data_one_json_string(void **state)
{
	const struct event *ev;
	BUF_AUTO out = BUF_INIT(1000);

	(void)state;
	struct stream *s =
	    frames_of("{\"format\":\"json\",\"cmd\":"
		      "\"printf 'a\\\\r\\\\n\\\\nb\\\\0\\\\377'\"}",
		NULL);
	while ((ev = stream_next(s, 30000)) != NULL) {
		if (!str_eq(ev->name, "stdout"))
			continue;
		assert_null(strchr(ev->data, '\n'));
		json_auto_t *text = json_loadb(
		    ev->data, ev->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_true(json_is_string(text));
		buf_add(
		    &out, json_string_value(text), json_string_length(text));
	}
	stream_close(s);
	assert_int_equal(out.size, 9);
	assert_memory_equal(out.data, "a\r\n\nb\0\xef\xbf\xbd", 9);
}

static void
base64_format_carries_the_exact_bytes(void **state)
{
	(void)state;
	EXECUTED_AUTO one =
	    exec_json(id, json_pack("{s:s,s:s}", "format", "base64", "cmd",
			      "printf '\\000\\377\\r\\n'; printf ab >&2"));
	assert_string_equal(one.out.data, "AP8NCg==");
	assert_string_equal(one.err.data, "YWI=");
	assert_int_equal(exit_code(&one), 0);
}

static void
ndjson_has_the_same_events_as_json_lines(void **state)
{
	(void)state;
	struct stream *s =
	    frames_of("{\"cmd\":\"printf 'a\\\\rb\\\\n'; echo e >&2; exit 4\"}",
		"Accept: application/x-ndjson");
	assert_true(str_starts(http_header(stream_headers(s), "Content-Type"),
	    "application/x-ndjson"));
	const struct event *out = stream_await(s, "stdout", 30000);
	assert_non_null(out);
	assert_string_equal(out->data, "a\rb\n");
	const struct event *exit = stream_await(s, "exit", 30000);
	assert_non_null(exit);
	json_auto_t *said = json_loads(exit->data, 0, NULL);
	assert_int_equal(json_integer_value(json_at(said, "exitCode")), 4);
	assert_null(stream_next(s, 30000));
	/* Every line is one JSON object. */
	assert_null(strstr(stream_body(s)->data, "\n\n"));
	stream_close(s);
}

/* Frames of any size, cut anywhere: not a byte is lost or doubled. */
static void
long_output_is_complete(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(id, "seq 1 1000000");
	assert_int_equal(exit_code(&x), 0);
	assert_int_equal(x.out.size, 6888896);
	const char *p = x.out.data;
	for (long i = 1; i <= 1000000; i++) {
		char *end;

		if (strtol(p, &end, 10) != i || *end != '\n')
			fail_msg("after line %ld", i - 1);
		p = end + 1;
	}
}

static pid_t
find(const char *argument)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all);

	for (size_t i = 0; i < count; i++)
		if (str_eq(all[i].name, "head") &&
		    proc_has(all[i].pid, "cmdline", argument))
			return all[i].pid;
	return 0;
}

/* What a process has written so far, as its own /proc says. */
static int64_t
written_by(pid_t pid)
{
	char path[64];
	long long bytes = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	FILE *f = fopen(path, "re");
	if (f != NULL && fscanf(f, "rchar: %*d wchar: %lld", &bytes) != 1)
		bytes = -1;
	if (f != NULL)
		(void)fclose(f);
	return bytes;
}

/* Has it written nothing for half a second? */
static bool
is_stuck(pid_t pid)
{
	int64_t before = written_by(pid);

	(void)poll(NULL, 0, 500);
	return before > 0 && before == written_by(pid);
}

static void
check_memory(enum stack_kind kind, int64_t most_kb)
{
	pid_t pid[64];
	size_t count = stack_pids(kind, pid, 64);

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++)
		assert_in_range(proc_private_kb(pid[i]), 1, most_kb);
}

static void
a_client_that_does_not_read_slows_the_command_and_nothing_else(void **state)
{
	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	struct stream *s = frames_of(
	    "{\"cmd\":\"head -c 150111222 /dev/zero | tr '\\\\0' x\"}", NULL);
	wait_until(find("150111222") != 0, 30000);
	pid_t pid = find("150111222");
	wait_until(is_stuck(pid), 60000);
	check_memory(STACK_STREAM, 48 * 1024);
	check_memory(STACK_NGINX_WORKER, 48 * 1024);
	/* Others are served meanwhile. */
	EXECUTED_AUTO other = exec_sh(id, "echo hi");
	assert_string_equal(other.out.data, "hi\n");

	EXECUTED_AUTO x = exec_finish(s);
	assert_int_equal(exit_code(&x), 0);
	assert_int_equal(x.out.size, 150111222);
	stream_close(s);
	check_memory(STACK_STREAM, 48 * 1024);
}

static void
execs_at_the_same_time_do_not_mix(void **state)
{
	struct stream *s[20];
	char body[80], want[16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		(void)snprintf(body, sizeof(body),
		    "{\"cmd\":\"echo out%d; echo err%d >&2; exit %d\"}", i, i,
		    i);
		s[i] = frames_of(body, NULL);
	}
	for (int i = 0; i < 20; i++) {
		EXECUTED_AUTO x = exec_finish(s[i]);

		(void)snprintf(want, sizeof(want), "out%d\n", i);
		assert_string_equal(x.out.data, want);
		(void)snprintf(want, sizeof(want), "err%d\n", i);
		assert_string_equal(x.err.data, want);
		assert_int_equal(exit_code(&x), i);
		stream_close(s[i]);
	}
}

static void
silence_is_filled_with_keep_alive_comments(void **state)
{
	(void)state;
	struct stream *s = frames_of(
	    "{\"cmd\":\"until [ -e kept ]; do sleep 0.1; done; echo done\"}",
	    NULL);
	const struct event *ok = stream_next(s, 30000);
	assert_non_null(ok);
	assert_string_equal(ok->name, ":");
	const struct event *ev = stream_next(s, 60000);
	assert_non_null(ev);
	assert_string_equal(ev->name, ":");
	assert_string_equal(ev->data, "keep-alive");
	EXECUTED_AUTO go = exec_sh(id, "touch kept");
	assert_int_equal(exit_code(&go), 0);
	EXECUTED_AUTO x = exec_finish(s);
	assert_string_equal(x.out.data, "done\n");
	stream_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stream_says_what_it_is_and_begins_at_once),
	    cmocka_unit_test(blank_lines_and_carriage_returns_come_through),
	    cmocka_unit_test(output_without_a_newline_does_not_gain_one),
	    cmocka_unit_test(a_line_that_has_not_ended_arrives_too),
	    cmocka_unit_test(a_character_is_never_split_over_two_frames),
	    cmocka_unit_test(
		bytes_that_are_not_utf8_become_replacement_characters),
	    cmocka_unit_test(nul_bytes_come_through),
	    cmocka_unit_test(json_format_makes_each_data_one_json_string),
	    cmocka_unit_test(base64_format_carries_the_exact_bytes),
	    cmocka_unit_test(ndjson_has_the_same_events_as_json_lines),
	    cmocka_unit_test(long_output_is_complete),
	    cmocka_unit_test(
		a_client_that_does_not_read_slows_the_command_and_nothing_else),
	    cmocka_unit_test(execs_at_the_same_time_do_not_mix),
	    cmocka_unit_test(silence_is_filled_with_keep_alive_comments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
