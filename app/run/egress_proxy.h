/*
 * Starting and ending the sbx-proxy of one run. Of run/egress.c alone.
 */
#ifndef SBX_RUN_EGRESS_PROXY_H
#define SBX_RUN_EGRESS_PROXY_H

#include "config.h"
#include "lib/err.h"

#include <stdint.h>

#define EGRESS_POLICY "egress"	  /* in the host's directory of the run */
#define EGRESS_NEXT "egress.next" /* one that it is being told */
#define EGRESS_SOCKET "egress.sock"
#define EGRESS_LOG "egress.log"
#define EGRESS_UNIT "egress.unit" /* what its unit reads */

/* Where the run is. */
struct egress_place {
	const char *id, *netns; /* of the run; path of its namespace */
	const char *subnet;	/* of its link there, "" for none */
	int64_t pid;		/* of its init */
};

/* Returns once it listens. SBX_EGRESS_START says how: as a process that belongs
 * to nobody, or as the unit sbx-proxy@ID. ERR_PROXY with why. */
int egress_proxy_start(
    const struct config *config, const struct egress_place *at, struct err *e);

/* Wait until it has ended, with its init; else kill it. */
int egress_proxy_end(
    const struct config *config, const char *id, struct err *e);

#endif
