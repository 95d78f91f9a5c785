/*
 * The seccomp filter for sockets, in addition to Docker's, whose default
 * profile before Docker 23 lets every family pass.
 *
 * The kernel's numbers are written out: musl comes without its headers.
 */
#include "init/sockets.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "halves of arguments are the other way round"
#endif

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* -- the kernel's words (linux/filter.h, seccomp.h, audit.h) --------------- */

struct instruction {
	uint16_t code;
	uint8_t if_so, if_not; /* instructions to skip */
	uint32_t k;
};

struct program {
	uint16_t size;
	struct instruction *code;
};

enum { LOAD = 0x20, IS = 0x15, RETURN = 0x06 };
enum { NUMBER = 0, ARCHITECTURE = 4, ARGUMENT = 16 }; /* where it is */

#define ALLOW 0x7fff0000u
#define FAIL(error) (0x00050000u | (error))

#define X86_64 0xc000003eu
#define I386 0x40000003u
#define ARM64 0xc00000b7u
#define ARM 0x40000028u
#define X32 0x40000000u /* in a number, of X86_64 */

/* -- what is looked at ----------------------------------------------------- */

static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

enum rule {
	FAMILY,	     /* the first argument must be one of those */
	MULTIPLEXER, /* socketcall(2): its memory cannot be looked at */
	NEVER,	     /* a ring makes sockets past every filter */
};

static const struct call {
	uint32_t architecture, number;
	enum rule rule;
} calls[] = {
#if defined(__x86_64__)
    {X86_64, 41, FAMILY},
    {X86_64, X32 | 41, FAMILY},
    {X86_64, 425, NEVER}, /* io_uring_setup(2) */
    {X86_64, X32 | 425, NEVER},
    {I386, 359, FAMILY},
    {I386, 102, MULTIPLEXER},
    {I386, 425, NEVER},
#elif defined(__aarch64__)
    {ARM64, 198, FAMILY},
    {ARM64, 425, NEVER},
    {ARM, 281, FAMILY},
    {ARM, 425, NEVER},
#else
#error "which numbers do its calls have?"
#endif
};

/* -- the program ----------------------------------------------------------- */

#define RULE_MOST (2 * LENGTH(families) + 2)
#define MOST (LENGTH(calls) * (4 + RULE_MOST) + 1)

static void
put(struct program *p, uint16_t code, uint32_t k, size_t if_not)
{
	p->code[p->size++] = (struct instruction){code, 0, (uint8_t)if_not, k};
}

static void
put_rule(struct program *p, enum rule rule)
{
	static const uint32_t make = 1; /* SYS_SOCKET of linux/net.h */

	if (rule == NEVER) {
		put(p, RETURN, FAIL(ENOSYS), 0);
		return;
	}
	put(p, LOAD, ARGUMENT, 0);
	if (rule == MULTIPLEXER) {
		put(p, IS, make, 1);
		put(p, RETURN, FAIL(EAFNOSUPPORT), 0);
		put(p, RETURN, ALLOW, 0);
		return;
	}
	for (size_t i = 0; i < LENGTH(families); i++) {
		put(p, IS, families[i], 1);
		put(p, RETURN, ALLOW, 0);
	}
	put(p, RETURN, FAIL(EAFNOSUPPORT), 0);
}

static void
put_call(struct program *p, const struct call *c)
{
	struct instruction code[RULE_MOST];
	struct program rule = {0, code};

	put_rule(&rule, c->rule);
	put(p, LOAD, ARCHITECTURE, 0);
	put(p, IS, c->architecture, rule.size + 2u);
	put(p, LOAD, NUMBER, 0);
	put(p, IS, c->number, rule.size);
	for (size_t i = 0; i < rule.size; i++)
		p->code[p->size++] = code[i];
}

int
sockets_confine(void)
{
	struct instruction code[MOST];
	struct program p = {0, code};

	for (size_t i = 0; i < LENGTH(calls); i++)
		put_call(&p, &calls[i]);
	put(&p, RETURN, ALLOW, 0);
	return prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, &p);
}
