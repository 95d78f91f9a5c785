/* Warm volumes of runs, and the templates of repositories (CONTRACT 7). */
#ifndef SBX_API_WARM_H
#define SBX_API_WARM_H

#include "api/call.h"

int api_warm_commit(struct call *c, struct err *e);
int api_warm_look(struct call *c, struct err *e);
int api_warm_list(struct call *c, struct err *e);
int api_warm_get(struct call *c, struct err *e);
int api_warm_drop(struct call *c, struct err *e);

/* ERR_INPUT where this box keeps no warm cache. */
int warm_possible(const struct config *config, struct err *e);

#endif
