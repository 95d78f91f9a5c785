/*
 * FastCGI: turning an accepted connection into an exchange. The only file that
 * knows libfcgi. One request per connection (nginx: fastcgi_keep_conn off);
 * keepConnection is forced off before the request ends (FACTS A: smuggling).
 */
#ifndef SBX_HTTP_FCGI_H
#define SBX_HTTP_FCGI_H

#include "http/exchange.h"

struct fcgi;

/* Once per process, before threads. */
int fcgi_setup(struct err *e);

/* A thread's state. stall_sec: a write that makes no progress for so long
 * fails (CLIENT_STALL_SEC). */
struct fcgi *fcgi_new(int64_t stall_sec);
void fcgi_free(struct fcgi *f);

/*
 * Read one request from fd, which is owned from here on. Returns 0 and fills x
 * (method, target, headers; path and seg not yet), or -1 when what came was no
 * request: fd is closed then. After 0, fcgi_end must follow.
 */
int fcgi_begin(
    struct fcgi *f, int fd, struct arena *a, struct exchange *x, struct err *e);

/* Finish the reply and close. */
void fcgi_end(struct fcgi *f, struct exchange *x);

#endif
