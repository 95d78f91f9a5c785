/* POST /v1/runs/{id}/exec: run a command, stream its output. */
#ifndef SBX_API_EXEC_H
#define SBX_API_EXEC_H

#include "api/call.h"

int api_exec(struct call *c, struct err *e);

#endif
