/* What the box as a whole is doing: for people and for monitors. */
#ifndef SBX_API_SERVICE_H
#define SBX_API_SERVICE_H

#include "api/call.h"

int api_usage(struct call *c, struct err *e);	/* GET /v1/usage */
int api_metrics(struct call *c, struct err *e); /* GET /metrics */

#endif
