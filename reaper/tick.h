/*
 * The reaper at work: the table of sweeps, each on its thread, as long as this
 * process holds the office (store/reaper_lock.h).
 */
#ifndef SBX_REAPER_TICK_H
#define SBX_REAPER_TICK_H

#include "config.h"
#include "lib/err.h"

/* Until SIGTERM or SIGINT, which must be blocked; no thread may run yet. */
int tick_run(const struct config *config, const char *instance, struct err *e);

#endif
