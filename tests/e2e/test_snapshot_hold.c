/* A run is held still while it is copied (CONTRACT 7): what arrives meanwhile
 * waits, removals go ahead, and what a holder leaves behind is mended. */
#include "harness.h"
#include "snapshots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define END_MS 60000
#define TOKEN "01KTZB5W4ZW7A9RT0E4F4RZ2S8"

static char run[ULID_SIZE];

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_REAP_INTERVAL=1", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

static int
with_run(void **state)
{
	(void)state;
	run_new(IMAGE_PLAIN, run);
	return 0;
}

static int
without_run(void **state)
{
	(void)state;
	run_end(run);
	run[0] = '\0';
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

/* -- a hold of the test's own ---------------------------------------------- */

static const char *
container(const char *what)
{
	static char path[128];
	char name[ULID_SIZE];

	(void)snprintf(name, sizeof(name), "%s", run);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/%s", name, what);
	return path;
}

static bool
is_paused(void)
{
	json_auto_t *c = docker_container(run);

	return c != NULL && json_is_true(json_at(c, "State.Paused"));
}

/* As somebody else would have it, for so long; negative: it has lapsed. */
static void
hold(int64_t ms)
{
	freeReplyObject(redis_do("HSET sbx:run:%s hold %s holdUntil %lld "
				 "holdFrozen 1",
	    run, "snapshot " TOKEN, (long long)(clock_wall_ms() + ms)));
	REPLY_AUTO r = docker_do("POST", container("pause"), NULL);
	assert_int_equal(r.status, 204);
}

static void
let_go(void)
{
	REPLY_AUTO r = docker_do("POST", container("unpause"), NULL);

	assert_int_equal(r.status, 204);
	freeReplyObject(
	    redis_do("HDEL sbx:run:%s hold holdUntil holdFrozen", run));
}

/* -- calls on the side ----------------------------------------------------- */

struct side {
	const char *method, *what, *body;
	long want; /* of the answer */
	struct reply reply;
	pthread_t thread;
	atomic_bool done;
};

static void *
side_main(void *arg)
{
	struct side *s = arg;
	char path[128];

	(void)snprintf(path, sizeof(path), "/v1/runs/%s%s%s", run,
	    *s->what != '\0' ? "/" : "", s->what);
	s->reply = http_do(s->method, path, s->body, NULL);
	atomic_store(&s->done, true);
	return NULL;
}

static void
side_start(struct side *s)
{
	atomic_store(&s->done, false);
	assert_int_equal(pthread_create(&s->thread, NULL, side_main, s), 0);
}

static void
side_end(struct side *s)
{
	wait_until(atomic_load(&s->done), END_MS);
	(void)pthread_join(s->thread, NULL);
}

/* -- waiting --------------------------------------------------------------- */

/* Of each sort that reaches the run. */
static struct side calls[] = {
    {.method = "POST",
	.what = "exec",
	.body = "{\"cmd\":\"cat >/work/made\",\"stdin\":\"x\"}",
	.want = 200},
    {.method = "GET", .what = "execs", .want = 200},
    {.method = "GET", .what = "files/there", .want = 200},
    {.method = "PUT", .what = "files/put", .body = "content", .want = 204},
    {.method = "GET", .what = "files?list=1", .want = 200},
    {.method = "POST",
	.what = "exec",
	.body = "{\"cmd\":\"sleep 600\",\"detach\":true}",
	.want = 202},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static size_t
done(void)
{
	size_t count = 0;

	for (size_t i = 0; i < CALLS; i++)
		count += atomic_load(&calls[i].done);
	return count;
}

/* It was admitted, which its mark tells of. */
static bool
in_flight(long long want)
{
	redisReply *r = redis_do("ZCARD sbx:inflight:%s", run);
	bool are = r->integer == want;

	freeReplyObject(r);
	return are;
}

static void
what_arrives_waits_until_the_run_goes_on(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_sh(run, "echo there >/work/there");
	assert_int_equal(exit_code(&x), 0);
	hold(END_MS);
	for (size_t i = 0; i < CALLS; i++)
		side_start(&calls[i]);
	wait_until(in_flight(3), END_MS);
	/* What does not reach the run does not wait. */
	REPLY_AUTO get = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_int_equal(get.status, 200);
	REPLY_AUTO extended =
	    http_do("POST", run_url(run, "extend"), "{\"ttlSec\":3600}", NULL);
	assert_int_equal(extended.status, 200);
	assert_int_equal(done(), 0);
	let_go();
	for (size_t i = 0; i < CALLS; i++)
		side_end(&calls[i]);
	for (size_t i = 0; i < CALLS; i++) {
		if (calls[i].reply.status != calls[i].want)
			fail_msg("%s %s: %ld %s", calls[i].method,
			    calls[i].what, calls[i].reply.status,
			    calls[i].reply.body.data);
		reply_release(&calls[i].reply);
	}
	EXECUTED_AUTO y = exec_sh(run, "cat /work/made /work/put");
	assert_string_equal(y.out.data, "xcontent");
}

static void
a_grant_with_force_waits_too(void **state)
{
	struct side force = {.method = "POST",
	    .what = "lease",
	    .body = "{\"owner\":\"ann\",\"ttlSec\":60,\"force\":true}"};

	(void)state;
	struct stream *s = stream_open(
	    run_url(run, "exec"), "{\"cmd\":\"echo up; sleep 600\"}", NULL);
	assert_non_null(stream_await(s, "stdout", END_MS));
	hold(END_MS);
	side_start(&force);
	/* Its mark keeps others out by now. */
	REPLY_AUTO out = {0};
	do {
		reply_release(&out);
		out = http_do("POST", run_url(run, "lease"),
		    "{\"owner\":\"bob\",\"ttlSec\":60}", NULL);
	} while (out.status == 409 &&
		 strstr(out.body.data, "lease_pending") == NULL);
	assert_int_equal(out.status, 409);
	assert_true(is_paused());
	assert_false(atomic_load(&force.done));
	let_go();
	side_end(&force);
	if (force.reply.status != 200)
		fail_msg("%ld %s", force.reply.status, force.reply.body.data);
	reply_release(&force.reply);
	const struct event *end = stream_await(s, "exit", END_MS);
	assert_non_null(end);
	assert_non_null(strstr(end->data, "-1"));
	stream_close(s);
}

static void
a_stream_in_flight_goes_on_afterwards(void **state)
{
	(void)state;
	struct stream *s = stream_open(run_url(run, "exec"),
	    "{\"cmd\":\"read x; echo before; read x; echo after\","
	    "\"stdin\":true}",
	    NULL);
	char eid[ULID_SIZE], path[128];
	(void)snprintf(eid, sizeof(eid), "%s",
	    http_header(stream_headers(s), "X-Exec-Id"));
	(void)snprintf(
	    path, sizeof(path), "/v1/runs/%s/execs/%s/stdin", run, eid);
	REPLY_AUTO one = http_do("POST", path, "1\n", NULL);
	assert_int_equal(one.status, 204);
	assert_non_null(stream_await(s, "stdout", END_MS));
	char image[SNAPSHOT_SIZE];
	snapshot_take(run, image);
	REPLY_AUTO two = http_do("POST", path, "2\n", NULL);
	assert_int_equal(two.status, 204);
	const struct event *after = stream_await(s, "stdout", END_MS);
	assert_non_null(after);
	assert_string_equal(after->data, "after\n");
	const struct event *end = stream_await(s, "exit", END_MS);
	assert_non_null(end);
	assert_string_equal(end->data, "{\"exitCode\":0,\"timedOut\":false}");
	stream_close(s);
	snapshot_end(image);
}

/* -- what goes ahead ------------------------------------------------------- */

static void
one_holds_it_at_a_time(void **state)
{
	(void)state;
	hold(END_MS);
	REPLY_AUTO r = http_do("POST", run_url(run, "snapshot"), NULL, NULL);
	check_problem(&r, 409, "conflict", "snapshot of run");
	assert_true(is_paused());
	let_go();
}

static void
a_removal_goes_ahead(void **state)
{
	(void)state;
	hold(END_MS);
	REPLY_AUTO r = http_do("DELETE", run_url(run, ""), NULL, NULL);
	assert_int_equal(r.status, 204);
	assert_null(docker_container(run));
	run_new(IMAGE_PLAIN, run);
	hold(END_MS);
	REPLY_AUTO ttl = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_int_equal(ttl.status, 200);
	/* Its deadline comes. */
	char now[32];
	(void)snprintf(now, sizeof(now), "%lld", (long long)clock_wall_ms());
	freeReplyObject(redis_do("HSET sbx:run:%s expiresAt %s", run, now));
	freeReplyObject(redis_do("ZADD sbx:runs %s %s", now, run));
	wait_until(docker_container(run) == NULL, END_MS);
	run[0] = '\0';
}

/* The engine is at its commit for a while. */
static void
make_large(void)
{
	EXECUTED_AUTO x = exec_sh(
	    run, "dd if=/dev/urandom of=/root/big bs=1M count=128 2>/dev/null");
	assert_int_equal(exit_code(&x), 0);
}

static void
a_run_that_is_removed_leaves_no_snapshot(void **state)
{
	struct side take = {.method = "POST", .what = "snapshot"};

	(void)state;
	make_large();
	side_start(&take);
	wait_until(is_paused(), END_MS);
	REPLY_AUTO gone = http_do("DELETE", run_url(run, ""), NULL, NULL);
	assert_int_equal(gone.status, 204);
	side_end(&take);
	check_problem(&take.reply, 409, "run_not_running", "destroyed");
	reply_release(&take.reply);
	assert_int_equal(snapshot_images(), 0);
	run[0] = '\0';
}

static bool
is_held(void)
{
	redisReply *r = redis_do("HEXISTS sbx:run:%s hold", run);
	bool held = r->integer == 1;

	freeReplyObject(r);
	return held;
}

static void
a_client_that_leaves_leaves_no_snapshot(void **state)
{
	(void)state;
	make_large();
	int fd = run_ask(run, "snapshot");
	wait_until(is_paused(), END_MS);
	(void)close(fd);
	wait_until(!is_paused(), END_MS);
	/* While it is undone, the run goes on; then another can be taken. */
	EXECUTED_AUTO x = exec_sh(run, "echo on");
	assert_string_equal(x.out.data, "on\n");
	wait_until(!is_held(), END_MS);
	assert_int_equal(snapshot_images(), 0);
}

/* -- mending --------------------------------------------------------------- */

static void
a_run_that_nobody_holds_any_more_is_resumed(void **state)
{
	(void)state;
	hold(-1000);
	wait_until(!is_paused(), END_MS);
	EXECUTED_AUTO x = exec_sh(run, "echo on");
	assert_string_equal(x.out.data, "on\n");
}

/* -- still indeed ---------------------------------------------------------- */

static void
what_writes_meanwhile_is_caught_at_one_moment(void **state)
{
	char image[SNAPSHOT_SIZE], again[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = http_do("POST", run_url(run, "exec"),
	    "{\"cmd\":\"i=0; while :; do i=$((i+1)); echo $i >a; "
	    "echo $i >zzz; done\",\"detach\":true}",
	    NULL);
	assert_int_equal(r.status, 202);
	EXECUTED_AUTO b = exec_sh(run,
	    "mkdir m; cd m; i=0; while [ $i -lt 500 ]; do echo $i >$i; "
	    "i=$((i+1)); done; until [ -s ../zzz ]; do :; done");
	assert_int_equal(exit_code(&b), 0);
	snapshot_take(run, image);
	run_new(image, again);
	/* One write apart at most; the last may be cut to nothing. */
	EXECUTED_AUTO x = exec_sh(again,
	    "a=$(cat a); z=$(cat zzz); [ -z \"$a\" ] || [ -z \"$z\" ] || "
	    "[ $((a - z)) = 0 ] || [ $((a - z)) = 1 ] || echo $a $z");
	assert_string_equal(x.out.data, "");
	run_end(again);
	snapshot_end(image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_arrives_waits_until_the_run_goes_on),
	    TEST(a_grant_with_force_waits_too),
	    TEST(a_stream_in_flight_goes_on_afterwards),
	    TEST(one_holds_it_at_a_time),
	    TEST(a_removal_goes_ahead),
	    TEST(a_run_that_is_removed_leaves_no_snapshot),
	    TEST(a_client_that_leaves_leaves_no_snapshot),
	    TEST(a_run_that_nobody_holds_any_more_is_resumed),
	    TEST(what_writes_meanwhile_is_caught_at_one_moment),
	};

	return cmocka_run_group_tests_name(
	    "snapshot_hold", tests, setup, stack_stop);
}
