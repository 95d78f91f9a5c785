/*
 * The built sbx-proxy on loopback, with an origin and a name server that are
 * the test itself: it accepts, hears and says what it likes, step by step.
 *
 * Names of the hosts file: origin.test and other.test lead to the origin,
 * refused.test to a closed port's address, all on 127.0.0.1. Every other name
 * is asked of the test's name server. With "--resolv", "resolv.second" one that
 * refuses queries is asked before it; with "resolv.closed" there is only that.
 */
#ifndef SBX_TESTS_MODULE_PROXY_FIXTURE_H
#define SBX_TESTS_MODULE_PROXY_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROXY_TEXT 8192

struct proxy_fixture {
	char dir[64];
	pid_t pid;
	int port;		 /* the proxy's */
	int origin, origin_port; /* listening */
	int refused_port;	 /* nobody listens there */
	int names, names_stream; /* the name server's sockets */
	int closed;		 /* another's, that refuses queries */
	int ttl;		 /* of its answers, in seconds; 0 at first */
	bool cut;		 /* it was killed; it need not end well */
};

/* Start one. policy: its text, in which "$O" is the origin's port, "$R" the
 * refused one, "$P" the proxy's own; NULL admits origin.test and other.test
 * there. more: up to a NULL, further options, with paths relative to its
 * directory. */
void proxy_start(
    struct proxy_fixture *f, const char *policy, const char *const *more);
/* End it, which must go well. */
void proxy_stop(struct proxy_fixture *f);

/* A path of the fixture's directory, in a static buffer. */
const char *proxy_path(const struct proxy_fixture *f, const char *name);

/* A new text for a file of it. */
void proxy_put(
    const struct proxy_fixture *f, const char *name, const char *text);

/* How many descriptors it has open; -1 where that cannot be seen. */
int proxy_descriptors(const struct proxy_fixture *f);

/* A connection to the proxy; the next one that the origin gets. */
int proxy_call(const struct proxy_fixture *f);
int proxy_answer(const struct proxy_fixture *f);
/* The origin has got none. */
void proxy_is_quiet(const struct proxy_fixture *f);

/* A listener that takes no more connections, on all of loopback: what is sent
 * there is dropped. */
int proxy_black_hole(int *ret_port);

/* A connection to the origin, that a CONNECT for that "HOST:PORT" made; the
 * other end is *ret_origin. "$O" is replaced. */
int proxy_tunnel(
    const struct proxy_fixture *f, const char *host, int *ret_origin);

/* Fails the test where that does not come. */
void proxy_must_be_readable(int fd, const char *what);
/* Send all of a text; "$O" is replaced. */
void proxy_say(const struct proxy_fixture *f, int fd, const char *text);
void proxy_send(int fd, const void *bytes, size_t size);

/* Up to the empty line of a head; in a static buffer each of the last two. */
const char *proxy_head(int fd);
/* Exactly so many bytes are heard, and are these. */
void proxy_hear(int fd, const char *text);
/* Everything up to the end, in a static buffer; the end must be in order. */
const char *proxy_rest(int fd);
/* The connection ends here, in order or not. */
void proxy_hear_end(int fd);

/* The name server gets the two queries for that name and answers with these
 * addresses, blanks between them; "": there is none, NULL: no such name. */
void proxy_name(const struct proxy_fixture *f, const char *name,
    const char *addresses4, const char *addresses6);
/* The same, but it has too many for a datagram. */
void proxy_name_by_stream(const struct proxy_fixture *f, const char *name,
    const char *addresses4, const char *addresses6);
/* No query has come. */
void proxy_is_unasked(const struct proxy_fixture *f);

#endif
