/* Exec objects (CONTRACT 3): commands that outlive the request that started
 * them, and whoever looks at them. */
#include "harness.h"
#include "objects.h"

#include <string.h>

#define END_MS 30000
#define RING (1 << 20) /* what is kept of an exec's output */

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_WORKERS=2", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
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

static void
a_detached_command_goes_on_and_is_read_later(void **state)
{
	(void)state;
	REPLY_AUTO r = http_do("POST", run_url(object_run, "exec"),
	    "{\"cmd\":\"cat; " UNTIL(
		"go") "echo two >&2; exit 3\","
		      "\"detach\":true,\"stdin\":\"one\\n\"}",
	    NULL);
	assert_int_equal(r.status, 202);
	const char *id = json_string_value(json_at(r.json, "exec.id"));
	assert_string_equal(http_header(&r.headers, "X-Exec-Id"), id);
	assert_string_equal(
	    json_string_value(json_at(r.json, "exec.state")), "running");
	assert_true(json_is_true(json_at(r.json, "exec.detached")));
	assert_non_null(json_string_value(json_at(r.json, "server")));
	struct stream *s = object_follow(id, "");
	assert_string_equal(http_header(stream_headers(s), "X-Exec-Id"), id);
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_string_equal(ev->data, "one\n");
	assert_int_equal(ev->offset, 4);
	object_let("go");
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_string_equal(x.err.data, "two\n");
	assert_int_equal(exit_code(&x), 3);
	REPLY_AUTO after = object_get(id);
	assert_string_equal(
	    json_string_value(json_at(after.json, "state")), "exited");
	assert_int_equal(
	    json_integer_value(json_at(after.json, "exitCode")), 3);
	assert_true(json_is_false(json_at(after.json, "timedOut")));
	assert_null(json_object_get(after.json, "error"));
	assert_true(
	    strcmp(json_string_value(json_at(after.json, "endedAt")),
		json_string_value(json_at(after.json, "startedAt"))) >= 0);
	assert_int_equal(
	    json_integer_value(json_at(after.json, "output.end")), 8);
	EXECUTED_AUTO again = object_read(id, "");
	assert_string_equal(again.out.data, "one\n");
	assert_string_equal(again.err.data, "two\n");
	assert_int_equal(exit_code(&again), 3);
}

static void
execs_are_listed_in_the_order_of_their_starts(void **state)
{
	char id[3][ULID_SIZE];

	(void)state;
	for (int i = 0; i < 3; i++)
		object_sh(UNTIL("go"), id[i]);
	REPLY_AUTO r = http_do("GET", run_url(object_run, "execs"), NULL, NULL);
	assert_int_equal(r.status, 200);
	const json_t *list = json_at(r.json, "execs");
	assert_int_equal(json_array_size(list), 3);
	for (size_t i = 0; i < 3; i++) {
		const json_t *exec = json_array_get(list, i);

		assert_string_equal(
		    json_string_value(json_at(exec, "id")), id[i]);
		assert_string_equal(
		    json_string_value(json_at(exec, "cmd")), UNTIL("go"));
	}
	/* In any case of letters. */
	str_lower(id[0]);
	assert_true(object_is(id[0], "running"));
	object_let("go");
	wait_until(object_is(id[0], "exited"), END_MS);
}

static void
a_plain_exec_is_seen_while_it_runs_and_keeps_nothing(void **state)
{
	(void)state;
	struct stream *s = stream_open(
	    run_url(object_run, "exec"), "{\"cmd\":\"" UNTIL("go") "\"}", NULL);
	char id[ULID_SIZE];
	(void)snprintf(
	    id, sizeof(id), "%s", http_header(stream_headers(s), "X-Exec-Id"));
	REPLY_AUTO r = object_get(id);
	assert_int_equal(r.status, 200);
	assert_true(json_is_false(json_at(r.json, "detached")));
	assert_null(json_object_get(r.json, "output"));
	REPLY_AUTO refused =
	    http_do("GET", object_url(id, "stream"), NULL, NULL);
	check_problem(&refused, 409, "exec_keeps_no_output", NULL);
	object_let("go");
	assert_non_null(stream_await(s, "exit", END_MS));
	assert_null(strstr(stream_body(s)->data, "id: "));
	stream_close(s);
	wait_until(object_post(id, "signal", "{\"signal\":9}") == 404, END_MS);
}

/* Bytes of output from an offset on, whatever stream they came on. */
static size_t
size_from(const char *id, int64_t offset)
{
	char query[60];

	(void)snprintf(query, sizeof(query), "?offset=%lld", (long long)offset);
	EXECUTED_AUTO x = object_read(id, query);
	assert_int_equal(exit_code(&x), 0);
	return x.out.size + x.err.size;
}

static void
output_is_replayed_from_any_byte(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_sh("printf abc; printf de >&2; printf fgh", id);
	wait_until(object_is(id, "exited"), END_MS);
	for (int64_t offset = 0; offset <= 8; offset++)
		assert_int_equal(size_from(id, offset), 8 - offset);
	EXECUTED_AUTO x = object_read(id, "?offset=2&format=json");
	assert_non_null(strstr(x.out.data, "\""));
	REPLY_AUTO lines = http_do("GET", object_url(id, "stream"), NULL,
	    "Accept: application/x-ndjson", NULL);
	assert_int_equal(lines.status, 200);
	assert_true(str_starts(lines.body.data, "{\"event\":\"ok\"}\n"));
	assert_non_null(strstr(
	    lines.body.data, "{\"event\":\"exit\",\"data\":{\"exitCode\":0,"));
	REPLY_AUTO head = http_do("HEAD", object_url(id, "stream"), NULL, NULL);
	assert_int_equal(head.status, 200);
}

/* Two streams and characters of several bytes, in pieces. */
#define MIXED                                                                 \
	"for i in 1 2 3 4 5 6; do printf 'a\\303\\244'; printf '\\342' >&2; " \
	"sleep 0.02; printf '\\202\\254' >&2; sleep 0.02; done"

static void
frames_tell_where_to_go_on(void **state)
{
	char id[ULID_SIZE];
	const struct event *ev;
	size_t out = 0, err = 0, marks = 0;

	(void)state;
	object_sh(MIXED, id);
	wait_until(object_is(id, "exited"), END_MS);
	EXECUTED_AUTO whole = object_read(id, "");
	assert_int_equal(whole.out.size, 18);
	assert_int_equal(whole.err.size, 18);
	struct stream *s = object_follow(id, "");
	while ((ev = stream_next(s, END_MS)) != NULL) {
		char query[60];

		if (str_eq(ev->name, "stdout"))
			out += ev->size;
		if (str_eq(ev->name, "stderr"))
			err += ev->size;
		if (ev->offset < 0)
			continue;
		marks++;
		(void)snprintf(query, sizeof(query), "?offset=%lld",
		    (long long)ev->offset);
		EXECUTED_AUTO rest = object_read(id, query);
		assert_string_equal(rest.out.data, whole.out.data + out);
		assert_string_equal(rest.err.data, whole.err.data + err);
	}
	stream_close(s);
	assert_true(marks > 0);
}

static void
what_is_no_longer_kept_is_a_gap(void **state)
{
	int64_t end = 3 * RING;
	char id[ULID_SIZE], want[100];

	(void)state;
	object_sh("head -c 3145728 /dev/zero | tr '\\0' x", id);
	wait_until(object_is(id, "exited"), END_MS);
	int64_t first = object_int(id, "output.first");
	assert_int_equal(object_int(id, "output.end"), end);
	assert_true(first > 0 && end - first <= RING && end - first > RING / 2);
	struct stream *s = object_follow(id, "?offset=5");
	const struct event *ev = stream_next(s, END_MS);
	while (ev != NULL && str_eq(ev->name, ":"))
		ev = stream_next(s, END_MS);
	assert_non_null(ev);
	assert_string_equal(ev->name, "gap");
	(void)snprintf(want, sizeof(want), "{\"offset\":%lld,\"dropped\":%lld}",
	    (long long)first, (long long)first - 5);
	assert_string_equal(ev->data, want);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(x.out.size, end - first);
	assert_int_equal(size_from(id, first), end - first);
	assert_int_equal(size_from(id, end - 3), 3);
}

static void
a_reader_that_does_not_read_stops_nobody(void **state)
{
	struct stream *s[4];
	char id[ULID_SIZE];

	(void)state;
	object_sh(
	    "echo up; " UNTIL(
		"go") "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end",
	    id);
	for (int i = 0; i < 4; i++) {
		s[i] = object_follow(id, "");
		assert_non_null(stream_await(s[i], "stdout", END_MS));
	}
	object_let("go");
	/* Nobody reads, and it ends; then some do. */
	wait_until(object_is(id, "exited"), END_MS);
	for (int i = 1; i < 4; i++) {
		EXECUTED_AUTO x = exec_finish(s[i]);
		assert_int_equal(exit_code(&x), 0);
		assert_true(str_ends(x.out.data, "\nend\n"));
	}
	for (int i = 0; i < 4; i++)
		stream_close(s[i]);
}

/* Processes of PID 1, but for supervisors. */
#define KILL_READERS                                                        \
	"for p in /proc/[0-9]*; do [ \"$(cut -c1-14 $p/cmdline | tr '\\0' " \
	"' ')\" = '/.sbx/init run' ] || continue; "                         \
	"[ \"$(cat $p/task/*/children)\" ] || kill -9 ${p#/proc/}; done; "  \
	"touch go"

static void
a_reader_that_is_killed_in_the_run_is_replaced(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	needs_host_kernel("its /proc does not tell of children");
	object_sh("printf 'a\\303'; " UNTIL("go") "printf '\\244b'", id);
	struct stream *s = object_follow(id, "");
	assert_non_null(stream_await(s, "stdout", END_MS));
	EXECUTED_AUTO kill = exec_sh(object_run, KILL_READERS);
	assert_int_equal(exit_code(&kill), 0);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_string_equal(x.out.data, "\303\244b");
	assert_int_equal(exit_code(&x), 0);
}

static void
so_many_run_at_once_and_the_oldest_ended_are_forgotten(void **state)
{
	char first[ULID_SIZE], second[ULID_SIZE], id[ULID_SIZE];

	(void)state;
	object_sh("echo first", first);
	wait_until(object_is(first, "exited"), END_MS);
	object_sh("echo second", second);
	wait_until(object_is(second, "exited"), END_MS);
	for (int i = 0; i < 31; i++)
		object_sh(UNTIL("go") "echo kept", id);
	assert_int_equal(object_post(first, "signal", "{\"signal\":1}"), 404);
	assert_true(object_is(second, "exited"));
	object_sh(UNTIL("go") "echo kept", id);
	REPLY_AUTO more = http_do("POST", run_url(object_run, "exec"),
	    "{\"cmd\":\"true\",\"detach\":true}", NULL);
	check_problem(&more, 409, "too_many_execs", NULL);
	EXECUTED_AUTO plain = exec_sh(object_run, "echo plain");
	assert_int_equal(exit_code(&plain), 0);
	object_let("go");
	wait_until(object_is(id, "exited"), END_MS);
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "kept\n");
}

static void
who_asks_for_nonsense_is_told_so(void **state)
{
	static const char *const unknown[] = {
	    "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", "01ARZ3NDEKTSV4RRFFQ69G5FA!"};
	static const char *const query[] = {"stream?offset=-1",
	    "stream?offset=x", "stream?offset=%zz", "stream?format=xml"};
	char id[ULID_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		REPLY_AUTO get = object_get(unknown[i]);
		check_problem(&get, 404, "exec_not_found", NULL);
		REPLY_AUTO stream = http_do(
		    "GET", object_url(unknown[i], "stream"), NULL, NULL);
		check_problem(&stream, 404, "exec_not_found", NULL);
		REPLY_AUTO end =
		    http_do("DELETE", object_url(unknown[i], ""), NULL, NULL);
		check_problem(&end, 404, "exec_not_found", NULL);
		REPLY_AUTO stdin_ =
		    http_do("POST", object_url(unknown[i], "stdin"), "x", NULL);
		check_problem(&stdin_, 404, "exec_not_found", NULL);
	}
	object_sh("true", id);
	for (size_t i = 0; i < sizeof(query) / sizeof(query[0]); i++) {
		REPLY_AUTO r =
		    http_do("GET", object_url(id, query[i]), NULL, NULL);
		check_problem(&r, 400, "invalid_input", NULL);
	}
	REPLY_AUTO method = http_do("PUT", object_url(id, "stream"), "", NULL);
	check_problem(&method, 405, "method_not_allowed", NULL);
	REPLY_AUTO run = http_do(
	    "GET", "/v1/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/execs", NULL, NULL);
	check_problem(&run, 404, "run_not_found", NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_detached_command_goes_on_and_is_read_later),
	    TEST(execs_are_listed_in_the_order_of_their_starts),
	    TEST(a_plain_exec_is_seen_while_it_runs_and_keeps_nothing),
	    TEST(output_is_replayed_from_any_byte),
	    TEST(frames_tell_where_to_go_on),
	    TEST(what_is_no_longer_kept_is_a_gap),
	    TEST(a_reader_that_does_not_read_stops_nobody),
	    TEST(a_reader_that_is_killed_in_the_run_is_replaced),
	    TEST(so_many_run_at_once_and_the_oldest_ended_are_forgotten),
	    TEST(who_asks_for_nonsense_is_told_so),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
