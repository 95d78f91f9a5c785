/*
 * The Docker Engine API over its unix socket: one call at a time per engine.
 *
 * The only file that knows libcurl. A thread owns its engine. The API version
 * is negotiated on first use (the lower of 1.47 and the engine's; DESIGN 3)
 * and again after the engine could not be reached. Every call has a deadline.
 * Refused, reset or missing socket is ERR_ENGINE_AWAY, deadline passed is
 * ERR_ENGINE_TIMEOUT, an answer that is not HTTP is ERR_ENGINE. An HTTP status
 * of any value is success: the caller looks at it.
 */
#ifndef SBX_DOCKER_ENGINE_H
#define SBX_DOCKER_ENGINE_H

#include "lib/buf.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

#define ENGINE_BODY_MAX (32u << 20) /* largest answer kept in memory */

struct engine;

struct engine *engine_new(const char *socket_path);
void engine_free(struct engine *en); /* takes NULL */

struct engine_call {
	const char *method; /* "GET", "POST", ... */
	const char *path;   /* "/containers/json?all=1": no version, escaped */
	const char *json;   /* request body, or NULL */
	const char *registry_auth; /* X-Registry-Auth, or NULL */
	int timeout_ms;		   /* for the whole call */
	int idle_ms; /* > 0: also give up after so long without a byte */

	/* Where set, gets the body of a 2xx answer as it arrives; -1 aborts
	 * the call with ERR_GONE_AWAY. Otherwise the body is collected. */
	int (*consume)(void *arg, const char *bytes, size_t size);
	/* Where set, asked about every 200 ms; true aborts the call likewise.
	 */
	bool (*gone)(void *arg);
	void *arg;
};

struct engine_reply {
	long status;
	struct buf body; /* release with buf_release */
};

#define ENGINE_REPLY_INIT                    \
	{                                    \
		0, BUF_INIT(ENGINE_BODY_MAX) \
	}

int engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e);

/*
 * POST that upgrades to a raw two-way stream ("Upgrade: tcp"; 101, or 200 from
 * old engines). Returns a connected descriptor, blocking and close-on-exec,
 * whose next byte is the stream's first and which the caller owns. Another
 * status: -1 with ERR_ABSENT (404), ERR_CONFLICT (409), ERR_ENGINE (others)
 * and the engine's message.
 */
int engine_hijack(struct engine *en, const char *path, const char *json,
    int timeout_ms, struct err *e);

/* The engine answers GET /_ping. */
int engine_ping(struct engine *en, int timeout_ms, struct err *e);

/*
 * Fill *e from an answer of the engine that was not what the caller wanted:
 * `{"message":...}` when there is one. Returns -1. 404 is ERR_ABSENT, 409
 * ERR_CONFLICT, everything else ERR_ENGINE.
 */
int engine_refused(
    const struct engine_reply *reply, const char *doing, struct err *e);

#endif
