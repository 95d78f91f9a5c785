/*
 * Closing the only link of a run, so that it leads nowhere.
 *
 * A runtime with a network stack of its own (gVisor's netstack) speaks to the
 * world through a link of its network namespace: loopback in there is not the
 * run's. Docker gives it one (a veth(4) pair), whose other end is the host's.
 * That end is brought into the run's network namespace as well: what the run
 * sends comes out in there again, and the namespace has no other link. So there
 * is no way to the host or another run, and no rule that could be lost: no
 * bridge, no address of the host, no firewall. All that answers is what listens
 * in the namespace at the gateway's address, which is the proxy.
 */
#ifndef SBX_PROXY_LINK_H
#define SBX_PROXY_LINK_H

#include "lib/address.h"
#include "lib/err.h"

#define LINK_NAME "sbx0" /* of the end that was brought in */

/*
 * For link_close, before entering the run's network namespace: a descriptor
 * that acts in the network namespace that the process is in.
 */
int link_outside(struct err *e);

/*
 * In the run's network namespace, which netns is open at: bring in the other
 * end of the one link that there is, from where outside (link_outside) is, and
 * give it the first address of that subnet (IPv4). What was done of it before
 * is not done again. Where more than loopback and a veth is up in here it
 * fails: the run could have another way out.
 */
int link_close(
    int outside, int netns, const struct cidr *subnet, struct err *e);

#endif
