/* SIGKILL to one of ours in the middle of something (CONTRACT 2, 3): the rest
 * goes on, nothing is orphaned, and who was cut off can tell. */
#include "harness.h"
#include "lib/fd.h"

#include <signal.h>
#include <string.h>

#define END_MS 30000

/* A run that lives through everything, with an environment. */
static char lasting[ULID_SIZE];

static int64_t begun_ms; /* when what nobody finished was made */

/* A container of ours that was never started, as no worker leaves it. */
static void
leave_unstarted(void)
{
	char name[ULID_SIZE], path[100];
	static const unsigned char random[10] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7};

	ulid_format(clock_wall_ms(), random, name);
	json_t *body = json_pack("{s:s,s:[s],s:{s:s,s:s,s:s}}", "Image",
	    IMAGE_PLAIN, "Cmd", "true", "Labels", "teploy.sandbox", "1",
	    "teploy.sandbox.run", name, "teploy.sandbox.instance",
	    stack.instance);
	char *text = json_dumps(body, JSON_COMPACT);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/create?name=teploy-sbx-%s", name);
	REPLY_AUTO r = docker_do("POST", path, text);
	assert_int_equal(r.status, 201);
	free(text);
	json_decref(body);
}

/* A creation whose worker is killed before the container starts. */
static void
leave_half_made(void)
{
	pid_t old[16];
	size_t count = stack_pids(STACK_STREAM, old, 16);
	const struct event *ev;

	struct stream *s =
	    stream_open("/v1/runs", "{\"image\":\"" IMAGE_PLAIN "\"}",
		"Accept: text/event-stream", NULL);
	do
		ev = stream_await(s, "progress", END_MS);
	while (ev != NULL && strstr(ev->data, "start") == NULL);
	stack_kill(STACK_STREAM);
	while ((ev = stream_next(s, END_MS)) != NULL)
		assert_false(str_eq(ev->name, "run"));
	stream_close(s);
	wait_until(stack_new(STACK_STREAM, old, count) == 2, END_MS);
}

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_CLIENT_STALL_SEC=2", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	begun_ms = clock_mono_ms();
	leave_unstarted();
	leave_half_made();
	run_from(json_pack("{s:s,s:{s:s},s:i,s:{s:s}}", "image", IMAGE_PLAIN,
		     "env", "KEPT", "kept", "ttlSec", 3000, "labels", "a", "b"),
	    lasting);
	return 0;
}

static int
teardown(void **state)
{
	run_end(lasting);
	return stack_stop(state);
}

/* The run is there, with its environment, and executes. */
static void
check_lasting(void)
{
	EXECUTED_AUTO x = exec_sh(lasting, "echo $KEPT");

	assert_int_equal(exit_code(&x), 0);
	assert_string_equal(x.out.data, "kept\n");
}

static bool
executes(void)
{
	EXECUTED_AUTO x = exec_sh(lasting, "true");

	return x.status == 200;
}

/* A command that has printed a line, and prints another once its sleeper (an
 * argument of sleep that nobody else has) is killed. */
static struct stream *
busy(const char *sleeper)
{
	char body[200];

	needs_host_kernel("its processes cannot be seen from here");
	(void)snprintf(body, sizeof(body),
	    "{\"cmd\":\"echo up; trap '' TERM; sleep $FOR; echo on\","
	    "\"env\":{\"FOR\":\"%s\"}}",
	    sleeper);
	wait_until(stack_ready(), END_MS);
	struct stream *s = stream_open(run_url(lasting, "exec"), body, NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	wait_until(proc_count(sleeper) == 1, END_MS);
	return s;
}

/* The stream was not cut: the command goes on to its end. */
static void
check_whole(struct stream *s, const char *sleeper)
{
	assert_false(stream_ended(s));
	proc_kill(sleeper);
	EXECUTED_AUTO x = exec_finish(s);
	assert_string_equal(x.out.data, "on\n");
	assert_int_equal(exit_code(&x), 0);
	stream_close(s);
}

/* The run is as it was, but for what is in flight. */
static void
check_same(const struct reply *after, const struct reply *before)
{
	static const char *const kept[] = {"image", "network", "state",
	    "createdAt", "expiresAt", "limits", "labels"};

	assert_int_equal(after->status, 200);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!json_equal(json_at(after->json, kept[i]),
			json_at(before->json, kept[i])))
			fail_msg("%s differs: %s", kept[i], after->body.data);
}

/* The stream is over, and did not say how the command ended. */
static void
check_cut(struct stream *s)
{
	EXECUTED_AUTO x = exec_finish(s);

	if (x.exit != NULL)
		fail_msg("a cut stream has an exit event");
	stream_close(s);
}

static void
a_killed_worker_cuts_its_streams_and_kills_their_commands(void **state)
{
	pid_t old[16];
	size_t count = stack_pids(STACK_STREAM, old, 16);

	(void)state;
	assert_int_equal(count, 2);
	struct stream *s = busy("81111.1");
	stack_kill(STACK_STREAM);
	check_cut(s);
	wait_until(proc_count("81111.1") == 0, END_MS);
	wait_until(stack_new(STACK_STREAM, old, count) == 2, END_MS);
	check_lasting();
}

static void
killed_workers_of_short_calls_come_back(void **state)
{
	pid_t old[16];
	size_t count = stack_pids(STACK_CONTROL, old, 16);

	(void)state;
	struct stream *s = busy("82222.1");
	stack_kill(STACK_CONTROL);
	wait_until(stack_new(STACK_CONTROL, old, count) == 2, END_MS);
	wait_until(stack_ready(), END_MS);
	/* The stream was another pool's. */
	check_whole(s, "82222.1");
}

static void
a_killed_master_lets_requests_finish(void **state)
{
	pid_t old[16], workers[16];
	size_t count = stack_pids(STACK_MASTER, old, 16);
	size_t worker_count = stack_pids(STACK_STREAM, workers, 16);

	(void)state;
	struct stream *s = busy("83333.1");
	stack_kill(STACK_MASTER);
	check_whole(s, "83333.1");
	wait_until(stack_new(STACK_MASTER, old, count) == 1, END_MS);
	wait_until(stack_new(STACK_STREAM, workers, worker_count) == 2, END_MS);
	wait_until(stack_ready(), END_MS);
	check_lasting();
}

static void
a_killed_nginx_cuts_clients_and_their_commands(void **state)
{
	pid_t old[16];
	size_t count = stack_pids(STACK_NGINX, old, 16);

	(void)state;
	struct stream *s = busy("84444.1");
	/* Its workers too: the master alone leaves them serving. */
	stack_kill(STACK_NGINX);
	if (stack_pids(STACK_NGINX_WORKER, old, 16) > 0)
		stack_kill(STACK_NGINX_WORKER);
	check_cut(s);
	wait_until(proc_count("84444.1") == 0, END_MS);
	wait_until(stack_new(STACK_NGINX, old, count) == 1, END_MS);
	wait_until(stack_ready(), END_MS);
	check_lasting();
}

static void
a_reload_of_nginx_cuts_nothing(void **state)
{
	pid_t master;

	(void)state;
	struct stream *s = busy("85555.1");
	assert_int_equal(stack_pids(STACK_NGINX, &master, 1), 1);
	for (int i = 0; i < 2; i++) {
		pid_t old[64];
		size_t count = stack_pids(STACK_NGINX_WORKER, old, 64);

		assert_int_equal(kill(master, SIGHUP), 0);
		wait_until(
		    stack_new(STACK_NGINX_WORKER, old, count) > 0, END_MS);
		wait_until(stack_ready(), END_MS);
	}
	check_whole(s, "85555.1");
}

static long
status_with(const char *token)
{
	char line[300];

	(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
	REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, line, NULL);
	return r.status;
}

static void
a_token_is_rotated_without_cutting_streams(void **state)
{
	char old[200], path[100];
	struct err e = ERR_INIT;

	(void)state;
	struct stream *s = busy("86666.1");
	(void)snprintf(old, sizeof(old), "%s", stack.token);
	assert_int_equal(stack_tool("token", "rotate", NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/token", stack.base);
	char *tokens = fd_read_file(path, 4096, NULL, &e);
	assert_non_null(tokens);
	(void)snprintf(stack.token, sizeof(stack.token), "%.*s",
	    (int)strcspn(tokens, "\n"), tokens);
	free(tokens);
	assert_true(strcmp(stack.token, old) != 0);
	assert_int_equal(status_with(stack.token), 200);
	assert_int_equal(status_with(old), 200);
	assert_int_equal(stack_tool("token", "drop-old", NULL), 0);
	wait_until(status_with(old) == 401, END_MS);
	assert_int_equal(status_with(stack.token), 200);
	check_whole(s, "86666.1");
}

static void
a_killed_redis_cuts_no_stream_and_loses_no_run(void **state)
{
	pid_t old[4];
	size_t count = stack_pids(STACK_REDIS, old, 4);

	(void)state;
	REPLY_AUTO before = http_do("GET", run_url(lasting, ""), NULL, NULL);
	struct stream *s = busy("87777.1");
	stack_kill(STACK_REDIS);
	wait_until(stack_new(STACK_REDIS, old, count) == 1, END_MS);
	wait_until(stack_ready(), END_MS);
	REPLY_AUTO after = http_do("GET", run_url(lasting, ""), NULL, NULL);
	check_same(&after, &before);
	check_whole(s, "87777.1");
	check_lasting();
}

static void
a_stopped_redis_is_said_so_and_forgiven(void **state)
{
	pid_t redis;

	(void)state;
	assert_int_equal(stack_pids(STACK_REDIS, &redis, 1), 1);
	assert_int_equal(kill(redis, SIGSTOP), 0);
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	REPLY_AUTO ready = http_do("GET", "/health/ready", NULL, NULL);
	REPLY_AUTO health = http_do("GET", "/health", NULL, NULL);
	REPLY_AUTO exec =
	    http_do("POST", run_url(lasting, "exec"), "{\"cmd\":\"id\"}", NULL);
	assert_int_equal(kill(redis, SIGCONT), 0);
	check_problem(&list, 503, "store_unavailable", NULL);
	assert_in_range(list.took_ms, 0, 15000);
	check_problem(&ready, 503, "not_ready", "redis");
	assert_int_equal(health.status, 200);
	check_problem(&exec, 503, "store_unavailable", NULL);
	/* A thread that found it away waits a moment before it looks again. */
	wait_until(stack_ready(), END_MS);
	wait_until(executes(), END_MS);
}

/* The record goes last. */
static bool
is_gone(const char *id)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	return r.status == 404;
}

static void
a_killed_reaper_comes_back_and_keeps_deadlines(void **state)
{
	pid_t old[4];
	size_t count = stack_pids(STACK_REAPER, old, 4);
	char id[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s,s:i}", "image", IMAGE_PLAIN, "ttlSec", 1), id);
	stack_kill(STACK_REAPER);
	wait_until(stack_new(STACK_REAPER, old, count) == 1, END_MS);
	wait_until(is_gone(id), END_MS);
	assert_null(docker_container(id));
}

/* Not before the deadline, and within 2 s of it (and some for the machine). */
static void
a_run_ends_at_its_deadline(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s,s:i}", "image", IMAGE_PLAIN, "ttlSec", 6), id);
	struct stream *s = stream_open(
	    run_url(id, "exec"), "{\"cmd\":\"echo up; sleep 600\"}", NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	redisReply *end = redis_do("HGET sbx:run:%s expiresAt", id);
	int64_t deadline = strtoll(end->str, NULL, 10);
	freeReplyObject(end);
	EXECUTED_AUTO x = exec_finish(s);
	assert_in_range(clock_wall_ms(), deadline, deadline + 15000);
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_string(json_at(x.exit, "error")));
	stream_close(s);
	wait_until(is_gone(id), END_MS);
	assert_null(docker_container(id));
}

static void
a_client_that_reads_nothing_counts_as_gone(void **state)
{
	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	struct stream *s = stream_open(
	    run_url(lasting, "exec"), "{\"cmd\":\"yes 88888.1\"}", NULL);
	assert_int_equal(stream_status(s), 200);
	wait_until(proc_count("yes 88888.1") > 0, END_MS);
	wait_until(proc_count("88888.1") == 0, END_MS);
	check_cut(s);
}

static void
runs_outlive_the_whole_stack(void **state)
{
	(void)state;
	REPLY_AUTO before = http_do("GET", run_url(lasting, ""), NULL, NULL);
	assert_int_equal(before.status, 200);
	stack_restart(SIGTERM);
	REPLY_AUTO after = http_do("GET", run_url(lasting, ""), NULL, NULL);
	check_same(&after, &before);
	check_lasting();

	/* Killed, serve leaves things running; the next one ends them. */
	stack_restart(SIGKILL);
	REPLY_AUTO again = http_do("GET", run_url(lasting, ""), NULL, NULL);
	check_same(&again, &before);
	check_lasting();
}

static size_t
listed(void)
{
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);

	return json_array_size(json_at(list.json, "runs"));
}

/* Late in the program: orphans have a grace of 60 s. */
static void
what_nobody_finished_is_removed_after_a_grace(void **state)
{
	(void)state;
	wait_until(docker_count() == 1, 120000);
	assert_true(clock_mono_ms() - begun_ms > 60000);
	wait_until(!redis_has("creating"), END_MS);
	wait_until(listed() == 1, END_MS); /* a record goes last */
}

/* Redis loses everything: the run comes back by its container's labels. */
static void
a_flushed_redis_loses_no_run(void **state)
{
	(void)state;
	REPLY_AUTO before = http_do("GET", run_url(lasting, ""), NULL, NULL);
	redisReply *flushed = redis_do("FLUSHALL");
	freeReplyObject(flushed);
	wait_until(redis_has(lasting), END_MS);
	assert_int_equal(docker_count(), 1);
	check_lasting();
	REPLY_AUTO after = http_do("GET", run_url(lasting, ""), NULL, NULL);
	/* Created again with its time to live, counted from now at most. */
	json_object_set(
	    after.json, "expiresAt", json_object_get(before.json, "expiresAt"));
	check_same(&after, &before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_killed_worker_cuts_its_streams_and_kills_their_commands),
	    cmocka_unit_test(killed_workers_of_short_calls_come_back),
	    cmocka_unit_test(a_killed_master_lets_requests_finish),
	    cmocka_unit_test(a_killed_nginx_cuts_clients_and_their_commands),
	    cmocka_unit_test(a_reload_of_nginx_cuts_nothing),
	    cmocka_unit_test(a_token_is_rotated_without_cutting_streams),
	    cmocka_unit_test(a_killed_redis_cuts_no_stream_and_loses_no_run),
	    cmocka_unit_test(a_killed_reaper_comes_back_and_keeps_deadlines),
	    cmocka_unit_test(a_run_ends_at_its_deadline),
	    cmocka_unit_test(a_client_that_reads_nothing_counts_as_gone),
	    cmocka_unit_test(a_stopped_redis_is_said_so_and_forgiven),
	    cmocka_unit_test(runs_outlive_the_whole_stack),
	    cmocka_unit_test(what_nobody_finished_is_removed_after_a_grace),
	    cmocka_unit_test(a_flushed_redis_loses_no_run),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
