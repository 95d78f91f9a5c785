/* The Docker Engine API, on one kept connection. */
#include "docker/engine.h"
#include "docker/transfer.h"
#include "lib/clock.h"
#include "lib/mem.h"
#include "lib/str.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_MINOR 47  /* 1.47: the newest API this was written for */
#define TRUST_MS 1000 /* after so much silence it is pinged first */
#define PING_MS 2000
#define URL_MAX (16u * 1024)

struct engine {
	char *socket_path;
	struct transfer *transfer;
	char version[24]; /* "" until negotiated */
	int64_t heard_at; /* its last answer */
};

struct engine *
engine_new(const char *socket_path)
{
	struct engine *en = mem_zalloc(sizeof(*en));

	en->socket_path = mem_strdup(socket_path);
	en->transfer = transfer_new(socket_path);
	return en;
}

void
engine_free(struct engine *en)
{
	if (en == NULL)
		return;
	transfer_free(en->transfer);
	free(en->socket_path);
	free(en);
}

const char *
engine_socket(const struct engine *en)
{
	return en->socket_path;
}

void
engine_escape(struct buf *path, const char *text)
{
	for (; *text != '\0'; text++) {
		/* RFC 3986 2.3: unreserved. */
		if ((*text >= 'a' && *text <= 'z') ||
		    (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') ||
		    strchr("-._~", *text) != NULL)
			buf_addc(path, *text);
		else
			buf_addf(path, "%%%02X", (unsigned char)*text);
	}
}

void
engine_reply_release(struct engine_reply *reply)
{
	buf_release(&reply->body);
	buf_release(&reply->field);
}

/* Returns rc, of an exchange that was just made. */
static int
heard(struct engine *en, int rc, const struct err *e)
{
	if (rc == 0)
		en->heard_at = clock_mono_ms();
	/* What comes back may be another engine, of another version. */
	else if (e->kind == ERR_ENGINE_AWAY)
		en->version[0] = '\0';
	return rc;
}

static int
exchange(struct engine *en, const char *url, const struct engine_call *call,
    struct engine_reply *reply, struct err *e)
{
	int rc = transfer_run(en->transfer, url, call, reply, e);

	return heard(en, rc, e);
}

/* -- the API's version ---------------------------------------------------- */

/* "1.41" -> 41; the major number has been 1 for as long as there was one. */
static int
minor_version(const json_t *answer, const char *key)
{
	const char *text = json_string_value(json_object_get(answer, key));
	int64_t minor = 0;

	if (text == NULL || !str_starts(text, "1.") ||
	    str_to_int(text + 2, 0, 9999, &minor) != 0)
		return -1;
	return (int)minor;
}

const char *
engine_version(struct engine *en, int timeout_ms, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "GET", .timeout_ms = timeout_ms};

	if (en->version[0] != '\0')
		return en->version;
	if (exchange(en, "http://docker/version", &call, &reply, e) != 0)
		return NULL;
	if (reply.status != 200) {
		(void)engine_refused(&reply, "cannot ask Docker's version", e);
		return NULL;
	}
	json_auto_t *answer =
	    json_loadb(reply.body.data, reply.body.size, 0, NULL);
	int newest = minor_version(answer, "ApiVersion");
	int oldest = minor_version(answer, "MinAPIVersion");
	if (newest < 0) {
		(void)err_set(e, ERR_ENGINE,
		    "Docker's answer to /version names no API version");
		return NULL;
	}
	newest = newest < API_MINOR ? newest : API_MINOR;
	(void)snprintf(en->version, sizeof(en->version), "1.%d",
	    newest > oldest ? newest : oldest);
	return en->version;
}

/* -- calls ---------------------------------------------------------------- */

/* The engine was replaced behind our back: nothing was done yet. The answer to
 * a HEAD does not say so: it is asked once more. */
static bool
other_version_wanted(
    const struct engine_call *call, const struct engine_reply *reply)
{
	return reply->status == 400 && call->feed == NULL &&
	       (str_eq(call->method, "HEAD") ||
		   strstr(reply->body.data, "client version") != NULL);
}

/* Calls may take long, so their deadlines are far; an engine that hangs is not
 * to be waited for until then. A new one is asked its version first anyway. */
static int
check_alive(struct engine *en, int timeout_ms, struct err *e)
{
	int most_ms = timeout_ms < PING_MS ? timeout_ms : PING_MS;

	if (clock_mono_ms() - en->heard_at < TRUST_MS)
		return 0;
	if (en->version[0] == '\0' ? engine_version(en, most_ms, e) != NULL
				   : engine_ping(en, most_ms, e) == 0)
		return 0;
	if (e->kind == ERR_ENGINE_TIMEOUT && most_ms == PING_MS)
		e->kind = ERR_ENGINE_AWAY;
	return -1;
}

/* Make a call by one of transfer's two ways. */
static int
call_by(int (*way)(struct transfer *t, const char *url,
	    const struct engine_call *call, struct engine_reply *ret_reply,
	    struct err *e),
    struct engine *en, struct transfer *t, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e)
{
	int64_t deadline = clock_mono_ms() + call->timeout_ms;
	struct engine_call timed = *call;
	BUF_AUTO url = BUF_INIT(URL_MAX);

	if (check_alive(en, call->timeout_ms, e) != 0)
		return -1;
	for (int tries = 0; tries < 2; tries++) {
		const char *version =
		    engine_version(en, clock_left(deadline), e);

		if (version == NULL)
			return -1;
		buf_reset(&url);
		buf_addf(&url, "http://docker/v%s%s", version, call->path);
		if (url.over)
			return err_set(e, ERR_ENGINE,
			    "a path for Docker is longer than %u bytes",
			    URL_MAX);
		timed.timeout_ms = clock_left(deadline);
		if (heard(en, way(t, url.data, &timed, ret_reply, e), e) != 0)
			return -1;
		if (!other_version_wanted(call, ret_reply))
			break;
		en->version[0] = '\0';
	}
	return 0;
}

int
engine_do(struct engine *en, const struct engine_call *call,
    struct engine_reply *ret_reply, struct err *e)
{
	return call_by(transfer_run, en, en->transfer, call, ret_reply, e);
}

int
engine_ping(struct engine *en, int timeout_ms, struct err *e)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = {
	    .method = "GET", .timeout_ms = timeout_ms};

	if (exchange(en, "http://docker/_ping", &call, &reply, e) != 0)
		return -1;
	if (reply.status != 200)
		return engine_refused(&reply, "Docker is not well", e);
	return 0;
}

/* -- streams -------------------------------------------------------------- */

struct engine_stream {
	struct transfer *transfer;
	struct engine_reply reply;
};

struct engine_stream *
engine_stream_open(
    struct engine *en, const struct engine_call *call, struct err *e)
{
	struct engine_stream *s = mem_zalloc(sizeof(*s));

	s->transfer = transfer_new(en->socket_path);
	s->reply = (struct engine_reply)ENGINE_REPLY_INIT;
	if (call_by(transfer_begin, en, s->transfer, call, &s->reply, e) == 0)
		return s;
	engine_stream_free(s);
	return NULL;
}

const struct engine_reply *
engine_stream_reply(const struct engine_stream *s)
{
	return &s->reply;
}

int
engine_stream_next(struct engine_stream *s, const char **ret_bytes,
    size_t *ret_size, struct err *e)
{
	return transfer_next(s->transfer, ret_bytes, ret_size, e);
}

void
engine_stream_free(struct engine_stream *s)
{
	if (s == NULL)
		return;
	transfer_free(s->transfer);
	engine_reply_release(&s->reply);
	free(s);
}

/* -- refusals ------------------------------------------------------------- */

int
engine_refused(
    const struct engine_reply *reply, const char *doing, struct err *e)
{
	json_auto_t *answer =
	    json_loadb(reply->body.data, reply->body.size, 0, NULL);
	const char *message =
	    json_string_value(json_object_get(answer, "message"));
	enum err_kind kind = reply->status == 404   ? ERR_ABSENT
			     : reply->status == 409 ? ERR_CONFLICT
						    : ERR_ENGINE;

	if (message == NULL || message[0] == '\0')
		return err_set(
		    e, kind, "%s: Docker answered %ld", doing, reply->status);
	return err_set(e, kind, "%s: %s", doing, message);
}
