/*
 * PID 1 as a server: a unix socket on which the host's workers, and nobody
 * else, ask for operations; a process forked for each that takes its time.
 *
 * Nothing here waits for a peer. A connection that does not say in time what it
 * wants is closed; one from inside the run is closed at once.
 */
#ifndef SBX_INIT_SERVE_H
#define SBX_INIT_SERVE_H

#include "init/act.h"
#include "init/lost.h"
#include "init/ops.h"
#include "lib/err.h"
#include "lib/passwd.h"

#include <poll.h>
#include <stdint.h>

#define SERVE_PENDING 64  /* connections that PID 1 itself deals with */
#define SERVE_LISTENERS 2 /* a path, and an abstract name */

enum serve_doing {
	SERVE_HEARS, /* it has not said yet what it wants */
	SERVE_FENCES,
	SERVE_ACTS,
	SERVE_LISTS,
};

struct serve_connection {
	int fd;	       /* -1: free */
	int64_t until; /* then it is given up */
	enum serve_doing doing;
	bool in_part;	       /* HEARS: of what it wants, some has come */
	uint64_t fence;	       /* FENCES: for the end of what is older */
	struct act act;	       /* ACTS */
	const struct op *told; /* LISTS: the last of those that were */
	struct buf frames;     /* LISTS: not sent yet */
};

struct serve {
	int listener[SERVE_LISTENERS];	/* or -1 */
	const struct passwd_user *user; /* whose /work is */
	uint64_t memory;		/* for kept execs, in bytes */
	struct ops *ops;
	int lock; /* of those that place files (init/start.h) */
	struct lost lost;
	struct serve_connection connection[SERVE_PENDING];
};

#define SERVE_POLLS (SERVE_PENDING + SERVE_LISTENERS)

/* Before serve_open, and after one that failed, the calls below do nothing.
 * user, who stays the caller's, is the image's; memory_mib is the run's limit,
 * 0 where it is not known. */
void serve_init(
    struct serve *s, const struct passwd_user *user, uint64_t memory_mib);

/* Listen on path, for root alone, and on an abstract name (init/peer.h), for
 * Docker's exec: root of the run can remove the one, but not the other. path
 * NULL: on that alone. */
int serve_open(struct serve *s, const char *path, struct err *e);

/* Fill in p (SERVE_POLLS) for poll(2); returns for how long, at most. */
int serve_arm(struct serve *s, struct pollfd *p);

/* Do what those say can be done. */
void serve_step(struct serve *s, const struct pollfd *p);

/* A child of ours has ended so (waitpid(2)). */
void serve_reaped(struct serve *s, pid_t pid, int status);

/* Some child may have been stopped: no process of an operation stays so. */
void serve_resume(struct serve *s);

#endif
