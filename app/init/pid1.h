/*
 * PID 1 of a run: makes /work for the image's user, then reaps and serves.
 *
 * It never runs what the image's ENTRYPOINT or CMD says. SIGTERM from outside
 * the run (docker stop) ends it, and with it everything in the run; from
 * inside nothing does.
 */
#ifndef SBX_INIT_PID1_H
#define SBX_INIT_PID1_H

#include <stdint.h>

/* It calls itself so once it serves. */
#define PID1_NAME "sbx-run"

/* user is the image's USER, "" for root; socket is where to serve (init/serve),
 * NULL for an abstract one; memory_mib is the run's limit, 0 where it is not
 * known; own is a directory for work_own, "" for none. Returns the exit status.
 */
int pid1_run(
    const char *user, const char *socket, uint64_t memory_mib, const char *own);

#endif
