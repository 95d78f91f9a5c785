/* GET /health: this worker lives. GET /health/ready: so does all it needs. */
#ifndef SBX_API_HEALTH_H
#define SBX_API_HEALTH_H

#include "api/call.h"

int api_health(struct call *c, struct err *e);
int api_ready(struct call *c, struct err *e);

#endif
