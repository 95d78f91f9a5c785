/* Leases over HTTP, on several workers: who gets a run, who must wait. */
#include "harness.h"

#include <pthread.h>
#include <string.h>

static char run[ULID_SIZE];

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_WORKERS=3", NULL};

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
	return 0;
}

static struct reply
post(const char *what, const char *body)
{
	return http_do("POST", run_url(run, what), body, NULL);
}

static int64_t
granted(const struct reply *r)
{
	assert_int_equal(r->status, 200);
	return json_integer_value(json_at(r->json, "lease.generation"));
}

/* They get the run now. */
static bool
takes(const char *owner)
{
	char body[64];

	(void)snprintf(
	    body, sizeof(body), "{\"owner\":\"%s\",\"ttlSec\":60}", owner);
	REPLY_AUTO r = post("lease", body);
	return r.status == 200;
}

static struct stream *
busy_with(const char *command)
{
	char body[256];

	(void)snprintf(body, sizeof(body), "{\"cmd\":\"%s\"}", command);
	struct stream *s = stream_open(run_url(run, "exec"), body, NULL);
	assert_int_equal(stream_status(s), 200);
	return s;
}

static void
a_lease_is_granted_renewed_and_released(void **state)
{
	(void)state;
	REPLY_AUTO first = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60}");
	assert_int_equal(granted(&first), 1);
	assert_string_equal(
	    json_string_value(json_at(first.json, "lease.holder")), "anna");
	REPLY_AUTO shown = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_string_equal(
	    json_string_value(json_at(shown.json, "lease.expiresAt")),
	    json_string_value(json_at(first.json, "lease.expiresAt")));
	REPLY_AUTO again = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60}");
	assert_int_equal(granted(&again), 2);
	REPLY_AUTO stale = post("lease/renew",
	    "{\"owner\":\"anna\",\"generation\":1,\"ttlSec\":60}");
	check_problem(&stale, 409, "lease_superseded", "superseded");
	REPLY_AUTO other = post("lease", "{\"owner\":\"bert\",\"ttlSec\":60}");
	check_problem(&other, 409, "lease_held", "anna");
	REPLY_AUTO renewed = post("lease/renew",
	    "{\"owner\":\"anna\",\"generation\":2,\"ttlSec\":9}");
	assert_int_equal(granted(&renewed), 2);
	REPLY_AUTO released =
	    post("lease/release", "{\"owner\":\"anna\",\"generation\":2}");
	assert_int_equal(released.status, 204);
	REPLY_AUTO gone = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_null(json_object_get(gone.json, "lease"));
	REPLY_AUTO next = post("lease", "{\"owner\":\"bert\",\"ttlSec\":60}");
	assert_int_equal(granted(&next), 3);
}

static void
a_lapsed_lease_frees_the_run(void **state)
{
	(void)state;
	REPLY_AUTO anna = post("lease", "{\"owner\":\"anna\",\"ttlSec\":1}");
	assert_int_equal(granted(&anna), 1);
	wait_until(takes("bert"), 20000);
	REPLY_AUTO late =
	    post("lease/release", "{\"owner\":\"anna\",\"generation\":1}");
	check_problem(&late, 409, "lease_superseded", "superseded");
	REPLY_AUTO renew = post("lease/renew",
	    "{\"owner\":\"anna\",\"generation\":1,\"ttlSec\":9}");
	check_problem(&renew, 409, "lease_superseded", "bert");
	REPLY_AUTO exec = post(
	    "exec", "{\"cmd\":\"true\",\"owner\":\"anna\",\"generation\":1}");
	check_problem(&exec, 409, "lease_superseded", "superseded");
	REPLY_AUTO still = post("lease/renew",
	    "{\"owner\":\"bert\",\"generation\":2,\"ttlSec\":9}");
	assert_int_equal(granted(&still), 2);
}

static void
bad_members_are_named(void **state)
{
	static const char *const rows[][3] = {
	    {"lease", "{\"ttlSec\":9}", "owner is required"},
	    {"lease", "{\"owner\":\" \",\"ttlSec\":9}", "owner is required"},
	    {"lease", "{\"owner\":7,\"ttlSec\":9}", "owner must be a string"},
	    {"lease", "{\"owner\":\"a\"}", "ttlSec is required"},
	    {"lease", "{\"owner\":\"a\",\"ttlSec\":86401}", "ttlSec is"},
	    {"lease", "{\"owner\":\"a\",\"ttlSec\":-1}", "ttlSec is -1"},
	    {"lease", "{\"owner\":\"a\",\"ttlSec\":9,\"waitSec\":61}",
		"waitSec is 61"},
	    {"lease", "{\"owner\":\"a\",\"ttlSec\":9,\"force\":1}",
		"force must be"},
	    {"lease/renew", "{\"owner\":\"a\",\"ttlSec\":9}",
		"generation is required"},
	    {"lease/renew", "{\"owner\":\"a\",\"generation\":1}",
		"ttlSec is required"},
	    {"lease/release", "{\"owner\":\"a\",\"generation\":-1}",
		"generation is -1"},
	    {"extend", "{}", "ttlSec is required"},
	    {"extend", "{\"ttlSec\":86401}", "ttlSec is 86401"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		REPLY_AUTO r = post(rows[i][0], rows[i][1]);

		check_problem(&r, 400, "invalid_input", rows[i][2]);
	}
	char body[400] = "{\"ttlSec\":9,\"owner\":\"";
	size_t size = strlen(body);
	memset(body + size, 'x', 257);
	memcpy(body + size + 257, "\"}", 3);
	REPLY_AUTO r = post("lease", body);
	check_problem(&r, 400, "invalid_input", "256 bytes");
}

static void
the_holder_execs_and_others_do_not(void **state)
{
	(void)state;
	REPLY_AUTO lease = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60}");
	assert_int_equal(granted(&lease), 1);
	REPLY_AUTO bare = post("exec", "{\"cmd\":\"true\"}");
	check_problem(&bare, 409, "lease_held", "anna");
	REPLY_AUTO extend = post("extend", "{\"ttlSec\":7200}");
	check_problem(&extend, 409, "lease_held", "anna");
	EXECUTED_AUTO x =
	    exec_json(run, json_pack("{s:s, s:s, s:i}", "cmd", "echo hers",
			       "owner", "anna", "generation", 1));
	assert_string_equal(x.out.data, "hers\n");
	/* Reading and destroying are not fenced. */
	REPLY_AUTO got = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_int_equal(got.status, 200);
}

static void
a_busy_run_is_refused_and_freed_by_its_exit(void **state)
{
	(void)state;
	struct stream *s = busy_with("until [ -e go ]; do sleep 0.05; done");
	REPLY_AUTO busy = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60}");
	check_problem(&busy, 409, "run_busy", "busy");
	EXECUTED_AUTO go = exec_sh(run, "touch go");
	assert_int_equal(exit_code(&go), 0);
	EXECUTED_AUTO x = exec_finish(s);
	assert_int_equal(exit_code(&x), 0);
	stream_close(s);
	REPLY_AUTO lease = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60}");
	assert_int_equal(granted(&lease), 1);
}

static void *
acquire_waiting(void *arg)
{
	struct reply *r = arg;

	*r = post("lease", "{\"owner\":\"anna\",\"ttlSec\":60,\"waitSec\":60}");
	return NULL;
}

static bool
pending(void)
{
	REPLY_AUTO r = post("exec", "{\"cmd\":\"true\"}");

	return r.status == 409 && strstr(r.body.data, "lease_pending") != NULL;
}

static void
a_waiter_keeps_newcomers_out_and_is_granted(void **state)
{
	struct reply lease;
	pthread_t waiter;

	(void)state;
	EXECUTED_AUTO fifo = exec_sh(run, "mkfifo door");
	assert_int_equal(exit_code(&fifo), 0);
	struct stream *s =
	    busy_with("s=15; (sleep $s.85431; echo open >door) & read x <door; "
		      "echo $x");
	assert_int_equal(
	    pthread_create(&waiter, NULL, acquire_waiting, &lease), 0);
	wait_until(pending(), 20000);
	REPLY_AUTO second =
	    post("lease", "{\"owner\":\"bert\",\"ttlSec\":60,\"waitSec\":5}");
	check_problem(&second, 409, "lease_pending", "waits");
	proc_kill("sleep 15.85431");
	EXECUTED_AUTO x = exec_finish(s);
	assert_string_equal(x.out.data, "open\n");
	stream_close(s);
	(void)pthread_join(waiter, NULL);
	assert_int_equal(granted(&lease), 1);
	reply_release(&lease);
}

static void
force_kills_what_runs_and_grants(void **state)
{
	(void)state;
	struct stream *s =
	    busy_with("trap '' TERM; (setsid sleep 1000 &) ; sleep 1000");
	REPLY_AUTO lease =
	    post("lease", "{\"owner\":\"anna\",\"ttlSec\":60,\"force\":true}");
	assert_int_equal(granted(&lease), 1);
	EXECUTED_AUTO x = exec_finish(s);
	assert_int_equal(json_integer_value(json_at(x.exit, "exitCode")), -1);
	assert_string_equal(json_string_value(json_at(x.exit, "error")),
	    "the run was given to somebody else");
	stream_close(s);
	EXECUTED_AUTO left = exec_json(run,
	    json_pack("{s:s, s:s, s:i}", "cmd", "ps | grep -c '[s]leep 1000'",
		"owner", "anna", "generation", 1));
	assert_string_equal(left.out.data, "0\n");
	/* It does not override another's lease. */
	REPLY_AUTO bert =
	    post("lease", "{\"owner\":\"bert\",\"ttlSec\":60,\"force\":true}");
	check_problem(&bert, 409, "lease_held", "anna");
}

/* Nothing is in flight; what a shell left behind is killed all the same, and so
 * is what keeps the run's init from hearing of the grant. */
static void
force_kills_background_processes_too(void **state)
{
	(void)state;
	needs_host_kernel("its processes cannot be seen from here");
	EXECUTED_AUTO left = exec_sh(
	    run, "rm -f /.sbx/run/guest.sock; sleep 2000 >/dev/null 2>&1 &");
	assert_int_equal(exit_code(&left), 0);
	wait_until(proc_count("sleep 2000") == 1, 20000);
	REPLY_AUTO lease =
	    post("lease", "{\"owner\":\"anna\",\"ttlSec\":60,\"force\":true}");
	assert_int_equal(granted(&lease), 1);
	wait_until(proc_count("sleep 2000") == 0, 20000);
}

static void
a_dead_worker_frees_its_marks(void **state)
{
	(void)state;
	struct stream *s = busy_with("sleep 1000");
	stack_kill(STACK_STREAM);
	EXECUTED_AUTO x = exec_finish(s);
	assert_null(x.exit); /* the cut can be told */
	stream_close(s);
	wait_until(takes("anna"), 60000);
	EXECUTED_AUTO left = exec_json(run,
	    json_pack("{s:s, s:s, s:i}", "cmd", "ps | grep -c '[s]leep 1000'",
		"owner", "anna", "generation", 1));
	assert_string_equal(left.out.data, "0\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, with_run, without_run)
	    T(a_lease_is_granted_renewed_and_released),
	    T(a_lapsed_lease_frees_the_run),
	    T(bad_members_are_named),
	    T(the_holder_execs_and_others_do_not),
	    T(a_busy_run_is_refused_and_freed_by_its_exit),
	    T(a_waiter_keeps_newcomers_out_and_is_granted),
	    T(force_kills_what_runs_and_grants),
	    T(force_kills_background_processes_too),
	    T(a_dead_worker_frees_its_marks),
#undef T
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
