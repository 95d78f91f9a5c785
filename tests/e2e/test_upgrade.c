/* New programs are moved into place under load, as make install does it, and
 * the workers are replaced: nothing is cut, and runs that an older or a newer
 * version made go on. */
#include "files.h"
#include "harness.h"
#include "lib/fd.h"
#include "objects.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAMS 40
#define LONG_MS 60000
#define PIDS 16

/* Prints 0, 1, 2, ... and in the end "on". */
#define COUNTING                                                    \
	"{\"cmd\":\"i=0; until [ -e go ]; do echo $i; i=$((i+1)); " \
	"sleep 0.5; done; echo on\"}"

static const char *const installed[] = {"sbx-app", "sbx-reaper", "sbx-init",
    "sbx-proxy", "teploy-sandbox", "serve.sh", "children.sh", "engine.sh",
    "nginx/nginx.conf.in", "nginx/problems.conf.in"};

#define INSTALLED (sizeof(installed) / sizeof(installed[0]))

static char build[PATH_MAX]; /* where the tests' programs are */
static char lib[64];	     /* where this stack's are */
static char newer[ULID_SIZE];

/* -- installing ------------------------------------------------------------ */

static const char *
in_lib(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", lib, name);
	return path;
}

/* from in the build becomes name in lib, whole or not at all. */
static void
put(const char *from, const char *name)
{
	char path[PATH_MAX + 64], made[160];
	struct err e = ERR_INIT;
	struct stat st;
	size_t size;

	(void)snprintf(path, sizeof(path), "%s/%s", build, from);
	(void)snprintf(made, sizeof(made), "%s.new", in_lib(name));
	assert_int_equal(stat(path, &st), 0);
	char *bytes = fd_read_file(path, 256 << 20, &size, &e);
	assert_non_null(bytes);
	check_ok(fd_write_file(made, st.st_mode & 0777, bytes, size, &e), &e);
	free(bytes);
	assert_int_equal(rename(made, in_lib(name)), 0);
}

static void
install(void)
{
	for (size_t i = 0; i < INSTALLED; i++)
		put(installed[i], installed[i]);
}

/* Programs of now, but for the init, which is one of wire version 3. */
static void
install_older(void)
{
	install();
	put("tests/old/sbx-init", "sbx-init");
}

/* Every process of that kind runs what is installed now. */
static bool
is_installed(enum stack_kind kind, const char *name)
{
	pid_t pid[PIDS];
	size_t count = stack_pids(kind, pid, PIDS), same = 0;
	struct stat mine, theirs;
	char path[64];

	assert_int_equal(stat(in_lib(name), &mine), 0);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid[i]);
		same += stat(path, &theirs) == 0 &&
			theirs.st_dev == mine.st_dev &&
			theirs.st_ino == mine.st_ino;
	}
	return count > 0 && same == count;
}

/* -- load ------------------------------------------------------------------ */

static void
open_streams(struct stream *stream[STREAMS])
{
	for (int i = 0; i < STREAMS; i++) {
		stream[i] =
		    stream_open(run_url(object_run, "exec"), COUNTING, NULL);
		assert_int_equal(stream_status(stream[i]), 200);
	}
}

/* It printed every number, and then its end. */
static void
check_counted(const struct executed *x)
{
	const char *at = x->out.data;
	char *end;

	for (long next = 0; !str_eq(at, "on\n"); next++) {
		assert_int_equal(strtol(at, &end, 10), next);
		assert_ptr_not_equal(end, at);
		assert_int_equal(*end, '\n');
		at = end + 1;
	}
	assert_int_equal(exit_code(x), 0);
}

static void
finish_streams(struct stream *stream[STREAMS])
{
	object_let("go");
	for (int i = 0; i < STREAMS; i++) {
		EXECUTED_AUTO x = exec_finish(stream[i]);

		check_counted(&x);
		stream_close(stream[i]);
	}
	REPLY_AUTO r = file_do("DELETE", object_run, "go");
	assert_int_equal(r.status, 204);
}

/* One request of each kind; all must succeed. */
static void
call(void)
{
	REPLY_AUTO run = http_do("GET", run_url(object_run, ""), NULL, NULL);
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	EXECUTED_AUTO x = exec_sh(object_run, "echo hi");

	assert_int_equal(run.status, 200);
	assert_int_equal(list.status, 200);
	assert_int_equal(exit_code(&x), 0);
	assert_string_equal(x.out.data, "hi\n");
	file_put(object_run, "brief", "bytes");
	file_is(object_run, "brief", "bytes");
}

/* Replace the workers and the reaper, and call all the while. */
static void
replace_workers(void)
{
	pid_t stream[PIDS], control[PIDS];
	size_t streams = stack_pids(STACK_STREAM, stream, PIDS);
	size_t controls = stack_pids(STACK_CONTROL, control, PIDS);
	int64_t deadline = clock_mono_ms() + LONG_MS;

	assert_int_equal(stack_tool("workers", "restart", NULL), 0);
	while (stack_new(STACK_STREAM, stream, streams) < 2 ||
	       !is_installed(STACK_CONTROL, "sbx-app") ||
	       !is_installed(STACK_REAPER, "sbx-reaper")) {
		assert_true(clock_mono_ms() < deadline);
		call();
	}
	assert_int_equal(stack_new(STACK_CONTROL, control, controls), 2);
	call();
}

/* -- tests ----------------------------------------------------------------- */

/* The run's record tells another wire version than its worker would. */
static void
set_wire(const char *id, int version)
{
	redisReply *set = redis_do("HSET sbx:run:%s guestWire %d", id, version);

	freeReplyObject(set);
}

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_DRAIN_SEC=120", NULL};
	const char *given = getenv("SBX_TEST_BUILD");

	(void)state;
	assert_non_null(realpath(given != NULL ? given : "build", build));
	(void)snprintf(lib, sizeof(lib), "/tmp/test_upgrade.XXXXXX");
	assert_non_null(mkdtemp(lib));
	assert_int_equal(mkdir(in_lib("nginx"), 0755), 0);
	install_older();
	assert_int_equal(setenv("SBX_TEST_BUILD", lib, 1), 0);
	stack_start(env);
	assert_int_equal(setenv("SBX_TEST_BUILD", build, 1), 0);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, object_run);
	set_wire(object_run, 3);
	return 0;
}

static int
teardown(void **state)
{
	run_end(object_run);
	run_end(newer);
	int rc = stack_stop(state);
	for (size_t i = 0; i < INSTALLED; i++)
		(void)unlink(in_lib(installed[i]));
	(void)rmdir(in_lib("nginx"));
	assert_int_equal(rmdir(lib), 0);
	return rc;
}

static void
an_upgrade_under_load_cuts_nothing_and_fails_nobody(void **state)
{
	struct stream *stream[STREAMS];
	char kept[ULID_SIZE];

	(void)state;
	object_sh("echo before; " UNTIL("end") "echo after", kept);
	open_streams(stream);
	call();
	install();
	assert_false(is_installed(STACK_STREAM, "sbx-app"));
	replace_workers();
	/* Those that drain hold the streams. */
	assert_false(is_installed(STACK_STREAM, "sbx-app"));
	finish_streams(stream);
	wait_until(is_installed(STACK_STREAM, "sbx-app"), LONG_MS);
	assert_true(object_is(kept, "running"));
	object_let("end");
	EXECUTED_AUTO x = object_read(kept, "");
	assert_string_equal(x.out.data, "before\nafter\n");
	assert_int_equal(exit_code(&x), 0);
	assert_false(stack_logged("\"worker.died\""));
	assert_false(stack_logged("\"drain.cut\""));
}

/* Its init is told of a grant, and takes an exec under it. */
static void
check_leased(void)
{
	char body[128];
	REPLY_AUTO r = http_do("POST", run_url(object_run, "lease"),
	    "{\"owner\":\"me\",\"ttlSec\":60,\"force\":true}", NULL);
	assert_int_equal(r.status, 200);
	long generation =
	    (long)json_integer_value(json_at(r.json, "lease.generation"));
	EXECUTED_AUTO x = exec_json(
	    object_run, json_pack("{s:s,s:s,s:I}", "cmd", "echo mine", "owner",
			    "me", "generation", (json_int_t)generation));
	assert_string_equal(x.out.data, "mine\n");
	(void)snprintf(body, sizeof(body),
	    "{\"owner\":\"me\",\"generation\":%ld}", generation);
	REPLY_AUTO done =
	    http_do("POST", run_url(object_run, "lease/release"), body, NULL);
	assert_int_equal(done.status, 204);
}

/* Its init knows exec objects, but no conditions, and refuses version 4. */
static void
a_run_of_an_older_version_goes_on(void **state)
{
	static const char *const created = "If-None-Match: *";
	char id[ULID_SIZE];

	(void)state;
	call();
	object_sh(UNTIL("more") "echo more", id);
	struct stream *s = object_follow(id, "");
	object_let("more");
	assert_non_null(stream_await(s, "exit", LONG_MS));
	stream_close(s);
	REPLY_AUTO r = http_do(
	    "PUT", file_url(object_run, "fresh"), "bytes", created, NULL);
	check_problem(&r, 501, "not_implemented", "made before an upgrade");
	check_leased();
	run_new(IMAGE_PLAIN, newer);
	REPLY_AUTO now =
	    http_do("PUT", file_url(newer, "fresh"), "bytes", created, NULL);
	assert_int_equal(now.status, 204);
}

/* A version that knows more made a run, and the one before it is back. */
static void
a_roll_back_serves_what_the_newer_version_made(void **state)
{
	struct stream *stream[STREAMS];

	(void)state;
	run_end(object_run);
	(void)snprintf(object_run, sizeof(object_run), "%s", newer);
	*newer = '\0';
	set_wire(object_run, 99);
	open_streams(stream);
	install();
	replace_workers();
	finish_streams(stream);
	wait_until(is_installed(STACK_STREAM, "sbx-app"), LONG_MS);
	call();
	assert_false(stack_logged("\"worker.died\""));
	assert_false(stack_logged("\"drain.cut\""));
}

static size_t
stream_workers(void)
{
	pid_t pid[PIDS];

	return stack_pids(STACK_STREAM, pid, PIDS);
}

static void
a_worker_more_and_one_less_disturb_nobody(void **state)
{
	(void)state;
	struct stream *s =
	    stream_open(run_url(object_run, "exec"), COUNTING, NULL);
	assert_int_equal(stack_tool("workers", "add", NULL), 0);
	wait_until(stream_workers() == 3, LONG_MS);
	call();
	assert_int_equal(stack_tool("workers", "drop", NULL), 0);
	wait_until(stream_workers() == 2, LONG_MS);
	call();
	object_let("go");
	EXECUTED_AUTO x = exec_finish(s);
	check_counted(&x);
	stream_close(s);
	assert_int_equal(stack_tool("workers", NULL), 2);
	assert_int_equal(stack_tool("workers", "kill", NULL), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		an_upgrade_under_load_cuts_nothing_and_fails_nobody),
	    cmocka_unit_test(a_run_of_an_older_version_goes_on),
	    cmocka_unit_test(a_roll_back_serves_what_the_newer_version_made),
	    cmocka_unit_test(a_worker_more_and_one_less_disturb_nobody),
	};

	return cmocka_run_group_tests_name("upgrade", tests, setup, teardown);
}
