/* guest/ over the socket of sbx-init as PID 1, which serves on it. */
#include "../wait.h"
#include "guest/file.h"
#include "guest/guest.h"
#include "init_fixture.h"
#include "lib/fd.h"
#include "pid1_fixture.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define ENDLESS "while :; do busybox sleep 1; done"

static struct pid1 run;
static struct guest_place place;

static void
open_run_of(const char *user)
{
	run = pid1_root();
	pid1_put_shell(&run);
	pid1_start_ready(&run, user);
	place = (struct guest_place){"", run.root, run.pid, WIRE_VERSION};
	(void)signal(SIGPIPE, SIG_IGN);
}

static int
open_run(void **state)
{
	(void)state;
	if (geteuid() == 0)
		open_run_of("");
	return 0;
}

static int
close_run(void **state)
{
	(void)state;
	if (geteuid() == 0)
		pid1_finish(&run);
	return 0;
}

static struct guest *
try_in(const char *cwd, const char *script, uint64_t generation, struct err *e)
{
	static const char *const env[] = {"PATH=/bin", NULL};
	const struct wire_exec x = {.script = script,
	    .env = env,
	    .cwd = cwd,
	    .user = "",
	    .generation = generation};
	const struct guest_order order = {.exec = &x};

	return guest_exec(NULL, &place, &order, e);
}

static struct guest *
try(const char *script, uint64_t generation, struct err *e)
{
	return try_in("/", script, generation, e);
}

static struct guest *
start(const char *script, uint64_t generation)
{
	struct err e = ERR_INIT;
	struct guest *g = try(script, generation, &e);

	if (g == NULL)
		fail_msg("%s", e.text);
	return g;
}

/* Until its end; what it printed goes to out, 1000 bytes at most. */
static struct guest_event
finish(struct guest *g, struct buf *out)
{
	struct guest_event ev = {.type = GUEST_NOTHING};
	struct err e = ERR_INIT;

	while (ev.type != GUEST_EXIT && ev.type != GUEST_LOST) {
		check_ok(guest_next(g, -1, PATIENCE_MS, &ev, &e), &e);
		assert_int_not_equal(ev.type, GUEST_NOTHING);
		if (ev.type == GUEST_STDOUT && out != NULL)
			buf_add(out, ev.bytes, ev.size);
	}
	guest_free(g);
	return ev;
}

static void
fence(uint64_t generation, bool done, uint64_t known)
{
	struct err e = ERR_INIT;
	uint64_t told = 0;
	bool is_done = false;

	check_ok(
	    guest_fence(NULL, &place, generation, &is_done, &told, &e), &e);
	assert_int_equal(is_done, done);
	assert_true(told == known);
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void
commands_run_over_the_socket(void **state)
{
	BUF_AUTO out = BUF_INIT(1000);

	(void)state;
	need_root();
	struct guest_event ev = finish(start("echo hi; exit 3", 0), &out);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_int_equal(ev.exit.code, 3);
	assert_string_equal(out.data, "hi\n");
}

static void
many_commands_run_at_once(void **state)
{
	struct guest *g[100];

	(void)state;
	need_root();
	for (int i = 0; i < 100; i++)
		g[i] = start("read x; exit 7", 0);
	for (int i = 0; i < 100; i++) {
		struct guest_event ev = finish(g[i], NULL);

		assert_int_equal(ev.exit.code, 7);
	}
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
}

static void
command_ends_with_its_connection(void **state)
{
	(void)state;
	need_root();
	guest_free(start(ENDLESS, 0));
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
}

static void
silent_connections_hold_up_nothing(void **state)
{
	struct err e = ERR_INIT;
	int fd[60];

	(void)state;
	need_root();
	for (int i = 0; i < 60; i++) {
		fd[i] = fd_connect_unix(
		    pid1_inside(&run, PID1_SOCKET), PATIENCE_MS, &e);
		check_ok(fd[i], &e);
	}
	struct guest_event ev = finish(start("exit 5", 0), NULL);
	assert_int_equal(ev.exit.code, 5);
	for (int i = 0; i < 60; i++)
		fd_close(&fd[i]);
}

static int
speak_from_inside(void)
{
	BUF_AUTO frame = BUF_INIT(100);
	struct err e = ERR_INIT;
	char byte;
	int fd =
	    fd_connect_unix(pid1_inside(&run, PID1_SOCKET), PATIENCE_MS, &e);

	if (fd < 0)
		return 2;
	wire_put_fence(&frame, 1000);
	(void)send(fd, frame.data, frame.size, MSG_NOSIGNAL);
	return recv(fd, &byte, 1, 0) > 0 ? 3 : 0;
}

/* As root, in a process whose parent is in the run too (else it would be one of
 * Docker's exec). */
static void
connect_from_inside(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(speak_from_inside());
	if (waitpid(pid, &status, 0) != pid || status != 0)
		_exit(1);
}

static void
connections_from_inside_are_turned_away(void **state)
{
	(void)state;
	need_root();
	for (int i = 0; i < 200; i++)
		pid1_do_inside(&run, connect_from_inside);
	fence(1, true, 1);
}

static void
another_process_in_its_place_is_not_spoken_to(void **state)
{
	struct guest_place wrong = place;
	struct err e = ERR_INIT;

	(void)state;
	need_root();
	wrong.pid = getpid();
	check_fails(guest_wait(&wrong, 0, &e), &e, ERR_GUEST);
}

static void
a_fence_ends_what_is_older(void **state)
{
	struct guest *old, *even;

	(void)state;
	need_root();
	old = start("trap '' TERM; " ENDLESS " & " ENDLESS, 1);
	even = start("read x; " ENDLESS, 2);
	fence(2, true, 2);
	struct guest_event ev = finish(old, NULL);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_true(ev.exit.fenced);
	wait_until(pid1_children(&run) == 1, PATIENCE_MS);
	guest_free(even);
}

static void
a_fence_refuses_what_comes_late(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	need_root();
	fence(7, true, 7);
	assert_null(try("echo hi", 6, &e));
	assert_int_equal(e.kind, ERR_LEASE_SUPERSEDED);
	assert_null(try("echo hi", 0, &e));
	assert_int_equal(e.kind, ERR_LEASE_SUPERSEDED);
	assert_int_equal(finish(start("exit 4", 7), NULL).exit.code, 4);
	assert_int_equal(finish(start("exit 4", 8), NULL).exit.code, 4);
}

static void
a_fence_below_another_tells_what_is_known(void **state)
{
	(void)state;
	need_root();
	fence(7, true, 7);
	fence(7, false, 7);
	fence(6, false, 7);
	fence(8, true, 8);
}

static void
a_fence_leaves_what_is_in_the_background(void **state)
{
	(void)state;
	need_root();
	(void)finish(start("busybox sleep 1000 & exit 0", 1), NULL);
	fence(2, true, 2);
	assert_int_equal(pid1_children(&run), 1);
	assert_int_equal(kill(run.pid, SIGUSR1), 0);
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
}

static void
reset_from_inside(void)
{
	(void)kill(1, SIGUSR1);
}

/* Of a number one signal waits, whoever sent it. */
static void
a_reset_is_not_swallowed_by_a_signal_from_inside(void **state)
{
	(void)state;
	need_root();
	(void)finish(start("busybox sleep 1000 & exit 0", 1), NULL);
	assert_int_equal(kill(run.pid, SIGSTOP), 0);
	pid1_do_inside(&run, reset_from_inside);
	assert_int_equal(kill(run.pid, SIGUSR1), 0);
	assert_int_equal(kill(run.pid, SIGCONT), 0);
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
}

static void
send_without_end(void)
{
	static const int number[] = {SIGHUP, SIGTERM, SIGCHLD, SIGTERM};

	for (int i = 0; i < 4; i++) {
		if (fork() != 0)
			continue;
		for (;;)
			(void)kill(1, number[i]);
	}
}

/* More than PID 1 can read: it serves all the same, and hears what counts. */
static void
a_flood_of_signals_holds_up_nothing(void **state)
{
	(void)state;
	need_root();
	pid1_do_inside(&run, send_without_end);
	assert_int_equal(finish(start("exit 3", 1), NULL).exit.code, 3);
	fence(2, true, 2);
	assert_int_equal(kill(run.pid, SIGUSR1), 0);
	wait_until(pid1_children(&run) == 0, PATIENCE_MS);
}

static void
a_stopped_supervisor_does_not_hold_up_a_fence(void **state)
{
	struct guest *g;

	(void)state;
	need_root();
	g = start(ENDLESS, 1);
	assert_int_equal(pid1_signal_children(&run, SIGSTOP), 1);
	fence(2, true, 2);
	assert_true(finish(g, NULL).exit.fenced);
}

/* (From outside, and in a root of its own: it can be no other's.) */
static void
remove_work(void)
{
	assert_int_equal(rmdir(pid1_inside(&run, "/work")), 0);
}

static void
assert_work(void)
{
	struct stat st;

	assert_int_equal(lstat(pid1_inside(&run, "/work"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 5678);
}

static void
work_that_was_removed_is_there_for_what_comes_next(void **state)
{
	const struct wire_file look = {.what = WIRE_FILE_LIST,
	    .user = "1234:5678",
	    .root = "/work",
	    .path = "",
	    .to = ""};
	const struct guest_patience patience = {-1, PATIENCE_MS};
	struct err e = ERR_INIT;
	struct wire_stat st;

	need_root();
	(void)close_run(state);
	open_run_of("1234:5678");
	assert_int_equal(chmod(run.root, 0755), 0);
	assert_work();
	remove_work();
	struct guest *g = try_in("/work", "exit 3", 0, &e);
	if (g == NULL)
		fail_msg("%s", e.text);
	assert_int_equal(finish(g, NULL).exit.code, 3);
	assert_work();
	remove_work();
	struct guest_file *f =
	    guest_file_open(NULL, &place, &look, &patience, &e);
	if (f == NULL)
		fail_msg("%s", e.text);
	check_ok(guest_file_stat(f, &st, &e), &e);
	guest_file_free(f);
	assert_work();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_run, close_run)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(commands_run_over_the_socket),
	    TEST(many_commands_run_at_once),
	    TEST(command_ends_with_its_connection),
	    TEST(silent_connections_hold_up_nothing),
	    TEST(connections_from_inside_are_turned_away),
	    TEST(another_process_in_its_place_is_not_spoken_to),
	    TEST(a_fence_ends_what_is_older),
	    TEST(a_fence_refuses_what_comes_late),
	    TEST(a_fence_below_another_tells_what_is_known),
	    TEST(a_fence_leaves_what_is_in_the_background),
	    TEST(a_reset_is_not_swallowed_by_a_signal_from_inside),
	    TEST(a_flood_of_signals_holds_up_nothing),
	    TEST(a_stopped_supervisor_does_not_hold_up_a_fence),
	    TEST(work_that_was_removed_is_there_for_what_comes_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
