/*
 * A user of the image, looked up in the image's own files, without the libc's
 * name services (a static binary in an image that may have none).
 */
#ifndef SBX_INIT_USER_H
#define SBX_INIT_USER_H

#include "lib/passwd.h"

/* Fill *ret_user for `user[:group]`, and root_home (NULL: not wanted) with the
 * home directory of uid 0. ERR_INPUT where there is no such user. */
int user_find(const char *spec, struct passwd_user *ret_user,
    char root_home[PASSWD_HOME], struct err *e);

/* Become that user, for good. Returns 0, or -1 with errno. */
int user_become(const struct passwd_user *u);

#endif
