/* Which sockets a command of a run can make: it is this program again. */
#include "../check.h"
#include "init_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAMILIES 64 /* some more than there are */
#define INSIDE "families"
#define MULTIPLEX 102 /* socketcall(2) of i386, and socket(2) there */
#define SOCKET 359

static bool
is_known(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
	       family == AF_NETLINK;
}

/* Says what is not as it should be. */
static void
try_families(void)
{
	static const int types[] = {
	    SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};

	for (int family = 0; family < FAMILIES; family++) {
		bool made = false, unknown = true;

		for (int i = 0; i < 4; i++) {
			int fd = socket(family, types[i], 0);

			made = made || fd >= 0;
			unknown = unknown && fd < 0 && errno == EAFNOSUPPORT;
			(void)close(fd);
		}
		if (is_known(family) && family != AF_INET6 && !made)
			(void)printf("no family %d\n", family);
		if (!is_known(family) && !unknown)
			(void)printf("family %d\n", family);
	}
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/* A call as a program of 32 bits makes it. */
static long
call_32(long number, long first)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(1), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void
try_32(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call_32(SOCKET, AF_VSOCK) != -EAFNOSUPPORT ||
		      call_32(MULTIPLEX, 1) != -EAFNOSUPPORT);
	/* A kernel without such programs ends it. */
	if (waitpid(pid, &status, 0) != pid ||
	    (WIFEXITED(status) && WEXITSTATUS(status) != 0))
		(void)printf("a program of 32 bits makes them\n");
}
#else
static void
try_32(void)
{
}
#endif

static int
be_inside(void)
{
	try_families();
	try_32();
	if (syscall(SYS_io_uring_setup, 1, NULL) != -1 || errno != ENOSYS)
		(void)printf("io_uring\n");
	return 0;
}

static void
it_makes_those_that_its_network_namespace_holds(void **state)
{
	char *self = realpath("/proc/self/exe", NULL);
	char script[4096];
	struct outcome o;

	(void)state;
	assert_non_null(self);
	(void)snprintf(script, sizeof(script), "exec '%s' " INSIDE, self);
	free(self);
	const struct wire_exec x = {.script = script};
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "");
	assert_int_equal(o.exit.code, 0);
	outcome_release(&o);
}

static void
its_filter_is_there_from_the_first_process_on(void **state)
{
	const struct wire_exec x = {
	    .script = "sed -n 's/^Seccomp:\\t//p' /proc/1/status /proc/self/"
		      "status"};
	struct outcome o;

	(void)state;
	init_run(&x, NULL, 0, &o);
	assert_string_equal(o.out.data, "2\n2\n");
	outcome_release(&o);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_makes_those_that_its_network_namespace_holds),
	    cmocka_unit_test(its_filter_is_there_from_the_first_process_on),
	};

	if (argc == 2 && strcmp(argv[1], INSIDE) == 0)
		return be_inside();
	return cmocka_run_group_tests(tests, init_begin, init_end);
}
