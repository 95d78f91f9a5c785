/* The routes on execs of a run, running or kept. */
#ifndef SBX_API_EXECS_H
#define SBX_API_EXECS_H

#include "api/call.h"

int api_exec_list(struct call *c, struct err *e);   /* GET …/execs */
int api_exec_get(struct call *c, struct err *e);    /* GET …/execs/{eid} */
int api_exec_stream(struct call *c, struct err *e); /* GET …/{eid}/stream */

/* What changes one, in flight and fenced like an exec (api/exec_act.c). */
int api_exec_stdin(struct call *c, struct err *e);  /* POST …/{eid}/stdin */
int api_exec_signal(struct call *c, struct err *e); /* POST …/{eid}/signal */
int api_exec_resize(struct call *c, struct err *e); /* POST …/{eid}/resize */
int api_exec_end(struct call *c, struct err *e);    /* DELETE …/execs/{eid} */

#endif
