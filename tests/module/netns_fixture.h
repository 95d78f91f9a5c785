/*
 * A network namespace with loopback and nothing else, as a run has one, and a
 * process in it that stands for the run's init.
 */
#ifndef SBX_TESTS_MODULE_NETNS_FIXTURE_H
#define SBX_TESTS_MODULE_NETNS_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

struct netns {
	pid_t pid;
	char path[32];
};

/* Where this may not be made (it takes root), the test is skipped. */
void netns_start(struct netns *n);
void netns_end(struct netns *n); /* its process; may be called again */

/* A connection to a port of its loopback; -1 with errno. */
int netns_connect(const struct netns *n, int port);

/* The same of an address of its own, "" for loopback. */
int netns_connect_to(const struct netns *n, const char *address, int port);

/* `ip WORDS`, in there, or here where n is NULL. False where it fails. */
bool netns_ip(const struct netns *n, const char *words);

/* A listening socket there that is somebody else's; any: on all addresses. */
int netns_listen(const struct netns *n, int port, bool any);

#endif
