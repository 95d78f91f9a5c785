/*
 * PID 1 as a server: a unix socket on which the host's workers, and nobody
 * else, ask for operations; a process forked for each.
 *
 * Nothing here waits for a peer. A connection that does not say in time what it
 * wants is closed; one from inside the run is closed at once.
 */
#ifndef SBX_INIT_SERVE_H
#define SBX_INIT_SERVE_H

#include "init/ops.h"
#include "lib/err.h"

#include <poll.h>
#include <stdint.h>

#define SERVE_PENDING 64 /* connections that have not said what they want */

struct serve_connection {
	int fd;		/* -1: free */
	int64_t until;	/* then it is given up */
	uint64_t fence; /* it waits for the end of what is older; 0: no */
};

struct serve {
	int listener;
	struct ops *ops;
	struct serve_connection connection[SERVE_PENDING];
};

#define SERVE_POLLS (SERVE_PENDING + 1)

/* Before serve_open, and after one that failed, the calls below do nothing. */
void serve_init(struct serve *s);

/* Listen on path, for root alone; NULL: on an abstract name (init/peer.h). */
int serve_open(struct serve *s, const char *path, struct err *e);

/* Fill in p (SERVE_POLLS) for poll(2); returns for how long, at most. */
int serve_arm(const struct serve *s, struct pollfd *p);

/* Do what those say can be done. */
void serve_step(struct serve *s, const struct pollfd *p);

void serve_reaped(struct serve *s, pid_t pid);

#endif
