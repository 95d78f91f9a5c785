/*
 * What stands behind nginx in its tests: a FastCGI application that tells what
 * it was asked, on one socket, as processes of its own (one per connection).
 *
 * It is naive where libfcgi is (FACTS A): where nginx keeps the connection, a
 * body that was left unread is taken for the next request, from the end of an
 * 8 KiB read on. The request header X-Act says what it does:
 *
 *	(none)   read the body, answer 200 with "NAME=value" lines
 *	ignore   the same without reading the body
 *	stream   answer ": ok" and then an event per ticket, until one says 0
 *	hang     answer nothing until nginx is gone
 *	large    answer 64 MiB of zeros
 *
 * Every request is a line "<pool> <method> <target>" in the log, "first <n>"
 * when n bytes of body came with the first read, "gone" when a peer that was
 * hung or streamed to has closed.
 */
#ifndef SBX_TESTS_MODULE_RESPONDER_H
#define SBX_TESTS_MODULE_RESPONDER_H

#include <sys/types.h>

#define RESPONDER_LARGE (64u << 20)

struct responder {
	const char *socket; /* where it listens, anyone may connect */
	const char *pool;   /* its name in answers and in the log */
	const char *log;    /* path */
	int tickets;	    /* a SOCK_DGRAM end; a one-byte datagram is one */
};

/* Returns its process; SIGKILL ends it and it dies with this process. */
pid_t responder_start(const struct responder *r);

#endif
