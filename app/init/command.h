/*
 * Turning a request into an execve(2): the shell, PATH, the environment.
 */
#ifndef SBX_INIT_COMMAND_H
#define SBX_INIT_COMMAND_H

#include "lib/passwd.h"
#include "lib/wire.h"

#define COMMAND_HOME 4096 /* of the setting HOME=... */

/*
 * The environment of the command: ours (the image's, as Docker's exec gives
 * it) with the request's over it, a HOME that is the user's, and a TERM where
 * there is a terminal; root_home is uid 0's, and tag a setting that nothing
 * overrides (NULL: none). Freed with free(); strings are borrowed, one of them
 * from home.
 */
const char **command_env(const struct wire_exec *x,
    const struct passwd_user *user, const char *root_home, const char *tag,
    char home[COMMAND_HOME]);

/* Become the command. Returns only where that failed: errno is set. */
void command_exec(const struct wire_exec *x, const char *const *env);

/* Say on standard error, for the caller, why command_exec failed. */
void command_explain(const struct wire_exec *x, int error);

#endif
