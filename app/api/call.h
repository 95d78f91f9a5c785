/*
 * What a handler gets: the exchange, and this thread's connections.
 *
 * A handler decides and answers; it returns 0 after it replied, or -1 with *e
 * filled and nothing written, which worker.c turns into a problem.
 */
#ifndef SBX_API_CALL_H
#define SBX_API_CALL_H

#include "http/exchange.h"
#include "http/router.h"
#include "lib/jw.h"
#include "run/context.h"

struct call {
	struct run_ctx ctx; /* config, instance, redis, engine */
	struct exchange *x;
	const struct route *route;
};

/* Begin and end a JSON answer: opens an object; end adds `server` and replies.
 *	struct jw w = call_json(c, &body);  ...  return call_answer(c, &w, 200,
 *e)
 */
struct jw call_json(struct call *c, struct buf *body);
int call_answer(struct call *c, struct jw *w, int status, struct err *e);

#endif
