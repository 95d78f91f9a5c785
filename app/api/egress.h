/*
 * What a run with network "allowlist" may reach, and what became of what it
 * tried (API.md, Egress). The run's proxy decides (run/egress.h); these
 * handlers show it and change it. None of them is fenced (CONTRACT 5).
 */
#ifndef SBX_API_EGRESS_H
#define SBX_API_EGRESS_H

#include "api/call.h"
#include "store/run.h"

int api_egress_get(struct call *c, struct err *e);
int api_egress_put(struct call *c, struct err *e);
int api_egress_log(struct call *c, struct err *e);   /* a stream */
int api_egress_check(struct call *c, struct err *e); /* without a run */

/* The run of the route, which must have a proxy that serves it: else ERR_INPUT,
 * ERR_RUN_NOT_RUNNING. */
int egress_run(struct call *c, struct run *ret_run, struct err *e);

#endif
