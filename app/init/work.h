/* The directory in which commands work. */
#ifndef SBX_INIT_WORK_H
#define SBX_INIT_WORK_H

#include "lib/passwd.h"

#define WORK_PATH "/work"

/* Make it, where there is none, and give it to the user: it alone, not what an
 * image has in it. Returns 0, or -1 with errno. */
int work_make(const struct passwd_user *u);

/* Give a directory that is empty to the user: a volume, say, that the engine
 * has made for root. Nothing where there is none. */
void work_own(const char *path, const struct passwd_user *u);

/* Make it again where a command has removed it. It cannot be, where the run's
 * root is read-only, say: who needs it hears that it is not there. */
void work_restore(const struct passwd_user *u);

#endif
