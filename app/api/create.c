/* POST /v1/runs. */
#include "api/create.h"
#include "api/run_input.h"
#include "api/run_view.h"
#include "http/problem.h"
#include "http/sse.h"
#include "lib/clock.h"

#include <string.h>

#define FRAME_MAX (256u * 1024)
#define KEEPALIVE_MS 15000

/* A creation that its client watches as an event stream. */
struct stream {
	struct call *c;
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
	return send_frame(arg, &frame);
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
	return exchange_gone(s->c->x);
}

static bool
plain_gone(void *arg)
{
	struct call *c = arg;

	return exchange_gone(c->x);
}

/* The stream is open: what fails from here on is an `error` event. */
static int
create_streamed(struct call *c, const struct run_request *rq, struct err *e)
{
	struct stream s = {c, clock_mono_ms()};
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
	if (run_make(&c->ctx, rq, &watch, c->x->arena, &run, &failed) != 0) {
		problem_write(&w, &failed, c->ctx.config->server);
		sse_event(&frame, "error", data.data, data.size);
	} else {
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
	struct run_watch watch = {NULL, plain_gone, c};
	BUF_AUTO body = BUF_INIT(FRAME_MAX);
	struct run run;

	if (run_make(&c->ctx, rq, &watch, c->x->arena, &run, e) != 0)
		return -1;
	struct jw w = call_json(&body);
	run_view(&w, &run);
	return call_answer(c, &w, 201, e);
}

int
api_run_create(struct call *c, struct err *e)
{
	struct run_request rq;
	json_auto_t *body = NULL;

	if (call_body(c, &body, e) != 0 ||
	    run_input(body, c->x->arena, &rq, e) != 0)
		return -1;
	if (*c->x->idempotency_key != '\0')
		return err_set(e, ERR_UNSUPPORTED,
		    "Idempotency-Key is not available in this version; leave "
		    "it out.");
	if (strstr(c->x->accept, "text/event-stream") != NULL)
		return create_streamed(c, &rq, e);
	return create_plain(c, &rq, e);
}
