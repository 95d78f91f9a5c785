/* The routes on runs as a whole. */
#ifndef SBX_API_RUNS_H
#define SBX_API_RUNS_H

#include "api/call.h"

int api_run_list(struct call *c, struct err *e);   /* GET /v1/runs */
int api_run_get(struct call *c, struct err *e);	   /* GET /v1/runs/{id} */
int api_run_delete(struct call *c, struct err *e); /* DELETE /v1/runs/{id} */
int api_run_extend(struct call *c, struct err *e); /* POST …/{id}/extend */

#endif
