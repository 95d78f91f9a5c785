/*
 * Which sockets there are in a run: those that its network namespace holds.
 * Others lead past it: AF_VSOCK to the hypervisor, or to this box.
 */
#ifndef SBX_INIT_SOCKETS_H
#define SBX_INIT_SOCKETS_H

/* For this process and all that it starts, for ever: other families are
 * EAFNOSUPPORT, as of a kernel that has none of them. -1 with errno. */
int sockets_confine(void);

#endif
