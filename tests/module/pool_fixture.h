/*
 * A worker process in a child: pool_serve with a table of test routes.
 *
 *	GET  /ping        open; "pong"
 *	GET  /secret      "in"
 *	GET  /query?a=    the value of a
 *	POST /echo        the body, up to 1 MiB
 *	POST /json        takes a JSON object
 *	POST /ignore      409 without reading the body
 *	GET  /forged      counts (nobody may get here without a token)
 *	GET  /nothing     returns success without an answer
 *	GET  /fail        a failure whose text names a path
 *	GET  /big?size=   so many bytes
 *	GET  /events?n=   ": ok", then n events, each when `released` rises
 *	GET  /flood       ": ok", then bytes without end
 *	GET  /wait        ": ok", then waits for its client to leave
 *	GET  /mute        waits for its client to leave without a byte
 *	GET  /slow        a `stream` route: as /wait
 *	GET  /eat         takes every descriptor there is, then as /wait
 */
#ifndef SBX_TESTS_MODULE_POOL_FIXTURE_H
#define SBX_TESTS_MODULE_POOL_FIXTURE_H

#include "config.h"
#include "pool.h"

#include <stdatomic.h>
#include <sys/types.h>

#define TEST_TOKEN "t0ken-of-the-test"

/* Shared with the child. */
struct pool_counters {
	atomic_int forged, released, waiting, left;
	atomic_int last_error; /* enum err_kind of /echo and /flood */
	atomic_llong left_us;  /* CLOCK_MONOTONIC, when the last one left */
};

struct pool_fixture {
	struct config config;
	enum pool pool;
	int extra_files; /* descriptors the child opens first */
	int most_files;	 /* its RLIMIT_NOFILE, 0 to leave it */
	pid_t pid;
	char dir[64], socket[80], log[80], token[80];
	struct pool_counters *counters;
};

/* Set up with two threads and a stall of 60 s; then change config and start.
 * pool_stop sends SIGTERM and checks that the child ends with 0. */
void pool_prepare(struct pool_fixture *f);
void pool_start(struct pool_fixture *f);
void pool_stop(struct pool_fixture *f);

/* The number of lines in the child's log that have both texts. */
int pool_logged(const struct pool_fixture *f, const char *a, const char *b);

#endif
