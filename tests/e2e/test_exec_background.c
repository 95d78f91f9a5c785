/* Commands in the background (CONTRACT 3, 5): what they outlive, and what ends
 * them. */
#include "harness.h"
#include "objects.h"

#include <signal.h>
#include <string.h>

#define END_MS 30000

static int
setup(void **state)
{
	static const char *const env[] = {
	    "SBX_WORKERS=2", "SBX_DRAIN_SEC=1", NULL};

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

static int64_t
in_flight(void)
{
	REPLY_AUTO r = http_do("GET", run_url(object_run, ""), NULL, NULL);

	assert_int_equal(r.status, 200);
	return json_integer_value(json_at(r.json, "inFlight"));
}

static void
a_command_goes_on_without_its_client(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	struct stream *s = stream_open(run_url(object_run, "exec"),
	    "{\"cmd\":\"echo up; " UNTIL("go") "echo on\","
					       "\"onDisconnect\":\"continue\"}",
	    NULL);
	(void)snprintf(
	    id, sizeof(id), "%s", http_header(stream_headers(s), "X-Exec-Id"));
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_int_equal(ev->offset, 3);
	/* In flight until its client leaves. */
	assert_int_equal(in_flight(), 1);
	REPLY_AUTO busy = http_do("POST", run_url(object_run, "lease"),
	    "{\"owner\":\"anna\",\"ttlSec\":60}", NULL);
	check_problem(&busy, 409, "run_busy", NULL);
	stream_close(s);
	REPLY_AUTO taken = http_do("POST", run_url(object_run, "lease"),
	    "{\"owner\":\"anna\",\"ttlSec\":60,\"waitSec\":30}", NULL);
	assert_int_equal(taken.status, 200);
	assert_true(object_is(id, "running"));
	REPLY_AUTO let = http_do("POST", run_url(object_run, "exec"),
	    "{\"cmd\":\"touch go\",\"owner\":\"anna\",\"generation\":1}", NULL);
	assert_int_equal(let.status, 200);
	EXECUTED_AUTO x = object_read(id, "?offset=3");
	assert_string_equal(x.out.data, "on\n");
	assert_int_equal(exit_code(&x), 0);
}

static void
its_202_says_that_nothing_is_in_flight(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	for (int i = 0; i < 10; i++) {
		object_sh("sleep 300", id);
		REPLY_AUTO lease = http_do("POST", run_url(object_run, "lease"),
		    "{\"owner\":\"anna\",\"ttlSec\":60}", NULL);
		assert_int_equal(lease.status, 200);
		REPLY_AUTO back =
		    http_json("POST", run_url(object_run, "lease/release"),
			json_pack(
			    "{s:s,s:i}", "owner", "anna", "generation", i + 1));
		assert_int_equal(back.status, 204);
		assert_true(object_is(id, "running"));
	}
}

static void
execs_survive_workers_and_nginx(void **state)
{
	char id[2][ULID_SIZE];

	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	object_sh("for i in $(seq 300); do echo $i; sleep 0.01; done; echo end",
	    id[0]);
	struct stream *s = stream_open(run_url(object_run, "exec"),
	    "{\"cmd\":\"echo up; " UNTIL("go") "\","
					       "\"onDisconnect\":\"continue\"}",
	    NULL);
	(void)snprintf(id[1], sizeof(id[1]), "%s",
	    http_header(stream_headers(s), "X-Exec-Id"));
	assert_non_null(stream_await(s, "stdout", END_MS));
	stack_kill(STACK_STREAM);
	stack_kill(STACK_CONTROL);
	stack_kill(STACK_NGINX_WORKER);
	assert_null(stream_await(s, "exit", END_MS));
	stream_close(s);
	wait_until(stack_ready(), END_MS);
	wait_until(object_is(id[1], "running"), END_MS);
	object_let("go");
	EXECUTED_AUTO x = object_read(id[0], "");
	assert_int_equal(exit_code(&x), 0);
	assert_true(str_starts(x.out.data, "1\n2\n3\n"));
	assert_true(str_ends(x.out.data, "299\n300\nend\n"));
	assert_int_equal(x.out.size, 9 * 2 + 90 * 3 + 201 * 4 + 4);
	EXECUTED_AUTO y = object_read(id[1], "");
	assert_int_equal(exit_code(&y), 0);
}

/* What they relay is cut in the end, as it is by a kill. */
static void
they_survive_a_restart_of_everything(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	struct stream *own = stream_open(run_url(object_run, "exec"),
	    "{\"cmd\":\"echo up; " UNTIL("go") "echo on\","
					       "\"onDisconnect\":\"continue\"}",
	    NULL);
	(void)snprintf(id, sizeof(id), "%s",
	    http_header(stream_headers(own), "X-Exec-Id"));
	struct stream *other = object_follow(id, "");
	assert_non_null(stream_await(own, "stdout", END_MS));
	assert_non_null(stream_await(other, "stdout", END_MS));
	stack_restart(SIGTERM);
	assert_null(stream_await(own, "exit", END_MS));
	assert_null(stream_await(other, "exit", END_MS));
	stream_close(own);
	stream_close(other);
	assert_true(object_is(id, "running"));
	assert_int_equal(in_flight(), 0);
	object_let("go");
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "up\non\n");
	assert_int_equal(exit_code(&x), 0);
}

static void
a_detached_command_has_its_deadline(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_start(
	    json_pack("{s:s,s:i}", "cmd", "echo a; sleep 300", "timeoutSec", 1),
	    id);
	EXECUTED_AUTO x = object_read(id, "");
	assert_string_equal(x.out.data, "a\n");
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_true(json_at(x.exit, "timedOut")));
	REPLY_AUTO r = object_get(id);
	assert_true(json_is_true(json_at(r.json, "timedOut")));
	assert_int_equal(json_integer_value(json_at(r.json, "exitCode")), -1);
	assert_null(json_object_get(r.json, "error"));
}

static void
they_end_with_their_run(void **state)
{
	char id[ULID_SIZE], path[300];

	(void)state;
	object_sh("echo up; sleep 300", id);
	struct stream *s = object_follow(id, "");
	assert_non_null(stream_await(s, "stdout", END_MS));
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/kill", object_run);
	str_lower(path + strlen("/containers/teploy-sbx-"));
	REPLY_AUTO killed = docker_do("POST", path, NULL);
	assert_int_equal(killed.status, 204);
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), -1);
	assert_string_equal(
	    json_string_value(json_at(x.exit, "error")), "the run ended");
	REPLY_AUTO get = object_get(id);
	check_problem(&get, 409, "run_not_running", NULL);
	REPLY_AUTO list =
	    http_do("GET", run_url(object_run, "execs"), NULL, NULL);
	check_problem(&list, 409, "run_not_running", NULL);
	assert_int_equal(object_post(id, "stdin", "x"), 409);
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

static void
a_lease_leaves_the_background_alone_and_force_does_not(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	object_sh("echo up; sleep 87655", id);
	struct stream *s = object_follow(id, "");
	assert_non_null(stream_await(s, "stdout", END_MS));
	lease("{\"owner\":\"anna\",\"ttlSec\":60}", 1);
	assert_true(object_is(id, "running"));
	assert_false(stream_ended(s));
	lease("{\"owner\":\"anna\",\"ttlSec\":60,\"force\":true}", 2);
	wait_until(proc_count("sleep 87655") == 0, END_MS);
	wait_until(object_is(id, "exited"), END_MS);
	REPLY_AUTO r = object_get(id);
	assert_int_equal(r.status, 200);
	assert_string_equal(
	    json_string_value(json_at(r.json, "signal")), "SIGKILL");
	EXECUTED_AUTO x = exec_finish(s);
	stream_close(s);
	assert_int_equal(exit_code(&x), 137);
	EXECUTED_AUTO again = object_read(id, "");
	assert_string_equal(again.out.data, "up\n");
	assert_int_equal(exit_code(&again), 137);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_command_goes_on_without_its_client),
	    TEST(its_202_says_that_nothing_is_in_flight),
	    TEST(execs_survive_workers_and_nginx),
	    TEST(they_survive_a_restart_of_everything),
	    TEST(a_detached_command_has_its_deadline),
	    TEST(they_end_with_their_run),
	    TEST(a_lease_leaves_the_background_alone_and_force_does_not),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
