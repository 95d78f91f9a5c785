/*
 * Server-sent event frames (WHATWG HTML 9.2), as the wire contract fixes them.
 * Pure: appends to a buffer.
 */
#ifndef SBX_HTTP_SSE_H
#define SBX_HTTP_SSE_H

#include "lib/buf.h"

#include <stddef.h>

/*
 * event: <name>, then one data: line per LF-separated piece of data, then an
 * empty line. A client that joins the data lines with LF gets data back, CR
 * included (it reaches the pinned client as written; CONTRACT 3).
 */
void sse_event(
    struct buf *out, const char *name, const char *data, size_t size);

/* ": <text>" and an empty line. */
void sse_comment(struct buf *out, const char *text);

#endif
