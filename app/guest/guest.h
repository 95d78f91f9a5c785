/*
 * The host's end of an operation in a run: start it, read its events, end it.
 *
 * The transport here is one-shot: `/.sbx/init exec` over a hijacked exec stream
 * of the engine. The host trusts nothing that comes back (DESIGN 9): frames are
 * bounded, order is checked, every wait has a deadline.
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

struct guest;

/*
 * Start a command in that container and wait (at most 30 s, or until *gone
 * says true; may be NULL) until it runs. stdin_text (NULL: none) is fed and
 * then ended, unless x->open_stdin is false; it stays the caller's and must
 * outlive the guest, x need not. Failures: ERR_INPUT (cwd, user, with a
 * sentence for the caller), ERR_CONFLICT (the run is at its pids limit),
 * ERR_RUN_NOT_RUNNING (the container has ended or is paused), ERR_ENGINE*,
 * ERR_GUEST, ERR_GONE_AWAY.
 */
struct guest *guest_exec(struct engine *en, const char *container,
    const struct wire_exec *x, const char *stdin_text, size_t stdin_size,
    bool (*gone)(void *arg), void *arg, struct err *e);

/* The same over a connected descriptor that carries Docker's multiplexed
 * stream (docker/demux.h), and which now belongs to the guest. */
struct guest *guest_attach(int fd, const struct wire_exec *x,
    const char *stdin_text, size_t stdin_size, bool (*gone)(void *arg),
    void *arg, struct err *e);

/* Close: a command that still runs is killed by the guest within 2 s, unless
 * its exit was already reported. Takes NULL. */
void guest_free(struct guest *g);

enum guest_event_type {
	GUEST_NOTHING, /* woken by other_fd, or timeout_ms passed */
	GUEST_STDOUT,
	GUEST_STDERR,
	GUEST_EXIT, /* the last; ev->exit is filled */
	GUEST_LOST, /* the guest vanished without an exit; the last */
};

struct guest_event {
	enum guest_event_type type;
	const char *bytes; /* valid until the next call */
	size_t size;
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

/* End the command now: TERM to its tree, KILL 1.5 s later; the exit event (or
 * GUEST_LOST) follows within 3 s. */
int guest_kill(struct guest *g, struct err *e);

#endif
