/*
 * Speaking to a run's proxy over its control socket (proxy/control.h). Of
 * run/egress.c alone.
 */
#ifndef SBX_RUN_EGRESS_TALK_H
#define SBX_RUN_EGRESS_TALK_H

#include "config.h"
#include "lib/buf.h"
#include "lib/err.h"

/* A connection on which the request line was written. ERR_PROXY. */
int egress_ask(const struct config *config, const char *id, const char *line,
    struct err *e);

/* The whole answer to a request, with text behind its line ("" for none).
 * ERR_PROXY, also where it says so itself. */
int egress_talk(const struct config *config, const char *id, const char *line,
    const struct buf *text, struct buf *answer, struct err *e);

#endif
