/*
 * The host's end of an operation in a run: start it, read its events, end it.
 *
 * Over one of two transports, chosen once per run: the socket on which the
 * run's PID 1 serves, or, slower, a hijacked exec stream of the engine, where
 * `/.sbx/init exec` is a pipe to PID 1 (in a run whose init is older than wire
 * version 3: a one-shot init, for commands only and without a fence). The host
 * trusts nothing that comes back (DESIGN 9): frames are bounded, order is
 * checked, every wait has a deadline.
 */
#ifndef SBX_GUEST_GUEST_H
#define SBX_GUEST_GUEST_H

#include "docker/engine.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_PROGRAM "/.sbx/init" /* where a run has sbx-init */
#define GUEST_SOCKET "guest.sock"  /* its socket's name, in a directory */

struct guest;

/* Which run. */
struct guest_place {
	const char *container; /* the engine's name or id */
	/* The host's side of the directory with the socket, and the pid of the
	 * run's init, which must be behind it; "" and 0 for one-shot execs. */
	const char *dir;
	int64_t pid;
	int64_t wire; /* the version of its init (lib/wire.h); below 3: old */
};

/* The host sees the run's directory: a file system is mounted there. */
bool guest_visible(const struct guest_place *place);

/* The init lives, and root of the run has removed or replaced its socket. */
bool guest_spoilt(const struct guest_place *place);

/*
 * Wait until the init serves on its socket. ERR_GUEST where it does not within
 * timeout_ms, or at once where it never will: it has ended, or the host does
 * not see the run's directory.
 */
int guest_wait(const struct guest_place *place, int timeout_ms, struct err *e);

/* Who waits for an operation: while the other side is slow, look at these. */
struct guest_patience {
	int other_fd;	/* readable: the caller left (ERR_GONE_AWAY); -1 none */
	int timeout_ms; /* without a byte either way: ERR_GUEST */
};

struct guest_order {
	/* Where the init is older than version 3 its id must be NULL. */
	const struct wire_exec *exec;
	/* Fed and then ended, unless exec->open_stdin is false; NULL: none.
	 * That of a feedable exec is not ended. It must outlive the guest, the
	 * rest need not. */
	const char *stdin_text;
	size_t stdin_size;
	/* Where set, asked about every 200 ms: true gives up. */
	bool (*gone)(void *arg);
	void *arg;
};

/*
 * Start a command there and wait (at most 30 s, or until *gone says true) until
 * it runs. Failures: ERR_INPUT (cwd, user, with a sentence for the caller),
 * ERR_RUN_EXHAUSTED (the run is at its pids limit), ERR_LEASE_SUPERSEDED (the
 * guest knows a later generation), ERR_RUN_NOT_RUNNING (the container has ended
 * or is paused), ERR_ENGINE*, ERR_GUEST, ERR_GONE_AWAY. Over a socket a
 * container that has ended is ERR_GUEST as well.
 */
struct guest *guest_exec(struct engine *en, const struct guest_place *place,
    const struct guest_order *order, struct err *e);

enum guest_framing {
	GUEST_PLAIN,  /* frames and nothing else */
	GUEST_DOCKER, /* in Docker's multiplexed stream (docker/demux.h) */
};

/* The same over a connected descriptor, which now belongs to the guest. */
struct guest *guest_attach(int fd, enum guest_framing framing,
    const struct guest_order *order, struct err *e);

/* Close: a command that still runs is killed by the guest within 2 s, unless
 * its exit was already reported. Takes NULL. */
void guest_free(struct guest *g);

enum guest_event_type {
	GUEST_NOTHING, /* woken by other_fd, or timeout_ms passed */
	GUEST_STDOUT,
	GUEST_STDERR,
	GUEST_GAP,  /* of guest_follow: output goes on at ev->offset */
	GUEST_EXIT, /* the last; ev->exit is filled */
	GUEST_LOST, /* the guest vanished without an exit; the last */
};

struct guest_event {
	enum guest_event_type type;
	const char *bytes; /* valid until the next call */
	size_t size;
	uint64_t offset;
	struct wire_exit exit;
};

/*
 * The next event. Returns GUEST_NOTHING when other_fd (-1: none) became
 * readable or hung up, or after timeout_ms. Keeps feeding stdin meanwhile.
 * Output that was already received is handed out before a new wait. A guest
 * that has not reported the end of a command 3 s after its deadline (time spent
 * outside of this call does not count) is not waited for: the exit is then this
 * side's word, and the connection closed. -1 with ERR_GUEST where what came
 * makes no sense: free the guest.
 */
int guest_next(struct guest *g, int other_fd, int timeout_ms,
    struct guest_event *ret_event, struct err *e);

/* True where an event can be had without waiting: do not flush yet. */
bool guest_pending(const struct guest *g);

/*
 * Tell the run's init that this generation was granted: whatever was admitted
 * under an older one is ended when this returns, and refused from then on.
 * *ret_known is the highest generation that it knows: where that was not below
 * this one already, nothing was done and *ret_done is false. ERR_GUEST.
 */
int guest_fence(struct engine *en, const struct guest_place *place,
    uint64_t generation, bool *ret_done, uint64_t *ret_known, struct err *e);

/* End the command now: TERM to its tree, KILL 1.5 s later; the exit event (or
 * GUEST_LOST) follows within 3 s. */
int guest_kill(struct guest *g, struct err *e);

/*
 * Leave a kept exec to itself: feed the rest of its standard input, then wait
 * (at most timeout_ms) until the guest has let go of this side; output is
 * dropped meanwhile. 0 as well where the command has ended by then. ERR_GUEST
 * where it may not go on. Then guest_free.
 */
int guest_detach(struct guest *g, int timeout_ms, struct err *e);

#endif
