/*
 * sbx-init run: PID 1 of a run, in a pid namespace and an all but empty root
 * of its own. Needs root.
 */
#include "../check.h"
#include "../wait.h"
#include "lib/fd.h"
#include "pid1_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static void
assert_owner(const struct pid1 *r, const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	assert_int_equal(lstat(pid1_inside(r, path), &st), 0);
	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
}

static void
work_is_made_for_the_images_user(void **state)
{
	struct pid1 r = pid1_root();

	(void)state;
	pid1_start_ready(&r, "1234:5678");
	assert_owner(&r, "/work", 1234, 5678);
	pid1_finish(&r);
}

static void
user_may_be_a_name_of_the_image(void **state)
{
	static const char passwd[] = "u:x:77:88::/:\n";
	struct pid1 r = pid1_root();

	(void)state;
	assert_int_equal(mkdir(pid1_inside(&r, "/etc"), 0755), 0);
	pid1_put_file(&r, "/etc/passwd", passwd, sizeof(passwd) - 1, 0644);
	pid1_start_ready(&r, "u");
	assert_owner(&r, "/work", 77, 88);
	pid1_finish(&r);
}

static void
work_of_the_image_is_given_but_not_what_is_in_it(void **state)
{
	struct pid1 r = pid1_root();
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(pid1_inside(&r, "/work"), 0555), 0);
	pid1_put_file(&r, "/work/file", "x", 1, 0644);
	pid1_start_ready(&r, "1234");
	assert_owner(&r, "/work", 1234, 0);
	assert_owner(&r, "/work/file", 0, 0);
	assert_int_equal(lstat(pid1_inside(&r, "/work"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	pid1_finish(&r);
}

static void
run_of_an_unknown_user_lives_all_the_same(void **state)
{
	struct pid1 r = pid1_root();

	(void)state;
	pid1_start_ready(&r, "nobody-at-all");
	assert_owner(&r, "/work", 0, 0);
	pid1_finish(&r);
}

static void
file_in_the_way_of_work_ends_the_run(void **state)
{
	struct pid1 r = pid1_root();

	(void)state;
	pid1_put_file(&r, "/work", "x", 1, 0644);
	pid1_start(&r, "");
	assert_int_equal(pid1_end_status(&r), 1);
	assert_int_equal(remove(pid1_inside(&r, "/work")), 0);
	assert_int_equal(remove(pid1_inside(&r, "/proc")), 0);
	assert_int_equal(remove(pid1_inside(&r, "/init")), 0);
	assert_int_equal(remove(r.root), 0);
}

static void
send_signals(void)
{
	/* USR1 would end the sender, too. */
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGUSR1)
			(void)kill(1, sig);
}

/* A TERM that was sent is not waiting for it any more. */
static bool
has_no_term(const struct pid1 *r)
{
	static const char *const member = "ShdPnd:\t";
	char path[64];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)r->pid);
	char *text = fd_read_file(path, 65536, NULL, &e);
	if (text == NULL)
		fail_msg("%s", e.text);
	const char *at = strstr(text, member);
	assert_non_null(at);
	unsigned long long pending = strtoull(at + strlen(member), NULL, 16);
	free(text);
	return (pending >> (SIGTERM - 1) & 1) == 0;
}

static void
signals_from_inside_do_not_end_it(void **state)
{
	struct pid1 r = pid1_root();

	(void)state;
	pid1_start_ready(&r, "");
	for (int i = 0; i < 20; i++)
		pid1_do_inside(&r, send_signals);
	/* A TERM from outside would be one with a TERM that waits (signal(7)).
	 */
	wait_until(has_no_term(&r), PATIENCE_MS);
	assert_int_equal(waitpid(r.parent, NULL, WNOHANG), 0);
	pid1_finish(&r);
}

static void
leave_orphans(void)
{
	for (int i = 0; i < 50; i++) {
		if (fork() == 0) {
			(void)poll(NULL, 0, i);
			_exit(0);
		}
	}
}

static void
orphans_are_reaped(void **state)
{
	struct pid1 r = pid1_root();

	(void)state;
	pid1_start_ready(&r, "");
	for (int i = 0; i < 4; i++)
		pid1_do_inside(&r, leave_orphans);
	wait_until(pid1_children(&r) == 0, PATIENCE_MS);
	pid1_finish(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(work_is_made_for_the_images_user),
	    cmocka_unit_test(user_may_be_a_name_of_the_image),
	    cmocka_unit_test(work_of_the_image_is_given_but_not_what_is_in_it),
	    cmocka_unit_test(run_of_an_unknown_user_lives_all_the_same),
	    cmocka_unit_test(file_in_the_way_of_work_ends_the_run),
	    cmocka_unit_test(signals_from_inside_do_not_end_it),
	    cmocka_unit_test(orphans_are_reaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
