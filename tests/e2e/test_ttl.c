/* The end of runs: deadlines (CONTRACT 2.1), many at once; and a teardown that
 * nobody of those who began it finishes. */
#include "dockerd.h"
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 30000
#define RUNS 60
#define LEAST 10	  /* of them, on the busiest machine */
#define MAKERS 4	  /* at once */
#define AHEAD_MS 25000	  /* when all of them expire */
#define MARGIN_MS 3000	  /* none is made so short before that */
#define BOUND_MS 60000	  /* the last goes so long after, at most */
#define TEARDOWN_MS 60000 /* a claim of 15 s and some for the machine */

static int
setup(void **state)
{
	(void)state;
	dockerd_start(true);
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

static int
teardown(void **state)
{
	int rc = stack_stop(state);

	dockerd_stop();
	return rc;
}

/* -- many at once ---------------------------------------------------------- */

struct expiring {
	char id[ULID_SIZE];
	int64_t deadline_ms, gone_ms; /* the second is 0 until it is */
};

static struct expiring runs[RUNS];
static atomic_size_t next_run;
static int64_t common_ms; /* they expire in the second before this */

/* No assertion: this is not the test's thread. */
static void *
make_runs(void *arg)
{
	(void)arg;
	while (common_ms - clock_wall_ms() > MARGIN_MS) {
		char body[200];
		size_t i = atomic_fetch_add(&next_run, 1);

		if (i >= RUNS)
			break;
		(void)snprintf(body, sizeof(body),
		    "{\"image\":\"" IMAGE_PLAIN
		    "\",\"ttlSec\":%lld,\"limits\":{\"memoryMb\":64}}",
		    (long long)(common_ms - clock_wall_ms()) / 1000);
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
		if (r.status == 201)
			(void)snprintf(runs[i].id, ULID_SIZE, "%s",
			    json_string_value(json_object_get(r.json, "id")));
	}
	return NULL;
}

/* One event of the engine: {"timeNano", "Actor": {"Attributes": {...}}}. */
static void
note_removal(const json_t *event)
{
	const json_t *labels =
	    json_object_get(json_object_get(event, "Actor"), "Attributes");
	const char *id =
	    json_string_value(json_object_get(labels, "teploy.sandbox.run"));

	for (size_t i = 0; id != NULL && i < RUNS; i++)
		if (str_eq(runs[i].id, id))
			runs[i].gone_ms = json_integer_value(json_object_get(
					      event, "timeNano")) /
					  1000000;
}

/* What the engine says of containers that ended; it remembers 256 events. */
static void
look_at_removals(const char *what)
{
	char path[256];

	(void)snprintf(path, sizeof(path),
	    "/events?since=1&until=%lld.%03lld&filters=%%7B%%22event%%22%%3A"
	    "%%5B%%22%s%%22%%5D%%7D",
	    (long long)clock_wall_ms() / 1000,
	    (long long)clock_wall_ms() % 1000, what);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	assert_int_equal(r.status, 200);
	for (size_t at = 0; at < r.body.size;) {
		json_error_t error;
		json_auto_t *event = json_loadb(r.body.data + at,
		    r.body.size - at, JSON_DISABLE_EOF_CHECK, &error);

		assert_non_null(event);
		note_removal(event);
		at += (size_t)error.position;
		at += strspn(r.body.data + at, "\n");
	}
}

static size_t
made(void)
{
	size_t count = 0;

	for (size_t i = 0; i < RUNS; i++) {
		if (*runs[i].id == '\0')
			continue;
		redisReply *end =
		    redis_do("HGET sbx:run:%s expiresAt", runs[i].id);
		runs[i].deadline_ms = strtoll(end->str, NULL, 10);
		freeReplyObject(end);
		count++;
	}
	return count;
}

static bool
all_gone(void)
{
	look_at_removals("destroy");
	for (size_t i = 0; i < RUNS; i++)
		if (*runs[i].id != '\0' && runs[i].gone_ms == 0)
			return false;
	return true;
}

static int
by_value(const void *a, const void *b)
{
	return *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

static void
many_runs_expire_at_the_same_second(void **state)
{
	pthread_t thread[MAKERS];
	int64_t late[RUNS];
	size_t count = 0;

	(void)state;
	common_ms = clock_wall_ms() + AHEAD_MS;
	for (size_t i = 0; i < MAKERS; i++)
		assert_int_equal(
		    pthread_create(&thread[i], NULL, make_runs, NULL), 0);
	for (size_t i = 0; i < MAKERS; i++)
		(void)pthread_join(thread[i], NULL);
	assert_in_range(made(), LEAST, RUNS);
	wait_until(clock_wall_ms() >= common_ms, AHEAD_MS);
	wait_until(all_gone(), BOUND_MS);
	for (size_t i = 0; i < RUNS; i++) {
		if (*runs[i].id == '\0')
			continue;
		if (runs[i].gone_ms < runs[i].deadline_ms)
			fail_msg("%s went %lld ms before its deadline",
			    runs[i].id,
			    (long long)(runs[i].deadline_ms - runs[i].gone_ms));
		late[count++] = runs[i].gone_ms - runs[i].deadline_ms;
	}
	qsort(late, count, sizeof(late[0]), by_value);
	printf("%zu runs removed: median %lld ms after the deadline, last "
	       "%lld ms\n",
	    count, (long long)late[count / 2], (long long)late[count - 1]);
	wait_until(docker_count() == 0, END_MS);
	wait_until(!redis_has("sbx:run:"), END_MS);
}

/* -- a teardown without its beginner ----------------------------------------
 */

static void *
delete_run(void *arg)
{
	struct reply r = http_do("DELETE", arg, NULL, NULL);

	reply_release(&r);
	return NULL;
}

/* The engine hangs, so that the workers die between the record's move to
 * destroying and its end; then everything is up to the reaper. */
static void
a_teardown_whose_worker_is_killed_is_finished(void **state)
{
	char id[ULID_SIZE], path[64];
	pid_t stream[16], control[16];
	size_t streams = stack_pids(STACK_STREAM, stream, 16);
	size_t controls = stack_pids(STACK_CONTROL, control, 16);
	pthread_t thread;

	(void)state;
	run_new(IMAGE_PLAIN, id);
	(void)snprintf(path, sizeof(path), "%s", run_url(id, ""));
	assert_int_equal(kill(dockerd_pid(), SIGSTOP), 0);
	assert_int_equal(pthread_create(&thread, NULL, delete_run, path), 0);
	wait_until(redis_has("destroying"), END_MS);
	stack_kill(STACK_STREAM);
	stack_kill(STACK_CONTROL);
	(void)pthread_join(thread, NULL);
	assert_int_equal(kill(dockerd_pid(), SIGCONT), 0);
	wait_until(stack_new(STACK_STREAM, stream, streams) == 2, END_MS);
	wait_until(stack_new(STACK_CONTROL, control, controls) == 2, END_MS);
	wait_until(!redis_has("sbx:run:"), TEARDOWN_MS);
	assert_null(docker_container(id));
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);
	check_problem(&r, 404, "run_not_found", NULL);
}

/* -- many who destroy -------------------------------------------------------
 */

struct destroyer {
	pthread_t thread;
	char path[64];
	long status;
};

static void *
destroy(void *arg)
{
	struct destroyer *d = arg;
	REPLY_AUTO r = http_do("DELETE", d->path, NULL, NULL);

	d->status = r.status;
	return NULL;
}

static void
eight_deletes_make_one_teardown(void **state)
{
	struct destroyer d[8];
	char id[ULID_SIZE];
	int done = 0;

	(void)state;
	run_new(IMAGE_PLAIN, id);
	for (size_t i = 0; i < 8; i++) {
		(void)snprintf(
		    d[i].path, sizeof(d[i].path), "%s", run_url(id, ""));
		assert_int_equal(
		    pthread_create(&d[i].thread, NULL, destroy, &d[i]), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		(void)pthread_join(d[i].thread, NULL);
		if (d[i].status != 204 && d[i].status != 404)
			fail_msg("DELETE: %ld", d[i].status);
		done += d[i].status == 204;
	}
	assert_in_range(done, 1, 8);
	assert_null(docker_container(id));
	assert_false(redis_has("sbx:run:"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_runs_expire_at_the_same_second),
	    cmocka_unit_test(a_teardown_whose_worker_is_killed_is_finished),
	    cmocka_unit_test(eight_deletes_make_one_teardown),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
