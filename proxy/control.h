/*
 * The control socket: how the host changes the policy of a running proxy and
 * asks what it did. A unix socket in the host's directory of the run, 0600.
 *
 * One connection, one request: a line, and with `policy` the text behind it up
 * to the end of what the client sends (shutdown(2) of its writing side).
 *
 *	policy		"ok\n" and from then on it holds (tunnels and requests
 *			that it does not admit are ended), or "error WHY\n"
 *	counts		ledger_counts
 *	log POSITION	JSON lines from there on, and then as they come, until
 *			the client leaves; blank lines to see whether it has
 *	log POSITION end	the same, without waiting
 */
#ifndef SBX_PROXY_CONTROL_H
#define SBX_PROXY_CONTROL_H

#include "ledger.h"
#include "loop.h"
#include "policy.h"

#define CONTROL_CLIENTS 16

struct control;

/* listener: a listening unix socket, the control's from here on. set: takes the
 * new policy over. */
struct control *control_new(struct loop *loop, int listener,
    struct ledger *ledger, void (*set)(void *arg, struct policy *p), void *arg,
    struct err *e);

#endif
