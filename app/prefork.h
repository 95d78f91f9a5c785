/*
 * The prefork master: a process without threads that holds the listening
 * sockets and keeps so many worker processes alive on each.
 *
 * Children are this program executed anew (`--pool NAME --notify-fd 4`) with
 * the socket as LISTEN_FDS. SIGHUP replaces them one by one, each old one told
 * to drain once its successor takes requests; a new binary at the program's
 * path is picked up by that. SIGTTIN has it keep one more per pool, SIGTTOU
 * one less: the latest drains. SIGTERM drains them all. Killed itself, it takes
 * its children into a drain (PR_SET_PDEATHSIG), and a new master replaces the
 * socket's path meanwhile.
 */
#ifndef SBX_PREFORK_H
#define SBX_PREFORK_H

#include "config.h"
#include "pool.h"

#include <stdbool.h>

#define PREFORK_MAX 64 /* processes per pool */

struct prefork_setup {
	const struct config *config;
	int processes;	    /* per pool, at first */
	bool serves[POOLS]; /* which pools */
};

/* Runs until SIGTERM or SIGINT and the end of the last child. */
int prefork_run(const struct prefork_setup *setup, struct err *e);

#endif
