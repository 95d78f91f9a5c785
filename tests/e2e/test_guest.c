/* The socket of a run's init (DESIGN 4): execs go over it, and whatever a run
 * does to it is the run's own loss. */
#include "harness.h"
#include "lib/fd.h"

#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define END_MS 30000
#define SOCKET "/.sbx/run/guest.sock"

static char run[ULID_SIZE];

static int
setup(void **state)
{
	/* No reaper that sees a container between its end and its restart. */
	static const char *const env[] = {
	    "SBX_GUEST=socket", "SBX_REAP_INTERVAL=3600", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

static int
open_run(void **state)
{
	(void)state;
	run_new(IMAGE_PLAIN, run);
	return 0;
}

static int
close_run(void **state)
{
	(void)state;
	run_end(run);
	return 0;
}

/* A field of the run's record, in a static buffer. */
static const char *
field(const char *name)
{
	static char text[512];
	redisReply *r = redis_do("HGET sbx:run:%s %s", run, name);

	(void)snprintf(text, sizeof(text), "%s", r->str != NULL ? r->str : "");
	freeReplyObject(r);
	return text;
}

static void
check_hi(void)
{
	EXECUTED_AUTO x = exec_sh(run, "echo hi");

	assert_int_equal(exit_code(&x), 0);
	assert_string_equal(x.out.data, "hi\n");
}

static void
execs_go_over_the_socket_and_not_through_docker(void **state)
{
	(void)state;
	assert_string_equal(field("transport"), "socket");
	check_hi();
	json_t *container = docker_container(run);
	assert_true(json_is_null(json_at(container, "ExecIDs")));
	json_decref(container);
	/* No host path in what a caller sees. */
	REPLY_AUTO r = http_do("GET", run_url(run, ""), NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_null(strstr(r.body.data, "volumes"));
}

static void
many_execs_run_at_once(void **state)
{
	struct stream *s[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		s[i] = stream_open(run_url(run, "exec"),
		    "{\"cmd\":\"sleep 1; exit 9\"}", NULL);
	for (int i = 0; i < 32; i++) {
		const struct event *ev = stream_await(s[i], "exit", END_MS);

		assert_non_null(ev);
		assert_string_equal(
		    ev->data, "{\"exitCode\":9,\"timedOut\":false}");
		stream_close(s[i]);
	}
}

static void
a_command_does_not_outlive_its_worker(void **state)
{
	struct stream *s;
	pid_t old[16];
	size_t count = stack_pids(STACK_STREAM, old, 16);

	(void)state;
	s = stream_open(run_url(run, "exec"),
	    "{\"cmd\":\"(setsid sleep 98761 &); sleep 98761\"}", NULL);
	wait_until(proc_count("sleep 98761") >= 2, END_MS);
	stack_kill(STACK_STREAM);
	wait_until(proc_count("sleep 98761") == 0, END_MS);
	stream_close(s);
	wait_until(stack_new(STACK_STREAM, old, count) == 2, END_MS);
	check_hi();
}

/* Nobody answers, or nobody who may: a clear answer, at once. */
static void
check_refused(const char *why)
{
	EXECUTED_AUTO x = exec_sh(run, "echo hi");

	assert_int_equal(x.status, 502);
	assert_non_null(strstr(x.problem.data, "\"guest_failed\""));
	assert_null(strstr(x.problem.data, "volumes"));
	wait_until(stack_logged(why), END_MS);
	assert_true(x.took_ms < 15000);
}

static void
a_run_that_spoils_its_socket_harms_itself_alone(void **state)
{
	static const struct {
		const char *put, *why;
	} spoilt[] = {
	    {"true", "the socket of the run's init"},
	    {"ln -s /var/run/docker.sock " SOCKET, "something else"},
	    {"ln -s guest.old " SOCKET, "something else"},
	    {"mkfifo " SOCKET, "something else"},
	    {"mkdir " SOCKET, "something else"},
	    {"echo > " SOCKET, "something else"},
	};
	char other[ULID_SIZE], cmd[300];

	(void)state;
	run_new(IMAGE_PLAIN, other);
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		(void)close_run(NULL);
		(void)open_run(NULL);
		(void)snprintf(cmd, sizeof(cmd),
		    "cd /.sbx/run && mv guest.sock guest.old && %s",
		    spoilt[i].put);
		EXECUTED_AUTO x = exec_sh(run, cmd);
		assert_int_equal(exit_code(&x), 0);
		check_refused(spoilt[i].why);
	}
	EXECUTED_AUTO x = exec_sh(other, "true");
	assert_int_equal(exit_code(&x), 0);
	run_end(other);
}

static void
another_listener_in_its_place_is_refused(void **state)
{
	struct err e = ERR_INIT;
	char path[600];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/guest.sock", field("guestDir"));
	assert_int_equal(unlink(path), 0);
	FD_AUTO fd = fd_listen_unix(path, 0666, 5, &e);
	check_ok(fd, &e);
	check_refused("another process");
}

static void
a_run_cannot_fill_the_hosts_memory_by_it(void **state)
{
	struct statvfs fs;

	(void)state;
	EXECUTED_AUTO x = exec_sh(run,
	    "cd /.sbx/run; dd if=/dev/zero of=big bs=1k count=1000; "
	    "for i in 1 2 3 4 5 6 7 8 9; do touch f$i; done; exit 0");
	assert_int_equal(exit_code(&x), 0);
	assert_int_equal(statvfs(field("guestDir"), &fs), 0);
	assert_int_equal(fs.f_bavail, 0);
	assert_true(fs.f_blocks * fs.f_frsize <= 65536);
	assert_int_equal(fs.f_files, 8);
	assert_int_equal(fs.f_ffree, 0);
	check_hi();
}

static void
an_unprivileged_user_cannot_connect_or_change_it(void **state)
{
	char user[ULID_SIZE];

	(void)state;
	run_new(IMAGE_USER, user);
	EXECUTED_AUTO x = exec_sh(user,
	    "rm -f " SOCKET "; [ -e " SOCKET " ] && ! [ -w " SOCKET " ] && "
	    "! touch /.sbx/run/x");
	assert_int_equal(exit_code(&x), 0);
	run_end(user);
}

static void
a_run_restarted_by_hand_is_reached_again(void **state)
{
	char path[600], before[512];

	(void)state;
	(void)snprintf(before, sizeof(before), "%s", field("guestPid"));
	(void)snprintf(path, sizeof(path), "/containers/%s/restart?t=0",
	    field("containerId"));
	REPLY_AUTO r = docker_do("POST", path, NULL);
	assert_int_equal(r.status, 204);
	check_hi();
	assert_string_not_equal(field("guestPid"), before);
	assert_string_equal(field("state"), "running");
}

static int64_t
acquire(void)
{
	REPLY_AUTO r = http_json("POST", run_url(run, "lease"),
	    json_pack("{s:s,s:i}", "owner", "me", "ttlSec", 60));

	assert_int_equal(r.status, 200);
	return json_integer_value(json_at(r.json, "lease.generation"));
}

static void
a_grant_lies_above_what_the_guest_knows(void **state)
{
	(void)state;
	assert_int_equal(acquire(), 1);
	assert_int_equal(acquire(), 2);
	assert_int_equal(acquire(), 3);
	/* Redis came back with what it knew earlier. */
	freeReplyObject(redis_do("HSET sbx:run:%s leaseGeneration 1", run));
	assert_int_equal(acquire(), 4);
	EXECUTED_AUTO x =
	    exec_json(run, json_pack("{s:s,s:s,s:i}", "cmd", "true", "owner",
			       "me", "generation", 4));
	assert_int_equal(exit_code(&x), 0);
}

static void
an_exec_of_an_older_generation_is_refused_by_the_guest(void **state)
{
	(void)state;
	assert_int_equal(acquire(), 1);
	assert_int_equal(acquire(), 2);
	/* As if Redis had admitted it before the second grant. */
	freeReplyObject(redis_do("HSET sbx:run:%s leaseGeneration 1", run));
	EXECUTED_AUTO x =
	    exec_json(run, json_pack("{s:s,s:s,s:i}", "cmd", "true", "owner",
			       "me", "generation", 1));
	assert_int_equal(x.status, 409);
	assert_non_null(strstr(x.problem.data, "\"lease_superseded\""));
}

static void
check_unsupported(const struct reply *r)
{
	check_problem(r, 501, "not_implemented", "before an upgrade");
}

/* A record of then does not tell the version of its init. */
static void
a_run_made_before_an_upgrade_runs_commands_and_no_more(void **state)
{
	(void)state;
	assert_string_equal(field("guestWire"), "4");
	freeReplyObject(redis_do("HDEL sbx:run:%s guestWire", run));
	check_hi();
	assert_int_equal(acquire(), 1);
	assert_int_equal(acquire(), 2);
	EXECUTED_AUTO x =
	    exec_json(run, json_pack("{s:s,s:s,s:i}", "cmd", "true", "owner",
			       "me", "generation", 2));
	assert_int_equal(exit_code(&x), 0);
	REPLY_AUTO detached = http_json("POST", run_url(run, "exec"),
	    json_pack("{s:s,s:b,s:s,s:i}", "cmd", "true", "detach", 1, "owner",
		"me", "generation", 2));
	check_unsupported(&detached);
	REPLY_AUTO execs = http_do("GET", run_url(run, "execs"), NULL, NULL);
	check_unsupported(&execs);
	REPLY_AUTO file = http_do("GET", run_url(run, "files/a"), NULL, NULL);
	check_unsupported(&file);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

static void
no_socket_crosses_into_gvisor(void **state)
{
	(void)state;
	needs_host_kernel("no unix socket crosses into it");
}

int
main(void)
{
	const struct CMUnitTest none[] = {
	    cmocka_unit_test(no_socket_crosses_into_gvisor)};
	const struct CMUnitTest tests[] = {
	    TEST(execs_go_over_the_socket_and_not_through_docker),
	    TEST(many_execs_run_at_once),
	    TEST(a_command_does_not_outlive_its_worker),
	    TEST(a_run_that_spoils_its_socket_harms_itself_alone),
	    TEST(another_listener_in_its_place_is_refused),
	    TEST(a_run_cannot_fill_the_hosts_memory_by_it),
	    TEST(an_unprivileged_user_cannot_connect_or_change_it),
	    TEST(a_run_restarted_by_hand_is_reached_again),
	    TEST(a_grant_lies_above_what_the_guest_knows),
	    TEST(an_exec_of_an_older_generation_is_refused_by_the_guest),
	    TEST(a_run_made_before_an_upgrade_runs_commands_and_no_more),
	};

	if (stack_gvisor())
		return cmocka_run_group_tests(none, NULL, NULL);
	return cmocka_run_group_tests(tests, setup, stack_stop);
}
