/*
 * Giving up every right but what serving takes, for good.
 */
#ifndef SBX_PROXY_CONFINE_H
#define SBX_PROXY_CONFINE_H

#include "lib/err.h"

/* First of all: no descriptor that was inherited is open but 0, 1 and 2, and
 * these are (/dev/null where they were not). */
int confine_descriptors(struct err *e);

/*
 * After everything is open: no capability, not even in the bounding set,
 * no_new_privs, that user and group (where it is root; 0, or a number that
 * there is not here: nobody), not dumpable, "/" as
 * directory, limits (so many descriptors, or as many as the host lets it have;
 * no processes, no core, no file but 16 MiB more of what standard error is),
 * and a seccomp filter: sockets of the internet, splice, epoll, memory, time
 * and exit work; open, exec, fork, setns, ptrace and everything else ends the
 * process. -1: do not serve.
 */
int confine(unsigned descriptors, int user, struct err *e);

#endif
