/* Acting on exec objects (CONTRACT 3, 5): input, signals, the end; and who may.
 */
#include "harness.h"
#include "lib/mem.h"
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 30000

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_CLIENT_STALL_SEC=3", NULL};

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

/* A command that reads, detached. */
static void
start_fed(const char *cmd, char ret_id[ULID_SIZE])
{
	object_start(json_pack("{s:s,s:b}", "cmd", cmd, "stdin", 1), ret_id);
}

/* The output of it has become that. */
static void
await_size(const char *id, int64_t size)
{
	wait_until(object_int(id, "output.end") == size, END_MS);
}

static void
lease(const char *body, int generation)
{
	REPLY_AUTO r =
	    http_do("POST", run_url(object_run, "lease"), body, NULL);

	if (r.status != 200)
		fail_msg("lease: %ld %s", r.status, r.body.data);
	assert_int_equal(
	    json_integer_value(json_at(r.json, "lease.generation")),
	    generation);
}

/* -- standard input -------------------------------------------------------- */

static void
input_comes_in_pieces_and_is_closed(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_start(
	    json_pack("{s:s,s:b}", "cmd", "cat; echo over", "stdin", 1), id);
	assert_int_equal(object_post(id, "stdin", "one\n"), 204);
	await_size(id, 4);
	assert_int_equal(object_post(id, "stdin", ""), 204);
	assert_int_equal(object_post(id, "stdin?close=0", "two\n"), 204);
	assert_int_equal(object_post(id, "stdin?close=1", "three"), 204);
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "one\ntwo\nthreeover\n");
	assert_int_equal(exit_code(&x), 0);
	REPLY_AUTO late = http_do("POST", object_url(id, "stdin"), "x", NULL);
	check_problem(&late, 409, "exec_not_running", NULL);
	start_fed("cat", id);
	assert_int_equal(object_post(id, "stdin?close=1", NULL), 204);
	wait_until(object_is(id, "exited"), END_MS);
	object_sh("cat; " UNTIL("go"), id);
	REPLY_AUTO shut = http_do("POST", object_url(id, "stdin"), "x", NULL);
	check_problem(&shut, 409, "exec_not_running", NULL);
	REPLY_AUTO odd =
	    http_do("POST", object_url(id, "stdin?close=x"), "x", NULL);
	check_problem(&odd, 400, "invalid_input", "close");
}

static void
an_attached_command_is_fed_from_elsewhere(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	struct stream *s = stream_open(run_url(object_run, "exec"),
	    "{\"cmd\":\"read x; echo got=$x; cat\",\"stdin\":true}", NULL);
	assert_int_equal(stream_status(s), 200);
	(void)snprintf(
	    id, sizeof(id), "%s", http_header(stream_headers(s), "X-Exec-Id"));
	assert_int_equal(object_post(id, "stdin", "word\n"), 204);
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_string_equal(ev->data, "got=word\n");
	assert_int_equal(object_post(id, "stdin?close=1", "rest"), 204);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_string_equal(x.out.data, "rest");
	assert_int_equal(exit_code(&x), 0);
}

static char *
many_bytes(size_t size)
{
	char *text = mem_alloc(size + 1);

	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + i * i % 25);
	text[size] = '\0';
	return text;
}

/* Case 51: more than a pipe holds; nobody who reads on. */
static void
input_of_any_size_arrives_whole(void **state)
{
	size_t size = (size_t)40 << 20;
	char *text = many_bytes(size), id[ULID_SIZE];
	pid_t workers[8];
	size_t count = stack_pids(STACK_STREAM, workers, 8);
	int64_t before = 0, after = 0;

	(void)state;
	for (size_t i = 0; i < count; i++)
		before += proc_private_kb(workers[i]);
	start_fed("wc -c", id);
	assert_int_equal(object_post(id, "stdin?close=1", text), 204);
	for (size_t i = 0; i < count; i++)
		after += proc_private_kb(workers[i]);
	EXECUTED_AUTO x = object_read(id, "");
	assert_int_equal(atoll(x.out.data), size);
	assert_true(after - before < 8192);
	start_fed("head -c 1", id);
	long status = object_post(id, "stdin?close=1", text);
	assert_true(status == 204 || status == 409);
	EXECUTED_AUTO y = object_read(id, "");
	assert_string_equal(y.out.data, "a");
	assert_int_equal(exit_code(&y), 0);
	text[3000000] = '\0';
	start_fed("sleep 0.5; cat", id);
	struct stream *s = object_follow(id, "");
	assert_int_equal(object_post(id, "stdin?close=1", text), 204);
	EXECUTED_AUTO z = exec_finish(s);
	stream_close(s);
	assert_true(z.out.size <= 3000000);
	assert_memory_equal(
	    z.out.data + z.out.size - 1000, text + 2999000, 1000);
	free(text);
}

struct feeder {
	char path[300];
	char *text;
	long status;
	pthread_t thread;
};

static void *
feed(void *arg)
{
	struct feeder *f = arg;
	REPLY_AUTO r = http_do("POST", f->path, f->text, NULL);

	f->status = r.status;
	return NULL;
}

static void
input_that_nobody_reads_waits_and_is_in_flight(void **state)
{
	struct feeder f = {.text = many_bytes((size_t)8 << 20)};
	char id[ULID_SIZE];

	(void)state;
	start_fed(UNTIL("go") "wc -c", id);
	(void)snprintf(
	    f.path, sizeof(f.path), "%s", object_url(id, "stdin?close=1"));
	assert_int_equal(pthread_create(&f.thread, NULL, feed, &f), 0);
	char path[100];
	(void)snprintf(path, sizeof(path), "%s", run_url(object_run, ""));
	for (int64_t busy = 0; busy != 1;) {
		REPLY_AUTO r = http_do("GET", path, NULL, NULL);

		busy = json_integer_value(json_at(r.json, "inFlight"));
	}
	object_let("go");
	assert_int_equal(pthread_join(f.thread, NULL), 0);
	assert_int_equal(f.status, 204);
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "8388608\n");
	free(f.text);
}

static void
input_that_nobody_reads_is_given_up(void **state)
{
	char *text = many_bytes((size_t)8 << 20), id[ULID_SIZE];

	(void)state;
	start_fed("sleep 300", id);
	REPLY_AUTO r =
	    http_do("POST", object_url(id, "stdin?close=1"), text, NULL);
	check_problem(&r, 409, "conflict", "read nothing for 3 s");
	/* Who leaves has the run free. */
	struct stream *s =
	    stream_open(object_url(id, "stdin"), text + (7 << 20), NULL);
	stream_close(s);
	lease("{\"owner\":\"anna\",\"ttlSec\":60,\"waitSec\":30}", 1);
	free(text);
}

/* -- signals and the end --------------------------------------------------- */

#define TRAPS                                                                \
	"exec 2>/dev/null; for s in HUP INT USR1 USR2 TERM; do trap \"echo " \
	"$s\" $s; done; "                                                    \
	"trap 'echo WINCH; exit 7' WINCH; echo up; while :; do sleep 0.02; " \
	"done"

static void
signals_go_by_name_or_number(void **state)
{
	static const char *const good[][2] = {{"\"SIGHUP\"", "HUP\n"},
	    {"\"int\"", "INT\n"}, {"10", "USR1\n"}, {"\"sigusr2\"", "USR2\n"},
	    {"15", "TERM\n"}, {"\"WINCH\"", "WINCH\n"}};
	static const char *const bad[] = {"{}", "{\"signal\":\"KILLALL\"}",
	    "{\"signal\":\"SIG\"}", "{\"signal\":32}", "{\"signal\":-9}",
	    "{\"signal\":\"9\"}", "{\"signal\":true}", "{\"signal\":9.5}",
	    "{\"signal\":\"HUP\\u0000x\"}"};
	BUF_AUTO want = BUF_INIT(1000);
	char id[ULID_SIZE], body[100];

	(void)state;
	object_sh(TRAPS, id);
	buf_adds(&want, "up\n");
	await_size(id, 3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r =
		    http_do("POST", object_url(id, "signal"), bad[i], NULL);
		check_problem(&r, 400, "invalid_input", "HUP, INT, QUIT");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		(void)snprintf(
		    body, sizeof(body), "{\"signal\":%s}", good[i][0]);
		assert_int_equal(object_post(id, "signal", body), 204);
		buf_adds(&want, good[i][1]);
		await_size(id, (int64_t)want.size);
	}
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, want.data);
	assert_int_equal(exit_code(&x), 7);
	REPLY_AUTO late =
	    http_do("POST", object_url(id, "signal"), "{\"signal\":1}", NULL);
	check_problem(&late, 409, "exec_not_running", NULL);
}

static void
how_a_signal_ended_it_is_told(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_sh("exec sleep 300", id);
	assert_int_equal(
	    object_post(id, "signal", "{\"signal\":\"KILL\"}"), 204);
	EXECUTED_AUTO x = object_read(id, "");
	assert_int_equal(exit_code(&x), 137);
	REPLY_AUTO r = object_get(id);
	assert_string_equal(
	    json_string_value(json_at(r.json, "signal")), "SIGKILL");
	assert_int_equal(json_integer_value(json_at(r.json, "exitCode")), 137);
}

static void
its_end_takes_all_that_it_started(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_sh("trap '' TERM; (setsid sleep 87654 &); sleep 87654 & "
		  "echo up; while :; do sleep 87654; done",
	    id);
	await_size(id, 3);
	REPLY_AUTO end = http_do("DELETE", object_url(id, ""), NULL, NULL);
	assert_int_equal(end.status, 204);
	assert_int_equal(proc_count("sleep 87654"), 0);
	assert_true(object_is(id, "exited"));
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "up\n");
	assert_non_null(x.exit);
	REPLY_AUTO again = http_do("DELETE", object_url(id, ""), NULL, NULL);
	assert_int_equal(again.status, 204);
	/* One whose stream somebody has. */
	struct stream *s = stream_open(
	    run_url(object_run, "exec"), "{\"cmd\":\"sleep 300\"}", NULL);
	(void)snprintf(
	    id, sizeof(id), "%s", http_header(stream_headers(s), "X-Exec-Id"));
	REPLY_AUTO plain = http_do("DELETE", object_url(id, ""), NULL, NULL);
	assert_int_equal(plain.status, 204);
	EXECUTED_AUTO y = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&y), 143);
}

/* -- leases ---------------------------------------------------------------- */

#define HOLDER "\"owner\":\"a na\",\"generation\":1"

static void
only_the_holder_may(void **state)
{
	static const struct {
		const char *method, *what, *body, *with;
	} act[] = {
	    {"POST", "signal", "{\"signal\":\"URG\"}",
		"{\"signal\":\"URG\"," HOLDER "}"},
	    {"POST", "resize", "{\"cols\":90,\"rows\":30}",
		"{\"cols\":90,\"rows\":30," HOLDER "}"},
	    {"POST", "stdin", "x", NULL},
	    {"DELETE", "", NULL, NULL},
	};
	char id[ULID_SIZE], what[100];

	(void)state;
	object_start(json_pack("{s:s,s:b}", "cmd", "sleep 300", "tty", 1), id);
	lease("{\"owner\":\"a na\",\"ttlSec\":60}", 1);
	for (size_t i = 0; i < sizeof(act) / sizeof(act[0]); i++) {
		REPLY_AUTO none = http_do(act[i].method,
		    object_url(id, act[i].what), act[i].body, NULL);
		check_problem(&none, 409, "lease_held", "a na");
		(void)snprintf(what, sizeof(what), "%s?owner=a+na&generation=7",
		    act[i].what);
		REPLY_AUTO old = http_do(
		    act[i].method, object_url(id, what), act[i].body, NULL);
		check_problem(&old, 409, "lease_superseded", "superseded");
	}
	REPLY_AUTO bad = http_do(
	    "POST", object_url(id, "stdin?owner=a+na&generation=x"), "x", NULL);
	check_problem(&bad, 400, "invalid_input", "generation");
	for (size_t i = 0; i < sizeof(act) / sizeof(act[0]); i++) {
		(void)snprintf(what, sizeof(what), "%s?owner=a+na&generation=1",
		    act[i].what);
		REPLY_AUTO r = http_do(act[i].method,
		    object_url(id, act[i].with ? act[i].what : what),
		    act[i].with ? act[i].with : act[i].body, NULL);
		assert_int_equal(r.status, 204);
	}
	/* Looking is open to everybody. */
	assert_true(object_is(id, "exited"));
	EXECUTED_AUTO x = object_read(id, "");
	assert_non_null(x.exit);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(input_comes_in_pieces_and_is_closed),
	    TEST(an_attached_command_is_fed_from_elsewhere),
	    TEST(input_of_any_size_arrives_whole),
	    TEST(input_that_nobody_reads_waits_and_is_in_flight),
	    TEST(input_that_nobody_reads_is_given_up),
	    TEST(signals_go_by_name_or_number),
	    TEST(how_a_signal_ended_it_is_told),
	    TEST(its_end_takes_all_that_it_started),
	    TEST(only_the_holder_may),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
