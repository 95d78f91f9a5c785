/*
 * The events of a running command as the frames of CONTRACT 3. Pure: output in,
 * bytes for the client out.
 *
 * Text goes through one UTF-8 filter per stream, so that a character is never
 * split over two frames; base64 is of the exact bytes.
 */
#ifndef SBX_API_EXEC_STREAM_H
#define SBX_API_EXEC_STREAM_H

#include "api/exec_input.h"
#include "lib/buf.h"
#include "lib/jw.h"
#include "lib/utf8.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct exec_stream {
	enum exec_format format;
	bool lines; /* application/x-ndjson in place of SSE */
	struct utf8 utf8[2];
	/* Of a kept exec: each frame of output tells the offset past it, to
	 * come back to; unless a part of a character is held back there. */
	bool offsets;
	uint64_t offset; /* past all output so far, of both streams together */
};

#define EXEC_STDOUT 0
#define EXEC_STDERR 1

void exec_stream_init(
    struct exec_stream *s, enum exec_format format, bool lines);

const char *exec_stream_type(const struct exec_stream *s);

/* The first bytes of the answer, sent with its headers (FACTS B). */
void exec_stream_hello(const struct exec_stream *s, struct buf *out);
void exec_stream_keepalive(const struct exec_stream *s, struct buf *out);

void exec_stream_output(struct exec_stream *s, int which, const char *bytes,
    size_t size, struct buf *out);

/* What was held back, then a gap frame: output goes on at this offset. */
void exec_stream_gap(struct exec_stream *s, uint64_t offset, struct buf *out);

/* How a command ended, into an open object; error as below. */
void exec_stream_ending(
    struct jw *w, const struct wire_exit *x, const char *error);

/* What was held back, then the exit frame. error: NULL, or why the command
 * could not run to its end (then a `sandbox:` line on stderr comes first). */
void exec_stream_exit(struct exec_stream *s, const struct wire_exit *x,
    const char *error, struct buf *out);

#endif
