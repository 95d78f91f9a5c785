/*
 * The seccomp filter of confine.h, apart because it is a table.
 */
#ifndef SBX_PROXY_CONFINE_FILTER_H
#define SBX_PROXY_CONFINE_FILTER_H

#include "lib/err.h"

/* From here on, for good. no_new_privs must be set. */
int confine_filter(struct err *e);

#endif
