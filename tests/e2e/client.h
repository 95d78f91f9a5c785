/*
 * The API's client in tests: whole replies, event streams, raw bytes.
 *
 * Everything goes to the stack that stack.h started, with its token unless an
 * Authorization header is given. A connection that fails is a reply of status
 * 0, so that tests of a dying stack can look at it; nothing here fails a test.
 */
#ifndef SBX_E2E_CLIENT_H
#define SBX_E2E_CLIENT_H

#include "lib/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply {
	long status;	    /* 0: no answer came */
	struct buf headers; /* the header lines as they came */
	struct buf body;
	json_t *json; /* the body, where it is JSON */
	int64_t took_ms;
};

#define REPLY_AUTO __attribute__((cleanup(reply_release))) struct reply

void reply_release(struct reply *r);

/*
 * One call. path is sent as it is, nothing normalised. body may be NULL. Then
 * header lines, ended by NULL: "Accept: text/event-stream"; "Authorization:"
 * sends none.
 */
struct reply http_do(
    const char *method, const char *path, const char *body, ...);

/* The same with a JSON body, which is released. */
struct reply http_json(const char *method, const char *path, json_t *body);

/* The value of a reply header, in a static buffer; NULL where absent. */
const char *http_header(const struct buf *headers, const char *name);

/* A TCP connection to the stack, or -1. */
int client_connect(void);

/* Send these bytes on a connection of their own and read until the server
 * closes it or 5 s pass. The caller releases the result. */
struct buf http_raw(const char *bytes, size_t size);

/* An event of a stream, SSE or JSON lines. A comment is an event named ":". */
struct event {
	char *name; /* "stdout", "exit", ":", ... */
	char *data; /* data lines joined with LF; NUL-terminated */
	size_t size;
	int64_t offset; /* its id, or offset in JSON lines; -1: none */
	int64_t at_us;	/* clock_mono_us when its end was read */
};

struct stream;

/* POST with that body; returns once the headers came (or no answer did). Then
 * header lines, ended by NULL. Bytes are read only while a call below waits:
 * a test that does not call is a client that does not read. */
struct stream *stream_open(const char *path, const char *body, ...);

/* The same with GET. */
struct stream *stream_get(const char *path, ...);

long stream_status(const struct stream *s);
const struct buf *stream_headers(const struct stream *s);
const struct buf *stream_body(const struct stream *s); /* all that was read */

/* The next event, or NULL: timeout_ms passed, or the stream has ended. The
 * event is valid until the next call, its texts until the stream is closed. */
const struct event *stream_next(struct stream *s, int timeout_ms);

/* The next event of that name, others skipped. */
const struct event *stream_await(
    struct stream *s, const char *name, int timeout_ms);

/* No more is to come: the server ended it, or the connection broke. */
bool stream_ended(struct stream *s);

/* Bytes read so far; does not read. */
size_t stream_size(const struct stream *s);

/* Leave, in the middle of it or not. Takes NULL. */
void stream_close(struct stream *s);

#endif
