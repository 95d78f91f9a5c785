/*
 * sbx-init run: PID 1 of a run, in a pid namespace and an all but empty root
 * of its own. Needs root.
 */
#include "../wait.h"
#include "init_fixture.h"
#include "lib/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

struct run {
	char root[64];
	pid_t parent; /* a child of ours, the parent of: */
	pid_t pid;    /* PID 1, as seen from here */
};

static const char *
inside(const struct run *r, const char *path)
{
	static char full[200];

	(void)snprintf(full, sizeof(full), "%s%s", r->root, path);
	return full;
}

static void
put_file(const struct run *r, const char *path, const void *bytes, size_t size,
    unsigned mode)
{
	struct err e = ERR_INIT;

	check_ok(fd_write_file(inside(r, path), mode, bytes, size, &e), &e);
}

/* A root with nothing in it but the program. */
static struct run
make_root(void)
{
	struct run r = {.root = "/tmp/sbx-root-XXXXXX"};
	struct err e = ERR_INIT;
	size_t size;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(r.root));
	char *program = fd_read_file(init_path(), 1 << 20, &size, &e);
	if (program == NULL)
		fail_msg("%s", e.text);
	put_file(&r, "/init", program, size, 0755);
	free(program);
	return r;
}

static _Noreturn void
be_parent(const struct run *r, const char *user, int to)
{
	int status = 0;

	if (unshare(CLONE_NEWPID) != 0)
		_exit(98);
	pid_t pid = fork();
	if (pid == 0) {
		if (chroot(r->root) != 0)
			_exit(97);
		(void)execl(
		    "/init", "init", "run", "--user", user, (char *)NULL);
		_exit(96);
	}
	if (write(to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(95);
	(void)waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
}

static void
start(struct run *r, const char *user)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	r->parent = fork();
	if (r->parent == 0)
		be_parent(r, user, fd[1]);
	assert_int_equal(read(fd[0], &r->pid, sizeof(r->pid)), sizeof(r->pid));
	fd_close(&fd[0]);
	fd_close(&fd[1]);
}

static bool
is_named(const struct run *r, const char *name)
{
	char path[64], text[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)r->pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, name) == 0;
}

static void
start_ready(struct run *r, const char *user)
{
	start(r, user);
	wait_until(is_named(r, "sbx-run"), PATIENCE_MS);
}

/* Its exit status, once it has ended. */
static int
end_status(struct run *r)
{
	int status;

	wait_until(
	    waitpid(r->parent, &status, WNOHANG) == r->parent, PATIENCE_MS);
	return WEXITSTATUS(status);
}

static void
finish(struct run *r)
{
	static const char *const paths[] = {
	    "/work/file", "/work", "/etc/passwd", "/etc", "/init", ""};

	assert_int_equal(kill(r->pid, SIGTERM), 0);
	assert_int_equal(end_status(r), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		(void)remove(inside(r, paths[i]));
	assert_int_equal(access(r->root, F_OK), -1);
}

static void
assert_owner(const struct run *r, const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	assert_int_equal(lstat(inside(r, path), &st), 0);
	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
}

static void
work_is_made_for_the_images_user(void **state)
{
	struct run r = make_root();

	(void)state;
	start_ready(&r, "1234:5678");
	assert_owner(&r, "/work", 1234, 5678);
	finish(&r);
}

static void
user_may_be_a_name_of_the_image(void **state)
{
	static const char passwd[] = "u:x:77:88::/:\n";
	struct run r = make_root();

	(void)state;
	assert_int_equal(mkdir(inside(&r, "/etc"), 0755), 0);
	put_file(&r, "/etc/passwd", passwd, sizeof(passwd) - 1, 0644);
	start_ready(&r, "u");
	assert_owner(&r, "/work", 77, 88);
	finish(&r);
}

static void
work_of_the_image_is_given_but_not_what_is_in_it(void **state)
{
	struct run r = make_root();
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(inside(&r, "/work"), 0555), 0);
	put_file(&r, "/work/file", "x", 1, 0644);
	start_ready(&r, "1234");
	assert_owner(&r, "/work", 1234, 0);
	assert_owner(&r, "/work/file", 0, 0);
	assert_int_equal(lstat(inside(&r, "/work"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	finish(&r);
}

static void
run_of_an_unknown_user_lives_all_the_same(void **state)
{
	struct run r = make_root();

	(void)state;
	start_ready(&r, "nobody-at-all");
	assert_owner(&r, "/work", 0, 0);
	finish(&r);
}

static void
file_in_the_way_of_work_ends_the_run(void **state)
{
	struct run r = make_root();

	(void)state;
	put_file(&r, "/work", "x", 1, 0644);
	start(&r, "");
	assert_int_equal(end_status(&r), 1);
	assert_int_equal(remove(inside(&r, "/work")), 0);
	assert_int_equal(remove(inside(&r, "/init")), 0);
	assert_int_equal(remove(r.root), 0);
}

/* Call act in a process of that run; it has ended when this returns. */
static void
do_inside(const struct run *r, void (*act)(void))
{
	char path[64];
	int status;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)r->pid);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || setns(fd, CLONE_NEWPID) != 0)
			_exit(1);
		pid_t member = fork();
		if (member == 0) {
			act();
			_exit(0);
		}
		_exit(waitpid(member, &status, 0) == member ? status : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
send_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		(void)kill(1, sig);
}

static void
signals_from_inside_do_not_end_it(void **state)
{
	struct run r = make_root();

	(void)state;
	start_ready(&r, "");
	for (int i = 0; i < 20; i++)
		do_inside(&r, send_signals);
	assert_int_equal(waitpid(r.parent, NULL, WNOHANG), 0);
	finish(&r);
}

static int
children(const struct run *r)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc)) != NULL) {
		char path[300], stat[512];

		(void)snprintf(
		    path, sizeof(path), "/proc/%s/stat", entry->d_name);
		FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, stat, sizeof(stat) - 1) : 0;
		stat[n > 0 ? n : 0] = '\0';
		const char *paren = strrchr(stat, ')');
		if (paren != NULL && strlen(paren) > 4 &&
		    strtol(paren + 4, NULL, 10) == r->pid)
			count++;
	}
	(void)closedir(proc);
	return count;
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
	struct run r = make_root();

	(void)state;
	start_ready(&r, "");
	for (int i = 0; i < 4; i++)
		do_inside(&r, leave_orphans);
	wait_until(children(&r) == 0, PATIENCE_MS);
	finish(&r);
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
