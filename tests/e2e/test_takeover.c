/* What serves a request in the run is ended there without a word: by who takes
 * the run over with force, or by the run itself. Reads are done again; all else
 * is told that the run was given away, or that nothing came of it. */
#include "files.h"
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 30000
#define ROUNDS 60

static char run[ULID_SIZE];
static atomic_bool stop;

static int
setup(void **state)
{
	static const char *const env[] = {
	    "SBX_CLIENT_STALL_SEC=4", "SBX_MAX_UPLOAD_MB=8", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_USER);
	return 0;
}

static int
with_run(void **state)
{
	(void)state;
	run_new(IMAGE_USER, run);
	file_put(run, "d/f", "content");
	return 0;
}

static int
without_run(void **state)
{
	(void)state;
	run_end(run);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, with_run, without_run)

/* The commands of the run's user may kill what serves files in its name: all
 * but themselves, until killing some has succeeded, or for ever. */
static void
kill_handlers(bool for_ever)
{
	REPLY_AUTO r = http_json("POST", run_url(run, "exec"),
	    json_pack("{s:s,s:b}", "cmd",
		for_ever ? "while :; do kill -9 -1; done 2>/dev/null"
			 : "until kill -9 -1; do :; done 2>/dev/null",
		"detach", 1));

	assert_int_equal(r.status, 202);
}

static bool
killers_are_gone(void)
{
	REPLY_AUTO r = http_do("GET", run_url(run, "execs"), NULL, NULL);
	size_t i;
	json_t *x;

	assert_int_equal(r.status, 200);
	json_array_foreach(json_object_get(r.json, "execs"), i,
	    x) if (str_eq(json_string_value(json_at(x, "state")),
		       "running")) return false;
	return true;
}

static const char *const reads[] = {"d/f", "d?list=1", "d/f?stat=1"};

static void
a_read_whose_handler_is_killed_is_done_again(void **state)
{
	(void)state;
	needs_host_kernel("a kill there may meet who is not yet the user");
	for (int i = 0; i < 10; i++) {
		const char *what = reads[i % 3];

		kill_handlers(false);
		do {
			REPLY_AUTO r = file_do("GET", run, what);

			if (r.status != 200)
				fail_msg(
				    "%s: %ld %s", what, r.status, r.body.data);
			assert_non_null(strstr(
			    r.body.data, i % 3 == 0 ? "content" : "\"f\""));
		} while (!killers_are_gone());
	}
}

static void
a_read_whose_handlers_are_all_killed_is_a_problem(void **state)
{
	int killed = 0;

	(void)state;
	kill_handlers(true);
	/* On a busy box who kills may come late for a while. */
	for (int i = 0; i < ROUNDS || (killed == 0 && i < 50 * ROUNDS); i++) {
		REPLY_AUTO r = file_do("GET", run, reads[i % 3]);

		if (r.status == 200)
			continue;
		check_problem(&r, 502, "guest_failed", NULL);
		killed++;
	}
	assert_true(killed > 0);
}

static void *
take_over_and_over(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		REPLY_AUTO r = http_do("POST", run_url(run, "lease"),
		    "{\"owner\":\"anna\",\"ttlSec\":60,\"force\":true}", NULL);
		char body[100];

		if (r.status != 200)
			continue;
		(void)snprintf(body, sizeof(body),
		    "{\"owner\":\"anna\",\"generation\":%lld}",
		    (long long)json_integer_value(
			json_at(r.json, "lease.generation")));
		REPLY_AUTO released =
		    http_do("POST", run_url(run, "lease/release"), body, NULL);
		assert_int_equal(released.status, 204);
	}
	return NULL;
}

/* Never that something failed which nobody can know the cause of. */
static void
check_superseded(const struct reply *r)
{
	const char *code = json_string_value(json_object_get(r->json, "code"));

	if (r->status >= 300 &&
	    (r->status != 409 || strncmp(code, "lease_", 6) != 0))
		fail_msg("%ld %s", r->status, r->body.data);
}

static void
starts_that_meet_a_takeover_are_superseded(void **state)
{
	pthread_t taker;

	(void)state;
	atomic_store(&stop, false);
	assert_int_equal(
	    pthread_create(&taker, NULL, take_over_and_over, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		REPLY_AUTO started = http_json("POST", run_url(run, "exec"),
		    json_pack("{s:s,s:b}", "cmd", "sleep 1000", "detach", 1));
		check_superseded(&started);
		EXECUTED_AUTO x = exec_sh(run, "sleep 0.05");
		const char *error =
		    json_string_value(json_object_get(x.exit, "error"));
		if (error != NULL)
			assert_string_equal(
			    error, "the run was given to somebody else");
	}
	atomic_store(&stop, true);
	(void)pthread_join(taker, NULL);
}

static struct reply fed;

static void *
feed(void *path)
{
	char *much = malloc(4 << 20);

	memset(much, 'x', (4 << 20) - 1);
	much[(4 << 20) - 1] = '\0';
	fed = http_do("POST", path, much, NULL);
	free(much);
	return NULL;
}

static void
input_that_meets_a_takeover_is_superseded(void **state)
{
	pthread_t feeder;
	char path[200];

	(void)state;
	REPLY_AUTO x = http_json("POST", run_url(run, "exec"),
	    json_pack(
		"{s:s,s:b,s:b}", "cmd", "sleep 1000", "stdin", 1, "detach", 1));
	assert_int_equal(x.status, 202);
	(void)snprintf(path, sizeof(path), "/v1/runs/%s/execs/%s/stdin", run,
	    json_string_value(json_at(x.json, "exec.id")));
	assert_int_equal(pthread_create(&feeder, NULL, feed, path), 0);
	struct reply now = {.status = 0};
	wait_until((reply_release(&now),
		       now = http_do("GET", run_url(run, ""), NULL, NULL),
		       json_integer_value(json_at(now.json, "inFlight")) == 1),
	    END_MS);
	reply_release(&now);
	REPLY_AUTO lease = http_do("POST", run_url(run, "lease"),
	    "{\"owner\":\"anna\",\"ttlSec\":60,\"force\":true}", NULL);
	assert_int_equal(lease.status, 200);
	(void)pthread_join(feeder, NULL);
	check_problem(&fed, 409, "lease_superseded", "superseded");
	reply_release(&fed);
}

static void
a_handler_that_does_nothing_is_waited_for_as_long_as_a_client(void **state)
{
	(void)state;
	needs_host_kernel("its init cannot be stopped alone");
	json_auto_t *container = docker_container(run);
	pid_t init = (pid_t)json_integer_value(json_at(container, "State.Pid"));
	assert_int_equal(kill(init, SIGSTOP), 0);
	REPLY_AUTO read = file_do("GET", run, "d/f");
	REPLY_AUTO removed = file_do("DELETE", run, "d/f");
	assert_int_equal(kill(init, SIGCONT), 0);
	check_problem(&read, 502, "guest_failed", NULL);
	check_problem(&removed, 502, "guest_failed", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_read_whose_handler_is_killed_is_done_again),
	    TEST(a_read_whose_handlers_are_all_killed_is_a_problem),
	    TEST(starts_that_meet_a_takeover_are_superseded),
	    TEST(input_that_meets_a_takeover_is_superseded),
	    TEST(a_handler_that_does_nothing_is_waited_for_as_long_as_a_client),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
