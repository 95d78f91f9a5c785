/*
 * What carries an exchange: a FastCGI connection and libfcgi's view of it.
 * Private to fcgi.c and fcgi_reply.c, the only files that know libfcgi, and
 * fcgi_body.c.
 *
 * libfcgi reads the head of a request and writes the reply's records and end.
 * It does not read the body: it would take 8 KiB at a time into a buffer that
 * cannot be waited for, and could not be asked what it holds.
 */
#ifndef SBX_HTTP_FCGI_CARRIER_H
#define SBX_HTTP_FCGI_CARRIER_H

#include "http/link.h"

#include <fcgiapp.h>

/* libfcgi's buffer has 8 KiB, a record's head and padding in it: what is kept
 * below that goes out as one record, together with the reply's end. */
#define FCGI_HELD_MAX 8000u

struct fcgi {
	struct link link;
	int watch;   /* epoll: the connection's end, and cut_fd */
	int head_fd; /* a file in memory: the head, for libfcgi to read */
	FCGX_Request request;
	struct buf held; /* what of the reply has not been sent yet */
	bool sent;	 /* some of it has been */
	bool has_body;
};

#endif
