/*
 * The seccomp filter: what the proxy calls, and nothing else.
 *
 * A BPF program (seccomp(2)): is it our architecture; then for each call that
 * is allowed a comparison with its number, and for some the arguments first.
 * The kernel remembers which calls are allowed whatever their arguments are, so
 * that these cost nothing.
 */
#include "confine_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Which calls there are elsewhere nobody has looked at. */
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "halves of arguments are the other way round"
#endif

/* -- what is allowed ------------------------------------------------------- */

static const int calls[] = {
    /* Reading and writing what is open. */
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_close, SYS_recvfrom,
    SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_splice, SYS_pipe2, SYS_fcntl,
    SYS_fstat,
    /* Sockets. No bind, no listen: what listens is open. */
    SYS_socket, SYS_accept4, SYS_connect, SYS_getsockopt, SYS_setsockopt,
    SYS_getsockname, SYS_getpeername, SYS_shutdown,
    /* Waiting. What a stopped process waited in, the kernel restarts where it
     * goes on (restart_syscall(2)). */
    SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_restart_syscall,
#ifdef SYS_epoll_wait /* not on arm64 */
    SYS_epoll_wait, SYS_poll,
#endif
    /* Time, where the vDSO cannot tell. */
    SYS_clock_gettime, SYS_gettimeofday,
    /* Memory. */
    SYS_brk, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise,
    /* The rest of libc. No tgkill: abort(3) ends the process all the same. */
    SYS_futex, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_prlimit64,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
#ifdef __SANITIZE_ADDRESS__ /* it asks where the stack is */
    SYS_sigaltstack,
#endif
    SYS_exit, SYS_exit_group};

/* Half an argument, of which masked bits must be one of the values. */
struct check {
	int call;
	uint32_t half; /* which; they are counted from 0 */
	uint32_t mask;
	uint32_t value[6];
	int values;
};

#define LOW(argument) (2 * (argument))
#define HIGH(argument) (2 * (argument) + 1)
#define ALL 0xffffffffu
#define SOCKET_TYPE 0xfu /* the rest is SOCK_NONBLOCK and SOCK_CLOEXEC */

/* Else it fails with EPERM. The kernel looks at no high half of an int. */
static const struct check checks[] = {
    {SYS_socket, LOW(0), ALL, {AF_INET, AF_INET6}, 2},
    {SYS_socket, LOW(1), SOCKET_TYPE, {SOCK_STREAM, SOCK_DGRAM}, 2},
    {SYS_socket, LOW(2), ALL, {0, IPPROTO_TCP, IPPROTO_UDP}, 3},
    {SYS_fcntl, LOW(1), ALL,
	{F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ, F_SETPIPE_SZ}, 6},
    {SYS_mmap, LOW(2), PROT_EXEC, {0}, 1},
    {SYS_mmap, LOW(3), MAP_ANONYMOUS, {MAP_ANONYMOUS}, 1},
    {SYS_mprotect, LOW(2), PROT_EXEC, {0}, 1},
    /* Limits are read, not set: the new one is NULL. */
    {SYS_prlimit64, LOW(2), ALL, {0}, 1},
    {SYS_prlimit64, HIGH(2), ALL, {0}, 1},
};

/* -- the program ----------------------------------------------------------- */

struct program {
	struct sock_filter code[256];
	unsigned short size;
};

static void
put(struct program *p, struct sock_filter instruction)
{
	if (p->size < sizeof(p->code) / sizeof(p->code[0]))
		p->code[p->size++] = instruction;
}

static void
load(struct program *p, size_t offset)
{
	put(p, (struct sock_filter)BPF_STMT(
		   BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* What is loaded is that value, or so many instructions are skipped; or the
 * other way round. */
static void
unless(struct program *p, uint32_t value, int skip)
{
	put(p, (struct sock_filter)BPF_JUMP(
		   BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)skip));
}

static void
skip_if(struct program *p, uint32_t value, int skip)
{
	put(p, (struct sock_filter)BPF_JUMP(
		   BPF_JMP | BPF_JEQ | BPF_K, value, (uint8_t)skip, 0));
}

static void
end(struct program *p, uint32_t action)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void
put_check(struct program *p, const struct check *c)
{
	load(p, offsetof(struct seccomp_data, nr));
	unless(p, (uint32_t)c->call, c->values + 3);
	load(p, offsetof(struct seccomp_data, args) + 4 * c->half);
	put(p,
	    (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask));
	for (int i = 0; i < c->values; i++)
		skip_if(p, c->value[i], c->values - i);
	end(p, SECCOMP_RET_ERRNO | EPERM);
}

static void
make_program(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	skip_if(p, ARCHITECTURE, 1);
	end(p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		put_check(p, &checks[i]);
	load(p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unless(p, (uint32_t)calls[i], 1);
		end(p, SECCOMP_RET_ALLOW);
	}
	end(p, SECCOMP_RET_KILL_PROCESS);
}

int
confine_filter(struct err *e)
{
	struct program program = {.size = 0};

	make_program(&program);
	const struct sock_fprog code = {program.size, program.code};
	/* Nothing runs in here that may not know what else is in here, so that
	 * what kernels before 5.16 do against that would only cost time. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_SPEC_ALLOW, &code) != 0)
		return err_sys(
		    e, ERR_INTERNAL, "cannot set the seccomp filter");
	return 0;
}
