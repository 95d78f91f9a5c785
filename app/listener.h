/*
 * The listening socket of a pool: inherited from systemd or from a prefork
 * master (LISTEN_FDS, sd_listen_fds(3)), else bound in SBX_RUN_DIR.
 */
#ifndef SBX_LISTENER_H
#define SBX_LISTENER_H

#include "config.h"
#include "pool.h"

#include <stdbool.h>

#define LISTENER_FIRST_FD 3 /* SD_LISTEN_FDS_START */

struct listener {
	int fd;		/* non-blocking, close-on-exec; -1 where closed */
	bool inherited; /* then its path is not ours */
	char path[108];
};

/*
 * Take the inherited socket of that name (LISTEN_FDNAMES), or the only one
 * there is; where none is inherited bind RUN_DIR/<pool>.sock, for
 * SBX_SOCKET_GROUP. A lock beside it, held until the process ends, keeps a
 * second program from taking the path over from a living one; one that was
 * killed leaves a path that is simply replaced.
 */
int listener_open(const struct config *config, enum pool pool,
    struct listener *ret_listener, struct err *e);

/* Close it, and remove a path that was bound. */
void listener_close(struct listener *l);

#endif
