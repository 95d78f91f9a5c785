/*
 * FastCGI: turning an accepted connection into an exchange, by libfcgi.
 *
 * One request per connection, whatever the peer asks for: nginx is told
 * fastcgi_keep_conn off, and the connection is closed here after the reply
 * (FACTS A: on a kept connection an unread body is parsed as new requests).
 *
 * The library must carry the fix of CVE-2025-23016 (2.4.7, Debian
 * 2.4.2-2+deb12u1); it does not tell its version. Even then a peer that lies
 * about a parameter's length could end the process (FACTS A): it does not come
 * to see such a request (http/record.h).
 */
#ifndef SBX_HTTP_FCGI_H
#define SBX_HTTP_FCGI_H

#include "http/exchange.h"

#define FCGI_HEAD_SEC 2 /* a connection that sends nothing lives so long */

struct fcgi;

/* Once per process, before threads. Leaves signal handlers as they are. */
int fcgi_setup(struct err *e);

/* A thread's state. stall_sec: a read or write that makes no progress for so
 * long fails. cut_fd: when it becomes readable, every client counts as gone;
 * it is not owned. NULL with *e filled where descriptors run out. */
struct fcgi *fcgi_new(int64_t stall_sec, int cut_fd, struct err *e);
void fcgi_free(struct fcgi *f); /* takes NULL */

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
