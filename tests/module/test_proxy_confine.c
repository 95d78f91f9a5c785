/* proxy/confine: what a proxy can still do, and what it cannot. */
#include "../../proxy/confine.h"
#include "../check.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS 128

static bool
is_root(void)
{
	return geteuid() == 0;
}

/* In a process of its own that is confined; its wait(2) status. */
static int
confined(int (*act)(void))
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct err e = ERR_INIT;

		if (confine(DESCRIPTORS, 0, &e) != 0) {
			(void)fprintf(stderr, "%s\n", e.text);
			_exit(99);
		}
		_exit(act());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* -- what ends it ---------------------------------------------------------- */

static int
other_architecture(void)
{
#ifdef __x86_64__
	int result = 20; /* getpid of i386 */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
#else
	(void)raise(SIGSYS);
#endif
	return 0;
}

static const struct {
	const char *name;
	long number, a, b, c;
} forbidden[] = {
    {"openat", SYS_openat, AT_FDCWD, 0, 0},
    {"openat2", SYS_openat2, AT_FDCWD, 0, 0},
    {"execve", SYS_execve, 0, 0, 0},
    {"execveat", SYS_execveat, AT_FDCWD, 0, 0},
    {"clone", SYS_clone, SIGCHLD, 0, 0},
    {"clone3", SYS_clone3, 0, 0, 0},
    {"setns", SYS_setns, 0, 0, 0},
    {"unshare", SYS_unshare, CLONE_NEWUSER, 0, 0},
    {"ptrace", SYS_ptrace, 0, 0, 0},
    {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0},
    {"kill", SYS_kill, 1, 0, 0},
    {"tgkill", SYS_tgkill, 1, 1, 0},
    {"pidfd_open", SYS_pidfd_open, 1, 0, 0},
    {"mount", SYS_mount, 0, 0, 0},
    {"chdir", SYS_chdir, 0, 0, 0},
    {"chroot", SYS_chroot, 0, 0, 0},
    {"unlinkat", SYS_unlinkat, AT_FDCWD, 0, 0},
    {"newfstatat", SYS_newfstatat, AT_FDCWD, 0, 0},
    {"getdents64", SYS_getdents64, 0, 0, 0},
    {"ioctl", SYS_ioctl, 0, 0, 0},
    {"dup", SYS_dup, 0, 0, 0},
    {"bind", SYS_bind, 0, 0, 0},
    {"listen", SYS_listen, 0, 0, 0},
    {"socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0},
    {"setresuid", SYS_setresuid, 0, 0, 0},
    {"setgroups", SYS_setgroups, 0, 0, 0},
    {"capset", SYS_capset, 0, 0, 0},
    {"prctl", SYS_prctl, 0, 0, 0},
    {"seccomp", SYS_seccomp, 0, 0, 0},
    {"bpf", SYS_bpf, 0, 0, 0},
    {"io_uring_setup", SYS_io_uring_setup, 1, 0, 0},
    {"memfd_create", SYS_memfd_create, 0, 0, 0},
    {"userfaultfd", SYS_userfaultfd, 0, 0, 0},
    {"perf_event_open", SYS_perf_event_open, 0, 0, 0},
    {"keyctl", SYS_keyctl, 0, 0, 0},
    {"shmget", SYS_shmget, 0, 1, 0},
    {"there is no such call", 5000, 0, 0, 0},
#ifdef __x86_64__
    {"getpid of x32", 0x40000000 + SYS_getpid, 0, 0, 0},
#endif
};

static size_t which;

static int
call_it(void)
{
	(void)syscall(forbidden[which].number, forbidden[which].a,
	    forbidden[which].b, forbidden[which].c, 0, 0, 0);
	return 0;
}

static void
calls_that_it_does_not_need_end_it(void **state)
{
	(void)state;
	for (which = 0; which < sizeof(forbidden) / sizeof(forbidden[0]);
	     which++) {
		int status = confined(call_it);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: status %x", forbidden[which].name,
			    (unsigned)status);
	}
	assert_int_equal(WTERMSIG(confined(other_architecture)), SIGSYS);
}

/* -- what fails ------------------------------------------------------------ */

/* The number of the first that does not. */
static int
refused_arguments(void)
{
	const struct rlimit more = {1000, 1000};
	const size_t page = 4096;
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

#define REFUSED(call)                             \
	if ((long)(call) != -1 || errno != EPERM) \
	return __LINE__ % 251 + 1
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	REFUSED(socket(AF_PACKET, SOCK_DGRAM, 0));
	REFUSED(socket(AF_VSOCK, SOCK_STREAM, 0));
	REFUSED(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	REFUSED(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
	REFUSED(socket(AF_INET6, SOCK_SEQPACKET, 132));
	REFUSED(fcntl(0, F_DUPFD, 10));
	REFUSED(fcntl(0, F_SETOWN, 1));
	REFUSED(fcntl(0, F_NOTIFY, 1));
	REFUSED(mmap(NULL, page, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	REFUSED(mmap(NULL, page, PROT_READ, MAP_PRIVATE, 0, 0));
	REFUSED(mprotect(memory, page, PROT_READ | PROT_EXEC));
	REFUSED(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &more, NULL));
	/* A pointer whose lower half is none. */
	REFUSED(
	    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0x700000000000ul, NULL));
#undef REFUSED
	return 0;
}

static void
arguments_that_it_does_not_need_fail(void **state)
{
	(void)state;
	assert_int_equal(confined(refused_arguments), 0);
}

/* -- what works ------------------------------------------------------------ */

/* Open before. */
static int listener, epoll;
static struct sockaddr_in place;

/* The line that does not, so to speak. */
#define WORKS(condition)  \
	if (!(condition)) \
	return __LINE__ % 251 + 1

/* Bytes through a connection to itself and a pipe. */
static int
sockets_work(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct pollfd p = {listener, POLLIN, 0};
	int pipes[2], on = 1;
	char bytes[8] = "";

	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	WORKS(fd >= 0);
	WORKS(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	WORKS(connect(fd, (void *)&place, sizeof(place)) == 0 ||
	      errno == EINPROGRESS);
	WORKS(poll(&p, 1, 10000) == 1);
	int other = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	WORKS(other >= 0);
	WORKS(epoll_ctl(epoll, EPOLL_CTL_ADD, other, &event) == 0);
	WORKS(send(fd, "hello", 5, MSG_NOSIGNAL) == 5);
	WORKS(epoll_wait(epoll, &event, 1, 10000) == 1);
	WORKS(pipe2(pipes, O_NONBLOCK | O_CLOEXEC) == 0);
	WORKS(fcntl(pipes[0], F_SETPIPE_SZ, 65536) == 65536);
	WORKS(splice(other, NULL, pipes[1], NULL, 5, SPLICE_F_NONBLOCK) == 5);
	WORKS(read(pipes[0], bytes, 5) == 5 && strcmp(bytes, "hello") == 0);
	WORKS(shutdown(fd, SHUT_WR) == 0 && close(fd) == 0);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	WORKS(fd >= 0 || errno == EAFNOSUPPORT);
	return 0;
}

static int
libc_works(void)
{
	struct err e = ERR_INIT;
	struct rlimit limit;
	char text[CLOCK_TEXT_SIZE];
	unsigned number;

	for (size_t size = 1; size <= 1u << 26; size *= 2) {
		char *bytes = calloc(1, size);

		WORKS(bytes != NULL);
		bytes = realloc(bytes, size * 2);
		WORKS(bytes != NULL);
		bytes[size] = 1;
		free(bytes);
	}
	clock_text(clock_wall_ms(), text);
	WORKS(getrandom(&number, sizeof(number), 0) == sizeof(number));
	WORKS(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	WORKS(limit.rlim_cur == DESCRIPTORS && limit.rlim_max == DESCRIPTORS);
	errno = ECONNREFUSED;
	(void)err_sys(&e, ERR_INTERNAL, "this is no fault");
	LOG_EVENT(w, "test.confined")
	{
		jw_str(&w, "what", e.text);
	}
	return 0;
}

static void
what_serving_takes_works(void **state)
{
	socklen_t size = sizeof(place);

	(void)state;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	place.sin_family = AF_INET;
	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (void *)&place, sizeof(place)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (void *)&place, &size), 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(confined(sockets_work), 0);
	assert_int_equal(confined(libc_works), 0);
	(void)close(listener);
	(void)close(epoll);
}

/* -- what it is then ------------------------------------------------------- */

/* One that is confined and waits for the end of a pipe. */
static pid_t
start_confined(int *ret_end)
{
	int ends[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;
		struct pollfd p = {ends[0], POLLIN, 0};

		(void)close(ends[1]);
		if (confine(DESCRIPTORS, 0, &e) != 0)
			_exit(99);
		(void)!write(ready[1], "", 1);
		_exit(poll(&p, 1, -1) == 1 ? 0 : 98);
	}
	(void)close(ends[0]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	*ret_end = ends[1];
	return pid;
}

static char *
read_proc(pid_t pid, const char *name)
{
	char path[64];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	char *text = fd_read_file(path, 65536, NULL, &e);
	if (text == NULL)
		fail_msg("%s", e.text);
	return text;
}

static void
must_have(const char *text, const char *line)
{
	if (strstr(text, line) == NULL)
		fail_msg("no \"%s\" in %s", line, text);
}

static void
it_is_nobody_and_may_nothing(void **state)
{
	struct stat st;
	char path[64], directory[8];
	int end, status;

	(void)state;
	if (!is_root())
		skip();
	pid_t pid = start_confined(&end);
	char *text = read_proc(pid, "status");
	must_have(text, "\nUid:\t65534\t65534\t65534\t65534\n");
	must_have(text, "\nGid:\t65534\t65534\t65534\t65534\n");
	must_have(text, "\nGroups:\t \n");
	must_have(text, "\nCapInh:\t0000000000000000\n");
	must_have(text, "\nCapPrm:\t0000000000000000\n");
	must_have(text, "\nCapEff:\t0000000000000000\n");
	must_have(text, "\nCapBnd:\t0000000000000000\n");
	must_have(text, "\nCapAmb:\t0000000000000000\n");
	must_have(text, "\nNoNewPrivs:\t1\n");
	must_have(text, "\nSeccomp:\t2\n");
	free(text);
	text = read_proc(pid, "limits");
	must_have(text, "Max processes             0                    0 ");
	must_have(text, "Max core file size        0                    0 ");
	must_have(text, "Max open files            128                  128 ");
	free(text);
	/* Root's, though the process is nobody's: it is not dumpable. */
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	assert_int_equal(readlink(path, directory, sizeof(directory)), 1);
	(void)close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
one_that_was_stopped_goes_on(void **state)
{
	int status = -1;

	(void)state;
	int end;
	pid_t pid = start_confined(&end);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(kill(pid, SIGCONT), 0);
		assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	}
	(void)close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
somebody_else_is_confined_as_well(void **state)
{
	int status = -1;

	(void)state;
	if (!is_root())
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;

		if (setresgid(1234, 1234, 1234) != 0 ||
		    setresuid(1234, 1234, 1234) != 0 ||
		    confine(DESCRIPTORS, 0, &e) != 0)
			_exit(1);
		(void)open("/dev/null", O_RDONLY);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* -- descriptors ----------------------------------------------------------- */

static void
nothing_that_was_inherited_stays_open(void **state)
{
	int status = -1;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct err e = ERR_INIT;
		struct stat st, null;

		(void)dup2(STDERR_FILENO, 77);
		(void)close(STDIN_FILENO);
		(void)close(STDERR_FILENO);
		if (confine_descriptors(&e) != 0)
			_exit(1);
		if (stat("/dev/null", &null) != 0)
			_exit(2);
		for (int fd = 3; fd < 100; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				_exit(3);
		for (int fd = 0; fd <= 2; fd += 2)
			if (fstat(fd, &st) != 0 || st.st_rdev != null.st_rdev)
				_exit(4);
		_exit(fcntl(1, F_GETFD) >= 0 ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int
fill_log(void)
{
	static const char bytes[65536];
	size_t total = 0;
	ssize_t n;

	while ((n = write(STDERR_FILENO, bytes, sizeof(bytes))) > 0)
		total += (size_t)n;
	WORKS(errno == EFBIG);
	WORKS(total == 16u << 20);
	return 0;
}

static void
a_log_can_grow_but_not_for_ever(void **state)
{
	FILE *file = tmpfile();
	FD_AUTO own = dup(STDERR_FILENO);

	(void)state;
	assert_non_null(file);
	assert_true(fputs("what was there before\n", file) >= 0);
	assert_int_equal(fflush(file), 0);
	(void)fflush(stderr);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	int status = confined(fill_log);
	assert_true(dup2(own, STDERR_FILENO) >= 0);
	(void)fclose(file);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_that_it_does_not_need_end_it),
	    cmocka_unit_test(arguments_that_it_does_not_need_fail),
	    cmocka_unit_test(what_serving_takes_works),
	    cmocka_unit_test(it_is_nobody_and_may_nothing),
	    cmocka_unit_test(one_that_was_stopped_goes_on),
	    cmocka_unit_test(somebody_else_is_confined_as_well),
	    cmocka_unit_test(nothing_that_was_inherited_stays_open),
	    cmocka_unit_test(a_log_can_grow_but_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
