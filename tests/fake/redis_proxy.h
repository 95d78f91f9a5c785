/*
 * A way to a real Redis on which the n-th command fails: a unix socket of its
 * own, in threads of the test's process.
 *
 *	redis_proxy_fail(p, 2, REDIS_LOSE);
 *	... the second command from here on is executed, its reply is lost ...
 *	redis_proxy_heal(p);
 *
 * For clients that send one command at a time. Failures of its own abort.
 */
#ifndef SBX_TESTS_FAKE_REDIS_PROXY_H
#define SBX_TESTS_FAKE_REDIS_PROXY_H

#include <stddef.h>

struct redis_proxy;

struct redis_proxy *redis_proxy_new(const char *redis_socket);
void redis_proxy_free(struct redis_proxy *p);
const char *redis_proxy_url(const struct redis_proxy *p);

enum redis_fault {
	REDIS_DROP,	/* not executed, the connection closed */
	REDIS_LOSE,	/* executed, the connection closed */
	REDIS_LOADING,	/* not executed, "-LOADING" */
	REDIS_FULL,	/* not executed, "-OOM" */
	REDIS_NOSCRIPT, /* a script is not known any more */
	REDIS_DOWN,	/* dropped, and so is every later one, until healed */
	REDIS_LATE,	/* executed once the client has given up */
	REDIS_FAULTS
};

void redis_proxy_fail(struct redis_proxy *p, size_t n, enum redis_fault how);

/* No more faults; waits for what is late. Returns the command that failed, as
 * "run_create 0 ...", or NULL where it did not come to that; valid until the
 * next redis_proxy_fail. */
const char *redis_proxy_heal(struct redis_proxy *p);

#endif
