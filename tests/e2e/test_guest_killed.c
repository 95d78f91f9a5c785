/* What root of a run kills and spoils of its init (DESIGN 4), or the box does:
 * nothing of a command stays, the run is reached all the same, and no reader
 * takes a part for the whole. */
#include "files.h"
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define END_MS 30000
#define SOCKET "/.sbx/run/guest.sock"

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

static void
check_hi(void)
{
	EXECUTED_AUTO x = exec_sh(run, "echo hi");

	assert_int_equal(exit_code(&x), 0);
	assert_string_equal(x.out.data, "hi\n");
}

/* -- commands ---------------------------------------------------------------
 */

/* Sleepers in sessions of their own, and shells that make more of them up to
 * the run's limit of processes. */
static void
what_loses_its_supervisor_does_not_outlive_it(void **state)
{
	static const char cmd[] =
	    "s=$PPID\n"
	    "(sleep 0.5; kill -9 $s) &\n"
	    "for i in 1 2 3 4; do\n"
	    "	(setsid sh -c 'trap \"\" TERM; sleep 87651; sleep 87651' &)\n"
	    "	(while :; do (setsid sleep 87651 &); done) 2>/dev/null &\n"
	    "done\n"
	    "wait";

	(void)state;
	EXECUTED_AUTO x = exec_sh(run, cmd);
	assert_int_equal(x.status, 200);
	assert_int_equal(exit_code(&x), -1);
	assert_true(json_is_string(json_at(x.exit, "error")));
	/* (Within 3 s, on a box that is not busy.) */
	wait_until(proc_count("sleep 87651") == 0, END_MS);
	check_hi();
}

/* -- the way to the run -----------------------------------------------------
 */

static bool
goes_through_docker(void)
{
	redisReply *r = redis_do("HGET sbx:run:%s transport", run);
	bool exec = r->str != NULL && str_eq(r->str, "exec");

	freeReplyObject(r);
	return exec;
}

static void
check_all_ways(void)
{
	check_hi();
	assert_true(goes_through_docker());
	file_put(run, "f", "still here");
	file_is(run, "f", "still here");
	REPLY_AUTO lease = http_json("POST", run_url(run, "lease"),
	    json_pack(
		"{s:s,s:i,s:b}", "owner", "me", "ttlSec", 60, "force", 1));
	assert_int_equal(lease.status, 200);
	assert_int_equal(
	    json_integer_value(json_at(lease.json, "lease.generation")), 1);
}

static void
a_run_without_its_socket_is_reached_by_dockers_exec(void **state)
{
	static const char *const spoilt[] = {"rm guest.sock",
	    "mv guest.sock old; ln -s /var/run/docker.sock guest.sock",
	    "rm guest.sock; mkfifo guest.sock"};
	char cmd[200];

	(void)state;
	if (!run_has_socket(run))
		skip();
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		(void)snprintf(
		    cmd, sizeof(cmd), "cd /.sbx/run && { %s; }", spoilt[i]);
		if (i > 0) {
			run_end(run);
			run_new(IMAGE_PLAIN, run);
		}
		EXECUTED_AUTO x = exec_sh(run, cmd);
		assert_int_equal(exit_code(&x), 0);
		check_all_ways();
	}
}

/* Its init would not answer there. */
static void
an_older_run_without_its_socket_is_not_tried_so(void **state)
{
	(void)state;
	if (!run_has_socket(run))
		skip();
	freeReplyObject(redis_do("HSET sbx:run:%s guestWire 3", run));
	EXECUTED_AUTO gone = exec_sh(run, "rm " SOCKET);
	assert_int_equal(exit_code(&gone), 0);
	EXECUTED_AUTO x = exec_sh(run, "true");
	assert_int_equal(x.status, 502);
	assert_non_null(strstr(x.problem.data, "\"guest_failed\""));
	assert_false(goes_through_docker());
}

/* -- terminals --------------------------------------------------------------
 */

static void
a_run_without_terminals_says_so(void **state)
{
	(void)state;
	EXECUTED_AUTO gone = exec_sh(run, "rm /dev/ptmx");
	assert_int_equal(exit_code(&gone), 0);
	REPLY_AUTO r = http_do("POST", run_url(run, "exec"),
	    "{\"cmd\":\"true\",\"tty\":true}", NULL);
	check_problem(&r, 409, "conflict", "tty: ");
	assert_non_null(strstr(r.body.data, "/dev/ptmx"));
	check_hi();
}

/* -- readers ----------------------------------------------------------------
 */

static pid_t
init_pid(void)
{
	json_t *container = docker_container(run);
	pid_t pid = (pid_t)json_integer_value(json_at(container, "State.Pid"));

	json_decref(container);
	assert_true(pid > 1);
	return pid;
}

static void *
read_file(void *arg)
{
	struct reply *r = arg;

	*r = file_do("GET", run, "f");
	return NULL;
}

/* The process that PID 1 starts next is dead before it does anything. */
static void
kill_next(pid_t init)
{
	unsigned long child = 0;
	int status;

	wait_until(waitpid(init, &status, __WALL | WNOHANG) == init, END_MS);
	assert_int_equal(status >> 8, SIGTRAP | PTRACE_EVENT_FORK << 8);
	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, init, NULL, &child), 0);
	assert_int_equal(kill((pid_t)child, SIGKILL), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, init, NULL, NULL), 0);
	wait_until(
	    waitpid((pid_t)child, &status, __WALL | WNOHANG) == (pid_t)child &&
		WIFSIGNALED(status),
	    END_MS);
}

static void
a_read_whose_reader_is_killed_is_done_again(void **state)
{
	struct reply r;
	pthread_t reader;
	pid_t init = init_pid();

	(void)state;
	file_put(run, "f", "0123456789");
	assert_int_equal(
	    ptrace(PTRACE_SEIZE, init, NULL, PTRACE_O_TRACEFORK), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_file, &r), 0);
	kill_next(init);
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body.data, "0123456789");
	reply_release(&r);
}

/* What handles files in the run: there is nothing else of that name. */
static size_t
kill_handlers(pid_t init)
{
	static struct proc all[PROC_MOST];
	size_t count = proc_all(all), killed = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].parent == init && str_eq(all[i].name, "sbx-file"))
			killed += kill(all[i].pid, SIGKILL) == 0;
	return killed;
}

static void
a_reader_that_is_killed_later_breaks_the_reply(void **state)
{
	pid_t init = init_pid();

	(void)state;
	free(file_sh(run, "mkdir d; dd if=/dev/zero of=d/f bs=1M count=100 "
			  "2>/dev/null"));
	int fd = download_begin(run, "d?archive=tar");
	assert_int_equal(kill_handlers(init), 1);
	assert_false(download_finish(fd));
}

/* Also where nothing says how much it is to be: nginx sees the connection to
 * the worker reset. */
static void
a_worker_that_is_killed_breaks_the_reply(void **state)
{
	static const char *const whats[] = {"d/f", "d?archive=tar"};
	int fd[2];

	(void)state;
	free(file_sh(run, "mkdir d; dd if=/dev/zero of=d/f bs=1M count=100 "
			  "2>/dev/null"));
	assert_true(download_finish(download_begin(run, whats[1])));
	for (size_t i = 0; i < 2; i++)
		fd[i] = download_begin(run, whats[i]);
	stack_kill(STACK_STREAM);
	for (size_t i = 0; i < 2; i++)
		if (download_finish(fd[i]))
			fail_msg("%s looks whole", whats[i]);
	wait_until(stack_ready(), END_MS);
	check_hi();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_loses_its_supervisor_does_not_outlive_it),
	    TEST(a_run_without_its_socket_is_reached_by_dockers_exec),
	    TEST(an_older_run_without_its_socket_is_not_tried_so),
	    TEST(a_run_without_terminals_says_so),
	    TEST(a_read_whose_reader_is_killed_is_done_again),
	    TEST(a_reader_that_is_killed_later_breaks_the_reply),
	    TEST(a_worker_that_is_killed_breaks_the_reply),
	};

	return run_on_host_kernel("test_guest_killed", tests, setup, stack_stop,
	    "its processes are not this kernel's");
}
