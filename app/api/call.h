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
#include "lib/ulid.h"
#include "run/context.h"
#include "run/inflight.h"
#include "store/run.h"

#include <jansson.h>
#include <stdatomic.h>

/* How many long operations a process takes at once: a control worker keeps
 * threads for short ones. */
struct call_gate {
	atomic_int now;
	int max;
};

struct call {
	struct run_ctx ctx; /* config, instance, redis, engine */
	struct exchange *x;
	const struct route *route;
	struct call_gate *gate;
	struct inflight_slot *slot; /* for this thread's operation */
};

/* A JSON answer, at most CALL_ANSWER_MAX bytes: call_json opens an object,
 * call_answer adds `server`, closes it and replies. */
#define CALL_ANSWER_MAX (32u << 20)

struct jw call_json(struct buf *body);
int call_answer(struct call *c, struct jw *w, int status, struct err *e);

/* The {id} of the route as a canonical run id; ERR_RUN_ABSENT where it is no
 * id at all. */
int call_run_id(struct call *c, char to[ULID_SIZE], struct err *e);

/* The record of that run; its strings live in the request's arena. */
int call_run(struct call *c, struct run *ret_run, struct err *e);

/* The {eid} likewise; ERR_EXEC_ABSENT. */
int call_exec_id(struct call *c, char to[ULID_SIZE], struct err *e);

/* A query parameter, NULL where it is absent or empty; ERR_INPUT where its
 * escapes are broken. */
int call_query(
    struct call *c, const char *name, const char **ret_value, struct err *e);

/* One that is on or off: "1" or "true", "0" or "false". Where it is absent,
 * *set stays as it is. */
int call_flag(struct call *c, const char *name, bool *set, struct err *e);

/* The request's body as a JSON object; free it with json_decref. */
int call_body(struct call *c, json_t **ret_body, struct err *e);

/* What may take long begins with call_long (ERR_BUSY: too many do) and ends
 * with call_long_end. worker.c does it for routes that are `stream`. */
int call_long(struct call *c, struct err *e);
void call_long_end(struct call *c);

#endif
