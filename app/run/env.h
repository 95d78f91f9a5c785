/*
 * A run's environment: in a 0600 file of the host's directory of the run, on
 * tmpfs, never in the container's configuration or in Redis (DESIGN 4, Env).
 */
#ifndef SBX_RUN_ENV_H
#define SBX_RUN_ENV_H

#include "config.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "store/run.h"

/* Makes the run's directory and the file. env: NULL-terminated NAME=value. */
int run_env_write(const struct config *config, const char *id,
    const char *const *env, struct err *e);

/*
 * The environment of a command: what names the proxy of an allowlist run, then
 * the run's own, then extra, in the arena and NULL-terminated; a later name
 * wins where it is applied. A run that has none (or was adopted after its
 * directory was lost) has none of its own.
 */
int run_env_read(const struct config *config, const struct run *run,
    const char *const *extra, struct arena *a, const char *const **ret_env,
    struct err *e);

#endif
