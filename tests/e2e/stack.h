/*
 * The real stack, as a test program's own: `teploy-sandbox serve` with Redis,
 * workers, reaper and nginx on temporary directories and a free port.
 *
 * One stack per program. The Docker engine is $SBX_TEST_DOCKER_SOCKET (which
 * tests/run sets, starting a private engine where none answers), else the
 * box's. Programs run from the top of the tree, as make runs them; the binaries
 * are in $SBX_TEST_BUILD (build/). Logs of the stack are copied to
 * $SBX_TEST_BUILD/test-logs/stack-PROGRAM/ when it stops; with SBX_TEST_KEEP
 * set the directories stay.
 */
#ifndef SBX_E2E_STACK_H
#define SBX_E2E_STACK_H

#include "lib/ulid.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stack {
	char base[40];	    /* everything lies in it */
	char run_dir[50];   /* SBX_RUN_DIR */
	char state_dir[50]; /* SBX_STATE_DIR */
	char url[64];	    /* http://127.0.0.1:PORT */
	int port;
	char token[200];
	char docker[108];	  /* socket of the engine */
	char instance[ULID_SIZE]; /* SBX_STATE_DIR/instance */
	pid_t serve;
};

extern struct stack stack;

/*
 * Start, and wait until /health/ready says 200. env: NAME=value strings over
 * the harness' own settings, NULL-terminated; NULL is none. Fails the test
 * where it does not come up, showing what serve said.
 */
void stack_start(const char *const *env);

/*
 * TERM, wait for the end, and fail unless it was clean and nothing is left: no
 * container, volume, network or image of the instance, no file in RUN_DIR/runs,
 * no key in Redis without an expiry, no process, no mount. Removes by force
 * what it complains about. For group teardowns: returns 0.
 */
int stack_stop(void **state);

/* A setting, NAME=value, from the next start on. */
void stack_set(const char *setting);
/* What it is set to now, "" where it is not. */
const char *stack_setting(const char *name);

/* Signal serve, wait for its end, and start it again on the same directories.
 * SIGTERM must end it well. */
void stack_restart(int number);

/* Run `teploy-sandbox ARGUMENTS...` with the stack's settings; NULL-terminated.
 * Its exit status; what it says goes to serve's output. */
int stack_tool(const char *first, ...);

enum stack_kind {
	STACK_MASTER, /* of the workers */
	STACK_STREAM, /* workers */
	STACK_CONTROL,
	STACK_NGINX, /* its master */
	STACK_NGINX_WORKER,
	STACK_REDIS,
	STACK_REAPER,
	STACK_KINDS
};

/* Live processes of that kind; returns how many. */
size_t stack_pids(enum stack_kind kind, pid_t *to, size_t most);

/* SIGKILL to all of that kind, and wait until they are dead. Fails the test
 * where there is none. */
void stack_kill(enum stack_kind kind);

/* How many of that kind are alive that are not in old. */
size_t stack_new(enum stack_kind kind, const pid_t *old, size_t old_count);

/* The runs are gVisor's ($SBX_TEST_RUNTIME is runsc): their processes are not
 * the host's, nothing caps their memory, and loopback is all their network. */
bool stack_gvisor(void);

/* Skip the test there, and say why. */
#define needs_host_kernel(why)                                  \
	do {                                                    \
		if (stack_gvisor()) {                           \
			printf("skipped on gVisor: " why "\n"); \
			skip();                                 \
		}                                               \
	} while (0)

/* The same for a whole program, in place of its main's run of the tests. */
struct CMUnitTest;
int stack_skip(const char *name, const struct CMUnitTest *tests, size_t count,
    const char *why);
#define run_on_host_kernel(name, tests, setup, teardown, why)               \
	(stack_gvisor()                                                     \
		? stack_skip(                                               \
		      name, tests, sizeof(tests) / sizeof((tests)[0]), why) \
		: cmocka_run_group_tests_name(name, tests, setup, teardown))

/* /health/ready answers 200. */
bool stack_ready(void);

/* The text occurs in a log file of the stack. */
bool stack_logged(const char *text);

#endif
