/*
 * The control socket: how the host changes the policy of a running proxy and
 * asks what it did. A unix socket in the host's directory of the run, 0600.
 *
 * One connection, one request: a line, and with `policy` the text behind it up
 * to the end of what the client sends (shutdown(2) of its writing side).
 *
 *	policy		"ok\n" and from then on it holds (tunnels and requests
 *			that it does not admit are ended), or "error WHY\n".
 *			Nothing changes where the client has left: its text may
 *			have been cut
 *	counts		ledger_counts, and a line feed
 *	log POSITION	lines (ledger.h) from there on, and then as they come,
 *			until the client leaves; an empty line now and then, to
 *			see whether it has
 *	log POSITION end	the same, without waiting
 *
 * Where lines have fallen out of the ring since, one {"lost":COUNT} stands for
 * them. Anything else is answered "error WHY\n".
 *
 * Nobody waits for a client: a follower that is slow misses lines. Who does not
 * bring the request, or take the answer, within CONTROL_PATIENCE_MS (followers:
 * CONTROL_STALL_MS) is dropped. CONTROL_CLIENTS at a time, of which
 * CONTROL_FOLLOWERS may follow; one more gets an error.
 */
#ifndef SBX_PROXY_CONTROL_H
#define SBX_PROXY_CONTROL_H

#include "ledger.h"
#include "loop.h"
#include "policy.h"

#define CONTROL_CLIENTS 16
#define CONTROL_FOLLOWERS 12
#define CONTROL_PATIENCE_MS 5000
#define CONTROL_STALL_MS 300000
#define CONTROL_BEAT_MS 15000

struct control;

/* listener: a listening, non-blocking unix socket, the control's from here on,
 * and so is who listens to the ledger. set takes the new policy over. */
struct control *control_new(struct loop *loop, int listener,
    struct ledger *ledger, void (*set)(void *arg, struct policy *p), void *arg,
    struct err *e);
void control_free(struct control *c); /* takes NULL */

#endif
