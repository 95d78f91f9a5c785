/* POST /v1/runs. */
#include "api/create.h"
#include "api/run_input.h"
#include "api/run_view.h"
#include "api/warm.h"
#include "http/problem.h"
#include "http/sse.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/secret.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX (256u * 1024)
#define KEEPALIVE_MS 15000
#define KEY_MAX 128
#define ASK_MS 50    /* between two looks at another's creation */
#define FREE_TRIES 4 /* within a second where Redis refuses at once */

/* A creation that its client watches as an event stream. */
struct stream {
	struct call *c;
	bool finish;	 /* whether or not the client stays */
	int64_t written; /* monotonic ms of the last byte */
};

static int
send_frame(struct stream *s, const struct buf *frame)
{
	struct err ignored = ERR_INIT;

	s->written = clock_mono_ms();
	if (exchange_write(s->c->x, frame->data, frame->size, &ignored) != 0)
		return -1;
	return exchange_flush(s->c->x, &ignored);
}

static int
stream_progress(void *arg, const char *phase, int64_t current, int64_t total)
{
	struct stream *s = arg;
	BUF_AUTO data = BUF_INIT(FRAME_MAX);
	BUF_AUTO frame = BUF_INIT(FRAME_MAX);
	struct jw w = JW_INIT(&data);

	jw_open(&w, '{');
	jw_str(&w, "phase", phase);
	if (total > 0) {
		jw_int(&w, "current", current);
		jw_int(&w, "total", total);
	}
	jw_close(&w, '}');
	sse_event(&frame, "progress", data.data, data.size);
	return send_frame(s, &frame) != 0 && !s->finish ? -1 : 0;
}

static bool
stream_gone(void *arg)
{
	struct stream *s = arg;
	BUF_AUTO frame = BUF_INIT(FRAME_MAX);

	if (clock_mono_ms() - s->written > KEEPALIVE_MS) {
		sse_comment(&frame, "keep-alive");
		(void)send_frame(s, &frame);
	}
	return !s->finish && exchange_gone(s->c->x);
}

static bool
plain_gone(void *arg)
{
	struct call *c = arg;

	return exchange_gone(c->x);
}

/* A run that an earlier request with this key made. */
static int
find_made(struct call *c, const char *id, struct run *ret_run, struct err *e)
{
	struct err absent = ERR_INIT;

	if (run_get(c->ctx.redis, id, false, c->x->arena, ret_run, &absent) ==
		0 &&
	    !str_eq(ret_run->state, "destroying"))
		return 0;
	if (absent.kind != ERR_NONE && absent.kind != ERR_RUN_ABSENT) {
		*e = absent;
		return -1;
	}
	return err_set(e, ERR_GONE,
	    "Run %s, which this Idempotency-Key made, is gone; use a new key.",
	    id);
}

static int
make_with_key(struct call *c, const struct run_request *rq,
    const struct run_watch *watch, struct run *ret_run, struct err *e)
{
	struct err ignored = ERR_INIT;

	if (run_make(&c->ctx, rq, watch, c->x->arena, ret_run, e) == 0)
		return 0;
	/* A key that stays taken has its caller's next try wait for 15 s. */
	for (int try = 0; try < FREE_TRIES; try++) {
		redis_settle(c->ctx.redis);
		if (idem_free(c->ctx.redis, rq->idem, &ignored) == 0)
			break;
	}
	return -1;
}

/* Make the run (returns 1), or find the one of this key (0). */
static int
make_or_find(struct call *c, const struct run_request *rq,
    const struct run_watch *watch, struct run *ret_run, struct err *e)
{
	struct pollfd client = {c->x->client_fd, POLLIN, 0};
	enum idem_state state = IDEM_MINE;
	char id[ULID_SIZE];

	if (rq->idem == NULL)
		return run_make(&c->ctx, rq, watch, c->x->arena, ret_run, e) ==
			       0
			   ? 1
			   : -1;
	for (;;) {
		if (idem_begin(c->ctx.redis, rq->idem, &state, id, e) != 0)
			return -1;
		if (state == IDEM_MINE)
			return make_with_key(c, rq, watch, ret_run, e) == 0
				   ? 1
				   : -1;
		if (state == IDEM_RUN)
			return find_made(c, id, ret_run, e);
		if (state == IDEM_OTHER)
			return err_set(e, ERR_CONFLICT,
			    "This Idempotency-Key was used with another body; "
			    "use a new key for a new request.");
		if (poll(&client, 1, ASK_MS) > 0)
			return err_set(e, ERR_GONE_AWAY, "the client left");
	}
}

/* The stream is open: what fails from here on is an `error` event. */
static int
create_streamed(struct call *c, const struct run_request *rq, struct err *e)
{
	struct stream s = {c, rq->idem != NULL, clock_mono_ms()};
	struct run_watch watch = {stream_progress, stream_gone, &s};
	BUF_AUTO data = BUF_INIT(FRAME_MAX);
	BUF_AUTO frame = BUF_INIT(FRAME_MAX);
	struct err failed = ERR_INIT;
	struct jw w = JW_INIT(&data);
	struct run run;

	if (exchange_stream(c->x, "text/event-stream", e) != 0)
		return -1;
	sse_comment(&frame, "ok");
	(void)send_frame(&s, &frame);
	buf_reset(&frame);
	if (make_or_find(c, rq, &watch, &run, &failed) < 0) {
		problem_write(&w, &failed, c->ctx.config->server);
		sse_event(&frame, "error", data.data, data.size);
	} else {
		c->x->run = arena_strdup(c->x->arena, run.id);
		w = call_json(&data);
		run_view(&w, &run);
		jw_str(&w, "server", c->ctx.config->server);
		jw_close(&w, '}');
		sse_event(&frame, "run", data.data, data.size);
	}
	(void)send_frame(&s, &frame);
	return 0;
}

static int
create_plain(struct call *c, const struct run_request *rq, struct err *e)
{
	struct run_watch watch = {
	    NULL, rq->idem != NULL ? NULL : plain_gone, c};
	BUF_AUTO body = BUF_INIT(FRAME_MAX);
	struct run run;

	int made = make_or_find(c, rq, &watch, &run, e);
	if (made < 0)
		return -1;
	c->x->run = arena_strdup(c->x->arena, run.id);
	struct jw w = call_json(&body);
	run_view(&w, &run);
	return call_answer(c, &w, made ? 201 : 200, e);
}

/* The header's key, and the hash that tells this body from others: of the
 * body's canonical form, so that spacing and order do not matter. */
static int
read_key(struct call *c, const json_t *body, struct idem *to,
    char digest[DIGEST_HEX_SIZE], struct err *e)
{
	unsigned char secret[DIGEST_KEY_SIZE];
	const char *key = c->x->idempotency_key;
	size_t size = strlen(key);

	for (size_t i = 0; i < size; i++)
		if (key[i] < ' ' || key[i] > '~')
			size = KEY_MAX + 1;
	if (size > KEY_MAX)
		return err_set(e, ERR_INPUT,
		    "Idempotency-Key must be 1 to %d printable ASCII "
		    "characters.",
		    KEY_MAX);
	if (secret_read(c->ctx.config, secret, e) != 0)
		return -1;
	char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
	if (text == NULL)
		return err_set(e, ERR_INTERNAL, "cannot write a body again");
	digest_keyed(secret, text, strlen(text), digest);
	free(text);
	to->key = key;
	to->digest = digest;
	return ulid_new(to->token, e);
}

int
api_run_create(struct call *c, struct err *e)
{
	struct run_request rq;
	struct idem idem;
	char digest[DIGEST_HEX_SIZE];
	json_auto_t *body = NULL;

	if (call_body(c, &body, e) != 0 ||
	    run_input(body, c->x->arena, &rq, e) != 0 ||
	    (*rq.warm_repo != '\0' && warm_possible(c->ctx.config, e) != 0))
		return -1;
	if (*c->x->idempotency_key != '\0') {
		if (read_key(c, body, &idem, digest, e) != 0)
			return -1;
		rq.idem = &idem;
	}
	if (strstr(c->x->accept, "text/event-stream") != NULL)
		return create_streamed(c, &rq, e);
	return create_plain(c, &rq, e);
}
