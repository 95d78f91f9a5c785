/* Health, for load balancers and for people. */
#include "api/health.h"

#define READY_MS 1000 /* the engine's time to answer a ping */

static int
answer_ok(struct call *c, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct jw w = call_json(&body);

	jw_str(&w, "status", "ok");
	jw_str(&w, "version", SBX_VERSION);
	return call_answer(c, &w, 200, e);
}

int
api_health(struct call *c, struct err *e)
{
	return answer_ok(c, e);
}

int
api_ready(struct call *c, struct err *e)
{
	struct err redis = ERR_INIT, engine = ERR_INIT;
	bool no_redis = redis_ping(c->ctx.redis, &redis) != 0;
	bool no_docker = engine_ping(c->ctx.engine, READY_MS, &engine) != 0;

	if (!no_redis && !no_docker)
		return answer_ok(c, e);
	if (redis.kind == ERR_STORE_SPACE)
		return err_set(e, ERR_NOT_READY,
		    "Not ready: redis takes no writes, since the disk of "
		    "SBX_STATE_DIR is full; free space there.%s",
		    no_docker ? " docker is not answering." : "");
	return err_set(e, ERR_NOT_READY, "Not ready: %s not answering.",
	    !no_docker ? "redis is"
	    : no_redis ? "redis and docker are"
		       : "docker is");
}
