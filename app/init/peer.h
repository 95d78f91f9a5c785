/*
 * Where PID 1 listens, and who may speak to it: root from outside of the run,
 * which is a worker of the host, and root whom Docker's exec put into the run
 * (init/relay.h). The workload is neither, also where it is root: a process of
 * its own has a parent in the run.
 */
#ifndef SBX_INIT_PEER_H
#define SBX_INIT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The address (lib/fd.h) by which Docker's exec finds it. */
#define PEER_SOCKET "@sbx-init"

/* Of a connection that was just accepted: false where nobody may speak. */
bool peer_is_host(int fd);

/* As recv(2) with MSG_PEEK and MSG_DONTWAIT, of one that may speak. Some
 * kernels tell only now who speaks: -1 with EPERM where it may not. */
ssize_t peer_peek(int fd, void *bytes, size_t size);

/* As send(2) with MSG_NOSIGNAL, telling who we are: the first of the relay. */
ssize_t peer_send(int fd, const void *bytes, size_t size);

#endif
