/* The events of a running command as frames for its client. */
#include "api/exec_stream.h"
#include "http/sse.h"
#include "lib/base64.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (WIRE_MAX * 4)
#define EXIT_MAX 4096

static const char *const stream_name[] = {"stdout", "stderr"};

void
exec_stream_init(struct exec_stream *s, enum exec_format format, bool lines)
{
	const struct utf8 fresh = UTF8_INIT;

	s->format = format;
	s->lines = lines;
	s->utf8[EXEC_STDOUT] = s->utf8[EXEC_STDERR] = fresh;
	s->offsets = false;
	s->offset = 0;
}

const char *
exec_stream_type(const struct exec_stream *s)
{
	return s->lines ? "application/x-ndjson" : "text/event-stream";
}

void
exec_stream_hello(const struct exec_stream *s, struct buf *out)
{
	if (s->lines)
		buf_adds(out, "{\"event\":\"ok\"}\n");
	else
		sse_comment(out, "ok");
}

void
exec_stream_keepalive(const struct exec_stream *s, struct buf *out)
{
	if (s->lines)
		buf_adds(out, "{\"event\":\"keep-alive\"}\n");
	else
		sse_comment(out, "keep-alive");
}

/* One frame. In lines, data is JSON text already. mark: it may tell where it
 * ends. */
static void
frame(const struct exec_stream *s, const char *name, bool mark,
    const char *data, size_t size, struct buf *out)
{
	if (s->utf8[EXEC_STDOUT].count > 0 || s->utf8[EXEC_STDERR].count > 0)
		mark = false;
	if (!s->lines) {
		if (mark)
			buf_addf(out, "id: %" PRIu64 "\n", s->offset);
		sse_event(out, name, data, size);
		return;
	}
	buf_addf(out, "{\"event\":\"%s\",", name);
	if (mark)
		buf_addf(out, "\"offset\":%" PRIu64 ",", s->offset);
	buf_adds(out, "\"data\":");
	buf_add(out, data, size);
	buf_adds(out, "}\n");
}

static void
text_frame(const struct exec_stream *s, int which, const char *text,
    size_t size, struct buf *out)
{
	BUF_AUTO quoted = BUF_INIT(TEXT_MAX * 2);
	struct jw w = JW_INIT(&quoted);

	if (size == 0)
		return;
	if (s->format != EXEC_JSON && !s->lines) {
		frame(s, stream_name[which], s->offsets, text, size, out);
		return;
	}
	jw_strn(&w, NULL, text, size);
	frame(s, stream_name[which], s->offsets, quoted.data, quoted.size, out);
}

void
exec_stream_output(struct exec_stream *s, int which, const char *bytes,
    size_t size, struct buf *out)
{
	BUF_AUTO text = BUF_INIT(TEXT_MAX);

	if (size == 0)
		return;
	if (s->format == EXEC_BASE64)
		base64_encode(bytes, size, &text);
	else
		utf8_feed(&s->utf8[which], bytes, size, &text);
	s->offset += size;
	text_frame(s, which, text.data, text.size, out);
}

void
exec_stream_ending(struct jw *w, const struct wire_exit *x, const char *error)
{
	const char *abbreviation = x->signal ? sigabbrev_np(x->signal) : NULL;
	char name[32];

	jw_int(w, "exitCode", x->code);
	jw_bool(w, "timedOut", x->timed_out);
	if (x->signal != 0 && !x->timed_out) {
		if (abbreviation != NULL)
			(void)snprintf(
			    name, sizeof(name), "SIG%s", abbreviation);
		else
			(void)snprintf(name, sizeof(name), "%d", x->signal);
		jw_str(w, "signal", name);
	}
	if (x->oom_killed)
		jw_bool(w, "oomKilled", x->oom_killed);
	if (error != NULL)
		jw_str(w, "error", error);
}

/* No more is to come of these characters. */
static void
end_text(struct exec_stream *s, struct buf *out)
{
	BUF_AUTO rest = BUF_INIT(16);

	for (int which = EXEC_STDOUT; which <= EXEC_STDERR; which++) {
		buf_reset(&rest);
		utf8_end(&s->utf8[which], &rest);
		text_frame(s, which, rest.data, rest.size, out);
	}
}

void
exec_stream_gap(struct exec_stream *s, uint64_t offset, struct buf *out)
{
	BUF_AUTO data = BUF_INIT(EXIT_MAX);
	struct jw w = JW_INIT(&data);

	end_text(s, out);
	jw_open(&w, '{');
	jw_int(&w, "offset", (int64_t)offset);
	jw_int(&w, "dropped", (int64_t)(offset - s->offset));
	jw_close(&w, '}');
	s->offset = offset;
	frame(s, "gap", s->offsets, data.data, data.size, out);
}

void
exec_stream_exit(struct exec_stream *s, const struct wire_exit *x,
    const char *error, struct buf *out)
{
	BUF_AUTO data = BUF_INIT(EXIT_MAX);
	BUF_AUTO line = BUF_INIT(EXIT_MAX);
	struct jw w = JW_INIT(&data);

	s->offsets = false; /* none of this is the command's output */
	end_text(s, out);
	if (error != NULL) {
		buf_addf(&line, "sandbox: %s\n", error);
		exec_stream_output(s, EXEC_STDERR, line.data, line.size, out);
	}
	jw_open(&w, '{');
	exec_stream_ending(&w, x, error);
	jw_close(&w, '}');
	frame(s, "exit", false, data.data, data.size, out);
}
