/* The built sbx-init as PID 1 of a pid namespace. */
#include "pid1_fixture.h"
#include "../wait.h"
#include "init_fixture.h"
#include "lib/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000
#define CHILDREN_MAX 1000

const char *
pid1_inside(const struct pid1 *r, const char *path)
{
	static char full[200];

	(void)snprintf(full, sizeof(full), "%s%s", r->root, path);
	return full;
}

void
pid1_put_file(const struct pid1 *r, const char *path, const void *bytes,
    size_t size, unsigned mode)
{
	struct err e = ERR_INIT;

	check_ok(
	    fd_write_file(pid1_inside(r, path), mode, bytes, size, &e), &e);
}

struct pid1
pid1_root(void)
{
	struct pid1 r = {.root = "/tmp/sbx-root-XXXXXX"};
	struct err e = ERR_INIT;
	size_t size;

	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(r.root));
	char *program = fd_read_file(init_path(), 1 << 20, &size, &e);
	if (program == NULL)
		fail_msg("%s", e.text);
	pid1_put_file(&r, "/init", program, size, 0755);
	free(program);
	assert_int_equal(mkdir(pid1_inside(&r, "/proc"), 0755), 0);
	return r;
}

void
pid1_put_shell(const struct pid1 *r)
{
	struct err e = ERR_INIT;
	size_t size;
	char *program = fd_read_file("/bin/busybox", 16 << 20, &size, &e);

	if (program == NULL)
		fail_msg("%s", e.text);
	assert_int_equal(mkdir(pid1_inside(r, "/bin"), 0755), 0);
	pid1_put_file(r, "/bin/sh", program, size, 0755);
	pid1_put_file(r, "/bin/busybox", program, size, 0755);
	free(program);
	/* The shell wants one for what it starts in the background. */
	assert_int_equal(mkdir(pid1_inside(r, "/dev"), 0755), 0);
	pid1_put_file(r, "/dev/null", "", 0, 0644);
}

/* Whatever a test's command does, it must not harm the box: only these of its
 * directories can be written to. */
static bool
is_for_all(const char *name)
{
	return strcmp(name, "tmp") == 0 || strcmp(name, "dev") == 0 ||
	       strcmp(name, "run") == 0;
}

/* Mount one of this box's directories below root; links are made anew. */
static int
show_entry(const char *root, const char *name)
{
	char here[300], there[400], target[4096];

	(void)snprintf(here, sizeof(here), "/%s", name);
	(void)snprintf(there, sizeof(there), "%s/%s", root, name);
	ssize_t n = readlink(here, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		return symlink(target, there);
	}
	if (mkdir(there, 0755) != 0)
		return -1;
	if (strcmp(name, "proc") == 0)
		return 0;
	if (mount(here, there, NULL, MS_BIND | MS_REC, NULL) != 0)
		return -1;
	return is_for_all(name) ? 0
				: mount(NULL, there, NULL,
				      MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

/* In a mount namespace of its own: a root like this box's, in which PID 1 may
 * make what it likes. */
static int
show_box(const char *root)
{
	DIR *top = opendir("/");
	struct dirent *entry;
	int rc = mount("tmpfs", root, "tmpfs", 0, "mode=0755");

	while (rc == 0 && top != NULL && (entry = readdir(top)) != NULL)
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_LNK))
			rc = show_entry(root, entry->d_name);
	return top != NULL ? rc : -1;
}

/* What prctl(2) says of PR_SET_CHILD_SUBREAPER from now on: EINVAL. */
static int
forbid_subreapers(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, args[0])),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_CHILD_SUBREAPER, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
	    sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static _Noreturn void
be_parent(const struct pid1 *r, const char *user, int to)
{
	const char *program = r->box ? realpath(init_path(), NULL) : "/init";
	char memory[16];
	int status = 0;

	(void)snprintf(memory, sizeof(memory), "%u", r->memory_mib);

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    (r->box && show_box(r->root) != 0))
		_exit(98);
	pid_t pid = fork();
	if (pid == 0) {
		if ((r->alone && forbid_subreapers() != 0) ||
		    chroot(r->root) != 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) != 0)
			_exit(97);
		(void)execl(program, "init", "run", "--user", user, "--memory",
		    memory, r->abstract ? NULL : "--socket", PID1_SOCKET,
		    (char *)NULL);
		_exit(96);
	}
	if (write(to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(95);
	(void)waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
}

void
pid1_start(struct pid1 *r, const char *user)
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
is_named(const struct pid1 *r, const char *name)
{
	char path[64], text[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)r->pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, name) == 0;
}

void
pid1_start_ready(struct pid1 *r, const char *user)
{
	pid1_start(r, user);
	wait_until(is_named(r, "sbx-run"), PATIENCE_MS);
}

int
pid1_end_status(struct pid1 *r)
{
	int status;

	wait_until(
	    waitpid(r->parent, &status, WNOHANG) == r->parent, PATIENCE_MS);
	return WEXITSTATUS(status);
}

void
pid1_finish(struct pid1 *r)
{
	static const char *const paths[] = {"/work/file", "/work",
	    "/etc/passwd", "/etc", "/bin/busybox", "/bin/sh", "/bin",
	    "/dev/null", "/dev", "/proc", PID1_SOCKET, "/init", ""};

	assert_int_equal(kill(r->pid, SIGTERM), 0);
	assert_int_equal(pid1_end_status(r), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		(void)remove(pid1_inside(r, paths[i]));
	assert_int_equal(access(r->root, F_OK), -1);
}

void
pid1_do_inside(const struct pid1 *r, void (*act)(void))
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
		_exit(waitpid(member, &status, 0) != member || status != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The parent of a process; 0: it has ended. */
static pid_t
parent_of(const char *pid)
{
	char path[300], stat[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, stat, sizeof(stat) - 1) <= 0)
		return 0;
	const char *paren = strrchr(stat, ')');
	return paren != NULL && strlen(paren) > 4
		   ? (pid_t)strtol(paren + 4, NULL, 10)
		   : 0;
}

int
pid1_signal_children(const struct pid1 *r, int number)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t child[CHILDREN_MAX];
	int count = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc)) != NULL) {
		if (parent_of(entry->d_name) != r->pid)
			continue;
		assert_true(count < CHILDREN_MAX);
		child[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	(void)closedir(proc);
	/* Only now: what one of them leaves becomes PID 1's child, too. */
	for (int i = 0; i < count; i++)
		(void)kill(child[i], number);
	return count;
}

int
pid1_children(const struct pid1 *r)
{
	return pid1_signal_children(r, 0);
}

pid_t
pid1_hold_child(const struct pid1 *r)
{
	char path[80], text[32] = "";
	int status;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)r->pid, (int)r->pid);
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	pid_t child = (pid_t)strtol(text, NULL, 10);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

void
pid1_let_go(pid_t child)
{
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
}
