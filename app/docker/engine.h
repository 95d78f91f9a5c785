/*
 * The Docker Engine API over its unix socket: one call at a time per engine.
 *
 * A thread owns its engine. The API version
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
#include <stdint.h>

#define ENGINE_BODY_MAX (32u << 20)   /* largest answer kept in memory */
#define ENGINE_FIELD_MAX (100u << 10) /* libcurl takes no longer one */

struct engine;

/* Once per process, before its first thread. Nothing to undo. */
int engine_setup(struct err *e);

struct engine *engine_new(const char *socket_path);
void engine_free(struct engine *en); /* takes NULL */

struct engine_call {
	const char *method; /* "GET", "HEAD", "POST", "DELETE" */
	const char *path;   /* "/containers/json?all=1": no version, escaped */
	const char *json;   /* request body, or NULL */
	/* Or where set, and of a POST, gives the body piece by piece: how many
	 * bytes it put there, 0 at the end, -1 to abort with ERR_GONE_AWAY. */
	int64_t (*feed)(void *arg, char *to, size_t size);
	const char *registry_auth; /* X-Registry-Auth, or NULL */
	const char *field; /* of the answer's head, wanted as reply.field */
	int timeout_ms;	   /* for the whole call; at least 1 */
	int idle_ms; /* > 0: also give up after so long without a body byte */

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
	struct buf body;
	struct buf field; /* the value, or "" */
};

#define ENGINE_REPLY_INIT                                                \
	{                                                                \
		0, BUF_INIT(ENGINE_BODY_MAX), BUF_INIT(ENGINE_FIELD_MAX) \
	}

#define ENGINE_REPLY_AUTO \
	__attribute__((cleanup(engine_reply_release))) struct engine_reply

void engine_reply_release(struct engine_reply *reply);

/* On failure ret_reply holds nothing of use; it is released all the same. */
int engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e);

/*
 * A GET whose body is taken piece by piece, at the taker's pace: little is
 * received ahead, so that memory stays flat. On a connection of its own: other
 * calls may be made meanwhile. The call's deadline is for all of it; its
 * idle_ms and gone count while a piece is waited for; it has no consume.
 *
 * Open returns once the status is there, which the caller looks at; NULL as
 * engine_do fails. A 2xx body is then taken: 1 and a piece that is valid until
 * the next call, 0 at its end. Free at any time: it closes the connection.
 */
struct engine_stream;
struct engine_stream *engine_stream_open(
    struct engine *en, const struct engine_call *call, struct err *e);
const struct engine_reply *engine_stream_reply(const struct engine_stream *s);
int engine_stream_next(struct engine_stream *s, const char **ret_bytes,
    size_t *ret_size, struct err *e);
void engine_stream_free(struct engine_stream *s); /* takes NULL */

/* Append text, percent-encoded for a segment of a path or a query's value. */
void engine_escape(struct buf *path, const char *text);

/* The API version in use ("1.41"), asked for where it is not known yet; valid
 * until the next call of this engine. NULL on failure. */
const char *engine_version(struct engine *en, int timeout_ms, struct err *e);

const char *engine_socket(const struct engine *en); /* its path */

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
