/*
 * Giving up every right but what serving takes, for good.
 */
#ifndef SBX_PROXY_CONFINE_H
#define SBX_PROXY_CONFINE_H

#include "lib/err.h"

/*
 * After everything is open: descriptors but those listed are closed; no
 * capability, no_new_privs, user and group nobody (where it is root), not
 * dumpable, limits (descriptors, no files, no processes, no core), and a
 * seccomp filter that leaves sockets, splice, epoll, memory, time and exit:
 * no open, exec, fork, setns, ptrace. -1: do not serve.
 */
int confine(const int *keep, int count, struct err *e);

#endif
