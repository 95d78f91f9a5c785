/* run/egress_proxy, run/egress_talk: starting, ending and speaking to a run's
 * proxy, with programs and servers that stand for one. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/egress_proxy.h"
#include "run/egress_talk.h"
#include "run/place.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "01BX5ZZKBKACTAV9WEVGEMMVRZ"
#define OTHER "01BX5ZZKBKACTAV9WEVGEMMVS0"

static char dir[] = "/tmp/sbx-egress-XXXXXX", program[64];
static struct config config = {
    .egress_start = "spawn", .egress_resolv = "/etc/resolv.conf"};
static const struct egress_place place = {ID, "/nowhere", "", 1};

static void
make_directory(const char *id)
{
	char path[RUN_PATH_SIZE];

	run_path(&config, id, NULL, path);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(program, sizeof(program), "%s/program", dir);
	config.run_dir = dir;
	config.proxy = program;
	make_directory("");
	make_directory(ID);
	return 0;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static int
teardown(void **state)
{
	(void)state;
	return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* -- starting -------------------------------------------------------------- */

static void
put_program(const char *text)
{
	struct err e = ERR_INIT;

	check_ok(fd_write_file(program, 0700, text, strlen(text), &e), &e);
}

static void
fails(const char *says)
{
	struct err e = ERR_INIT;

	check_fails(egress_proxy_start(&config, &place, &e), &e, ERR_PROXY);
	if (strstr(e.text, says) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", e.text, says);
}

static void
one_that_does_not_start_says_why(void **state)
{
	(void)state;
	fails("No such file");
	put_program("#!/bin/sh\necho one >&2\necho the reason >&2\nexit 1\n");
	fails("failed (0x100): the reason");
	put_program("#!/bin/sh\nkill -TERM $$\n");
	fails("failed (0xf)");
}

static void
check_told(const struct egress_place *at, const char *more)
{
	char path[RUN_PATH_SIZE], want[1024];
	struct err e = ERR_INIT;
	int open_fd = open("/dev/null", O_RDONLY); /* not close-on-exec */

	put_program("#!/bin/sh\nexec >\"${0%/*}/said\"\necho \"$@\"\n"
		    "env | grep -v '^PWD\\|^_=\\|^SHLVL'\n"
		    "ls /proc/self/fd | wc -l\n");
	check_ok(egress_proxy_start(&config, at, &e), &e);
	(void)close(open_fd);
	(void)snprintf(path, sizeof(path), "%s/said", dir);
	char *said = fd_read_file(path, 4096, NULL, &e);
	assert_non_null(said);
	(void)snprintf(want, sizeof(want),
	    "--netns /nowhere --pid 1 --policy %s/runs/%s/egress --control "
	    "%s/runs/%s/egress.sock --resolv /etc/resolv.conf --run %s "
	    "--detach%s\n"
	    "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n4\n",
	    dir, at->id, dir, at->id, at->id,
	    more); /* ls has a fourth: what it lists */
	assert_string_equal(said, want);
	free(said);
}

static void
it_is_told_all_and_inherits_nothing(void **state)
{
	struct egress_place at = place;

	(void)state;
	(void)setenv("SECRET", "s3cr3t", 1);
	check_told(&at, "");
	at.subnet = "10.219.0.8/29";
	check_told(&at, " --subnet 10.219.0.8/29");
}

static void
each_run_has_its_own_user(void **state)
{
	struct egress_place at = place;
	char more[40];

	(void)state;
	config.egress_uid_base = 2000000000;
	make_directory(OTHER);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(more, sizeof(more), " --user %u",
		    2000000000u + (str_hash(at.id) & 0xffff));
		check_told(&at, more);
		at.id = OTHER;
	}
	config.egress_uid_base = 0;
}

/* -- a server in its place ------------------------------------------------- */

static int
listen_there(void)
{
	char path[RUN_PATH_SIZE];
	struct err e = ERR_INIT;

	run_path(&config, ID, EGRESS_SOCKET, path);
	int fd = fd_listen_unix(path, 0600, 4, &e);
	if (fd < 0)
		fail_msg("%s", e.text);
	return fd;
}

/* A process that answers one request so, once it has all of it. */
static pid_t
answer_with(const char *text, size_t times)
{
	FD_AUTO listener = listen_there();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)fd_set_nonblock(listener, 0);
	int fd = accept(listener, NULL, NULL);
	char bytes[256];
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	while (times-- > 0)
		(void)!write(fd, text, strlen(text));
	_exit(0);
}

static int
talk(const char *text, size_t times, struct buf *answer, struct err *e)
{
	BUF_AUTO body = BUF_INIT(100);
	pid_t pid = answer_with(text, times);

	buf_adds(&body, "builtin\n");
	int rc = egress_talk(&config, ID, "policy\n", &body, answer, e);
	(void)waitpid(pid, NULL, 0);
	return rc;
}

static void
an_answer_is_whole_bounded_or_an_error(void **state)
{
	BUF_AUTO answer = BUF_INIT(3000);
	struct err e = ERR_INIT;

	(void)state;
	check_ok(talk("ok\n", 1, &answer, &e), &e);
	assert_string_equal(answer.data, "ok\n");
	buf_reset(&answer);
	check_ok(talk("0123456789", 299, &answer, &e), &e);
	assert_int_equal(answer.size, 2990);
	buf_reset(&answer);
	check_fails(talk("0123456789", 400, &answer, &e), &e, ERR_PROXY);
	assert_non_null(strstr(e.text, "more than 3000 bytes"));
	buf_reset(&answer);
	check_fails(talk("error line 1: no\n", 1, &answer, &e), &e, ERR_PROXY);
	assert_string_equal(e.text, "the run's proxy: line 1: no");
}

static void
one_that_is_gone_is_no_answer(void **state)
{
	BUF_AUTO answer = BUF_INIT(100);
	const struct buf none = BUF_INIT(0);
	struct err e = ERR_INIT;
	int fd = listen_there();

	(void)state;
	fd_close(&fd); /* the socket's file stays */
	check_fails(egress_talk(&config, ID, "counts\n", &none, &answer, &e),
	    &e, ERR_PROXY);
}

/* -- ending ---------------------------------------------------------------- */

static void
one_that_does_not_end_is_killed(void **state)
{
	struct err e = ERR_INIT;
	int status = 0, ready[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)listen_there();
		(void)signal(SIGTERM, SIG_IGN);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	check_ok(egress_proxy_end(&config, ID, &e), &e);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* And that there is none is no failure. */
	check_ok(egress_proxy_end(&config, ID, &e), &e);
	fd_close(&ready[0]);
	fd_close(&ready[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_that_does_not_start_says_why),
	    cmocka_unit_test(it_is_told_all_and_inherits_nothing),
	    cmocka_unit_test(each_run_has_its_own_user),
	    cmocka_unit_test(an_answer_is_whole_bounded_or_an_error),
	    cmocka_unit_test(one_that_is_gone_is_no_answer),
	    cmocka_unit_test(one_that_does_not_end_is_killed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
