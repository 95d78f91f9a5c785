/*
 * A private redis-server on a unix socket in a directory of its own. It dies
 * with the test. Its data survive a SIGKILL (appendonly: a write reaches the
 * kernel before its reply is sent).
 */
#ifndef SBX_TESTS_MODULE_REDIS_FIXTURE_H
#define SBX_TESTS_MODULE_REDIS_FIXTURE_H

#include "store/redis.h"

#include <stdbool.h>
#include <sys/types.h>

struct redis_fixture {
	char dir[64];
	char url[96];
	const char *password; /* set before the start, or NULL */
	int tcp_port;	      /* likewise, or 0 */
	pid_t pid;	      /* 0 while it does not run */
};

/* Make the directory and start. Failures fail the test. */
void redis_fixture_open(struct redis_fixture *f);
/* Stop, and remove the directory. */
void redis_fixture_close(struct redis_fixture *f);

/* Start again on the same data, and wait until it answers. */
void redis_fixture_start(struct redis_fixture *f);
void redis_fixture_kill(struct redis_fixture *f); /* SIGKILL, and reap */
void redis_fixture_pause(const struct redis_fixture *f);
void redis_fixture_resume(const struct redis_fixture *f);

/* One command, words separated by single spaces, as text: a string or number,
 * "(nil)", or the elements joined by a space. Valid until the next call. */
const char *redis_fixture_say(
    const struct redis_fixture *f, const char *command);

#endif
