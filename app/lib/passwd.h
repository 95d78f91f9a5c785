/*
 * Who `user[:group]` is in an image: the text of its /etc/passwd and
 * /etc/group, read the way Docker reads them.
 *
 * Pure: the files come as bytes, which the workload may have written. A number
 * needs no entry, a name does. A user of "" is uid 0. Lines that are not
 * entries are skipped.
 */
#ifndef SBX_LIB_PASSWD_H
#define SBX_LIB_PASSWD_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

#define PASSWD_MAX \
	(1024 * 1024) /* of each file this many bytes are looked at */
#define PASSWD_GROUPS 256
#define PASSWD_HOME 256

struct passwd_text {
	const char *bytes; /* NULL only where size is 0 */
	size_t size;
};

struct passwd_user {
	uint32_t uid, gid;
	uint32_t groups[PASSWD_GROUPS]; /* gid, and those that name the user */
	size_t group_count;		/* at least 1 */
	char home[PASSWD_HOME];		/* "/" where there is no entry */
};

/* ERR_INPUT where the image has no such user or group. */
int passwd_find(const char *spec, struct passwd_text passwd,
    struct passwd_text group, struct passwd_user *ret_user, struct err *e);

#endif
