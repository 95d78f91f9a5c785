/*
 * A Docker engine of the program's own, which it may end and start again, in
 * place of the one that tests/run provides. It is gone when the program is,
 * however that ends.
 */
#ifndef SBX_E2E_DOCKERD_H
#define SBX_E2E_DOCKERD_H

#include <stdbool.h>
#include <sys/types.h>

/* Before stack_start. Runs outlive a restart of it where live_restore; apart
 * from that it is configured as $SBX_ENGINE_CONFIG says. */
void dockerd_start(bool live_restore);

/* While it runs: from now on. */
void dockerd_live_restore(bool live_restore);

pid_t dockerd_pid(void);

/* Signal dockerd, and wait until it is dead; containers fare as with any. */
void dockerd_end(int number);

/* Start it again over what it left; it answers then. */
void dockerd_resume(void);

/* End it, and remove its files. */
void dockerd_stop(void);

#endif
