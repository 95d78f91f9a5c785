/* The decisions of a run's proxy, as events. */
#include "api/egress.h"
#include "http/problem.h"
#include "http/sse.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/egress.h"
#include "json/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_MS 15000
#define FLUSH_AT (64u * 1024) /* no more is gathered before it is sent */
#define OUT_MAX (FLUSH_AT * 4)

struct sink {
	struct exchange *x;
	const char *server;
	bool lines;   /* JSON lines, not SSE */
	int64_t next; /* position behind what was sent */
	struct buf out;
	int64_t sent; /* monotonic ms of the last bytes to the client */
};

static int
send_out(struct sink *s)
{
	struct err gone = ERR_INIT;

	s->sent = clock_mono_ms();
	if (exchange_write(s->x, s->out.data, s->out.size, &gone) != 0)
		return -1;
	buf_reset(&s->out);
	return exchange_flush(s->x, &gone);
}

/* data is JSON. n is its position, 0: none. */
static void
add(struct sink *s, const char *name, int64_t n, const char *data)
{
	if (s->lines) {
		buf_addf(
		    &s->out, "{\"event\":\"%s\",\"data\":%s}\n", name, data);
		return;
	}
	if (n > 0)
		buf_addf(&s->out, "id: %" PRId64 "\n", n);
	sse_event(&s->out, name, data, strlen(data));
}

static void
add_word(struct sink *s, const char *word)
{
	if (s->lines)
		buf_addf(&s->out, "{\"event\":\"%s\"}\n", word);
	else
		sse_comment(&s->out, word);
}

static void
add_object(struct sink *s, const char *name, int64_t n, const json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);

	if (text != NULL)
		add(s, name, n, text);
	free(text);
}

/* What the proxy says, as what it means: it faces what is hostile. */
static void
add_line(struct sink *s, const char *line, size_t size)
{
	struct err ignored = ERR_INIT;
	int64_t n = 0;

	json_auto_t *o = read_object(line, size, &ignored);
	if (o == NULL ||
	    read_int(o, "n", 1, INT64_MAX - 1, 0, &n, &ignored) != 0)
		return;
	if (n == 0) { /* {"lost":COUNT} */
		add_object(s, "gap", 0, o);
		return;
	}
	add_object(s, "decision", n, o);
	s->next = n + 1;
}

static void
add_end(struct sink *s)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "{\"next\":%" PRId64 "}", s->next);
	add(s, "end", 0, text);
}

static void
add_refusal(struct sink *s)
{
	BUF_AUTO text = BUF_INIT(4096);
	struct jw w = JW_INIT(&text);
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_BUSY,
	    "So many follow this run's log already that there is no room for "
	    "one more.");
	problem_write(&w, &e, s->server);
	add(s, "error", 0, text.data);
}

/* Until the log ends, or the client leaves. What is there already goes out in
 * pieces, what comes later line by line. */
static void
relay(struct sink *s, struct egress_log *log)
{
	enum egress_log_event got;
	const char *line;
	size_t size;

	do {
		int wait = clock_left(s->sent + KEEPALIVE_MS);

		got = egress_log_next(log, s->x->client_fd,
		    s->out.size > 0 ? 0 : wait, &line, &size);
		if (got == EGRESS_LOG_LINE) {
			add_line(s, line, size);
			if (s->out.size < FLUSH_AT)
				continue;
		}
		if (got == EGRESS_LOG_NONE && exchange_gone(s->x))
			return;
		if (got == EGRESS_LOG_NONE && wait == 0 && s->out.size == 0)
			add_word(s, "keep-alive");
		if (got == EGRESS_LOG_END)
			add_end(s);
		if (got == EGRESS_LOG_REFUSED)
			add_refusal(s);
		if (s->out.size > 0 && send_out(s) != 0)
			return;
	} while (got != EGRESS_LOG_END && got != EGRESS_LOG_REFUSED);
}

static int
begin(struct sink *s, struct err *e)
{
	if (exchange_stream(s->x,
		s->lines ? "application/x-ndjson" : "text/event-stream",
		e) != 0)
		return -1;
	add_word(s, "ok");
	(void)send_out(s);
	return 0;
}

static int
read_query(struct call *c, int64_t *ret_from, bool *ret_follow, struct err *e)
{
	const char *from;

	*ret_from = 0;
	*ret_follow = true;
	if (call_query(c, "from", &from, e) != 0 ||
	    call_flag(c, "follow", ret_follow, e) != 0)
		return -1;
	if (from != NULL && str_to_int(from, 0, INT64_MAX, ret_from) != 0)
		return err_set(e, ERR_INPUT,
		    "from must be the n of a decision, 0 for the oldest.");
	return 0;
}

int
api_egress_log(struct call *c, struct err *e)
{
	struct sink s = {.x = c->x,
	    .server = c->ctx.config->server,
	    .out = BUF_INIT(OUT_MAX)};
	struct run run;
	bool follow;

	if (egress_run(c, &run, e) != 0 ||
	    read_query(c, &s.next, &follow, e) != 0)
		return -1;
	struct egress_log *log =
	    egress_log_open(&c->ctx, &run, (uint64_t)s.next, follow, e);
	if (log == NULL)
		return -1;
	s.lines = strstr(c->x->accept, "application/x-ndjson") != NULL;
	int rc = begin(&s, e);
	if (rc == 0 && !c->x->head)
		relay(&s, log);
	egress_log_free(log);
	buf_release(&s.out);
	return rc;
}
