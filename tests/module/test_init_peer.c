/* Who may speak to PID 1 by its abstract name, which every process of the run
 * can connect to. Each has it, also one that has a socket in a directory. */
#include "../wait.h"
#include "init_fixture.h"
#include "lib/fd.h"
#include "pid1_fixture.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define NAME "@sbx-init"

static struct pid1 run;
static int to[2], from[2]; /* of a relay */

static int
open_run(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	run = pid1_root();
	pid1_start_ready(&run, "");
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

/* What PID 1 answers to a fence of that generation: 0 is nothing. */
static enum wire_type
answer_to_fence(uint64_t generation)
{
	BUF_AUTO frame = BUF_INIT(100);
	struct err e = ERR_INIT;
	char got[WIRE_HEAD];
	FD_AUTO fd = fd_connect_unix(NAME, PATIENCE_MS, &e);

	if (fd < 0)
		return 255;
	wire_put_fence(&frame, generation);
	(void)send(fd, frame.data, frame.size, MSG_NOSIGNAL);
	if (recv(fd, got, sizeof(got), MSG_WAITALL) != WIRE_HEAD)
		return 0;
	return (unsigned char)got[WIRE_HEAD - 1];
}

/* As Docker's exec starts a process: its parent is outside. */
static void
speak_as_dockers_exec(void)
{
	if (answer_to_fence(1) != WIRE_FENCED)
		_exit(1);
}

static void
speak_as_user_of_dockers_exec(void)
{
	if (setgid(1000) != 0 || setuid(1000) != 0 || answer_to_fence(9) != 0)
		_exit(1);
}

static void
speak_as_root_of_the_run(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(answer_to_fence(9) == 0 ? 0 : 1);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		_exit(1);
}

/* One that loses its parent gets PID 1, not somebody outside. */
static void
speak_as_orphan(void)
{
	int told[2];
	char ok = 0;

	if (pipe(told) != 0)
		_exit(1);
	if (fork() == 0) {
		pid_t parent = getpid();

		if (fork() > 0)
			_exit(0);
		while (getppid() == parent)
			(void)poll(NULL, 0, 1);
		ok = answer_to_fence(9) == 0;
		(void)!write(told[1], &ok, 1);
		_exit(0);
	}
	if (read(told[0], &ok, 1) != 1 || !ok)
		_exit(1);
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void
dockers_exec_may_speak_as_root_alone(void **state)
{
	(void)state;
	need_root();
	pid1_do_inside(&run, speak_as_dockers_exec);
	pid1_do_inside(&run, speak_as_user_of_dockers_exec);
}

static void
nothing_that_the_run_started_may_speak(void **state)
{
	(void)state;
	need_root();
	pid1_do_inside(&run, speak_as_root_of_the_run);
	pid1_do_inside(&run, speak_as_orphan);
}

static void
become_relay(void)
{
	if (chroot(run.root) != 0 || chdir("/") != 0 ||
	    dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
		_exit(1);
	(void)execl("/init", "init", "exec", (char *)NULL);
	_exit(1);
}

/* Nothing is there but the program: no shell, no user, no /tmp, no /dev. */
static void
relay_works_in_an_empty_image(void **state)
{
	static const char *const argv[] = {"/init", "version", NULL};
	static const char *const env[] = {NULL};
	const struct wire_exec x = {
	    .argv = argv, .env = env, .cwd = "/", .user = "", .generation = 1};
	BUF_AUTO frame = BUF_INIT(1000);
	struct init in = {.got = BUF_INIT(100000)};
	struct outcome o;

	(void)state;
	need_root();
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	wire_put_exec(&frame, &x);
	assert_int_equal(write(to[1], frame.data, frame.size), frame.size);
	pid1_do_inside(&run, become_relay);
	in.from = from[0];
	init_finish(&in, NULL, 0, &o);
	assert_string_equal(o.text, "");
	assert_true(o.started);
	assert_int_equal(o.exit.code, 0);
	assert_non_null(strstr(o.out.data, "sbx-init"));
	outcome_release(&o);
	buf_release(&in.got);
	for (int i = 0; i < 2; i++) {
		fd_close(&to[i]);
		fd_close(&from[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(dockers_exec_may_speak_as_root_alone),
	    cmocka_unit_test(nothing_that_the_run_started_may_speak),
	    cmocka_unit_test(relay_works_in_an_empty_image),
	};

	return cmocka_run_group_tests(tests, open_run, close_run);
}
