/*
 * sbx-app --check: what this box lacks for runs, and how to mend it.
 */
#ifndef SBX_CHECK_H
#define SBX_CHECK_H

#include "config.h"

/*
 * A line for each thing that runs need, on standard output:
 *
 *	ok     docker      20.10.24, API 1.41, on /var/run/docker.sock
 *	note   swap        ...
 *	FAULT  redis       ...
 *	                   what to do about it
 *
 * Makes nothing but SBX_CACHE_ROOT's own directories. The exit status: 0 where
 * nothing is at fault (notes are none), else 1.
 */
int check_run(const struct config *config);

#endif
