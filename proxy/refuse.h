/*
 * What a run is told instead of an answer: a text for whoever reads the log of
 * a build, that says what would help.
 */
#ifndef SBX_PROXY_REFUSE_H
#define SBX_PROXY_REFUSE_H

#include "lib/allow.h"
#include "lib/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* A whole answer, with "Connection: close"; with_body: not to HEAD. */
void refuse_put(struct buf *out, int status, bool with_body, const char *text);

/* The sentences of a host that is not admitted (403). */
void refuse_host(struct buf *text, const struct allow_host *h, uint16_t port);
/* An address and its kind, in words: "10.0.0.1, a private address". */
void refuse_reason(
    struct buf *reason, const struct address *a, const char *kind);
/* Of a host whose addresses are not (403): one of them, and its kind. */
void refuse_address(struct buf *text, const struct allow_host *h, uint16_t port,
    const struct address *a, const char *kind);

#endif
