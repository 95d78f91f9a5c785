/* POST /v1/runs: make a run, and stream how it goes where asked to. */
#ifndef SBX_API_CREATE_H
#define SBX_API_CREATE_H

#include "api/call.h"

int api_run_create(struct call *c, struct err *e);

#endif
