/*
 * Errors as RFC 9457 problem documents. problem.def is the table from an
 * err_kind to a status, a type suffix, a title and a code, and says whether the
 * error's own text may be shown or a fixed sentence stands in for it.
 */
#ifndef SBX_HTTP_PROBLEM_H
#define SBX_HTTP_PROBLEM_H

#include "http/exchange.h"
#include "lib/jw.h"

int problem_status(enum err_kind kind);

/* The title of an error status, which is also its reason phrase. */
const char *problem_title(int status);

/* The members of the document, as one object. */
void problem_write(struct jw *w, const struct err *problem, const char *server);

/* The whole reply, with WWW-Authenticate or Retry-After where due (Allow is the
 * caller's to add: exchange_header). */
int problem_reply(struct exchange *x, const struct err *problem,
    const char *server, struct err *e);

#endif
