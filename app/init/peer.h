/*
 * Where PID 1 listens, and who may speak to it.
 */
#ifndef SBX_INIT_PEER_H
#define SBX_INIT_PEER_H

#include "lib/err.h"

#include <stdbool.h>

/* The abstract name (unix(7)) where a run has no directory for a socket. */
#define PEER_NAME "sbx-init"

/* A listening socket, as from fd_listen_unix; or -1. */
int peer_listen_abstract(int backlog, struct err *e);

/* The connected fd's other end is the host's, and nobody's in the run. */
bool peer_is_host(int fd);

#endif
