/*
 * One request and its reply, whatever carries it.
 *
 * fcgi.c fills the request half, fcgi_body.c implements the reading of its body
 * and fcgi_reply.c the writing. Strings live in the arena until the request
 * ends. A handler either replies once (exchange_reply*) or opens a stream and
 * writes to it. After a write failed the client is gone: further writes fail
 * too.
 */
#ifndef SBX_HTTP_EXCHANGE_H
#define SBX_HTTP_EXCHANGE_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a path; nginx takes targets of 8 KiB. */
#define EXCHANGE_SEGMENTS 4096
#define EXCHANGE_BODY_MAX (1u << 20) /* JSON bodies (CONTRACT 1) */
#define EXCHANGE_BODY_MS 20000	     /* for all of it: it holds a thread */
#define EXCHANGE_STATUS_GONE 499     /* logged where no answer was read */

struct exchange {
	struct arena *arena;
	const char *id;	    /* X-Request-Id, taken or made */
	const char *method; /* as sent */
	const char *target; /* raw request target */
	char *path;	    /* decoded path, before it was split */
	char **seg;	    /* EXCHANGE_SEGMENTS at most */
	int seg_count;
	const char *query; /* raw, "" where none */
	const char *authorization, *accept, *idempotency_key; /* "" if absent */
	const char *range, *if_range, *if_none_match, *if_modified_since;
	const char *content_range, *if_match, *if_unmodified_since;
	int64_t content_length; /* -1 where unknown (chunked) */
	bool head;		/* HEAD: the reply has no body */

	int client_fd;	 /* becomes readable when the client goes away, or this
			  * process must end now; for poll(2) only */
	int status;	 /* of the reply, 0 before it began */
	uint64_t bytes;	 /* of body written */
	const char *run; /* that it made, for the log; NULL: the path says it */
	bool gone;	 /* a write failed or the client was seen to leave */

	char header[1024]; /* extra reply header lines, CRLF-terminated */
	void *carrier;	   /* fcgi.c's */
};

/* The value of a query parameter, percent- and '+'-decoded, in the arena; NULL
 * where absent. ERR_INPUT on a bad escape is reported as *ret_bad. */
const char *exchange_query(struct exchange *x, const char *name, bool *ret_bad);

/* The body, at most max bytes (else ERR_TOO_LARGE), into what is the caller's
 * and empty at first: 0 once all of it is there; 1 where it is not within ms,
 * and may be called again; ERR_GONE_AWAY where the client left. */
int exchange_body(
    struct exchange *x, struct buf *into, size_t max, int ms, struct err *e);

/* Body bytes as they come, at most size of them: how many, 0 at the body's end;
 * -1 with ERR_GONE_AWAY where the client left in the middle of it, or ERR_INPUT
 * where none came for stall_ms (more than 0): nothing can be read then. */
int64_t exchange_read(
    struct exchange *x, char *to, size_t size, int stall_ms, struct err *e);

/* Before a refusal: take what is left of a body of at most 1 MiB, for 1 s.
 * nginx says to the client that the connection stays, and closes it where the
 * request was not read to its end. */
void exchange_skim(struct exchange *x);

/* Wait until exchange_read has something, if only the body's end or that the
 * client left: true; false where other_fd (-1: none) became readable first, or
 * after timeout_ms. */
bool exchange_await(struct exchange *x, int other_fd, int timeout_ms);

/* Add a reply header line, before the reply begins. Name and value are ours or
 * were validated: no CR, LF, and all lines together fit (else this aborts). */
void exchange_header(struct exchange *x, const char *name, const char *value);

/* The whole reply. body may be NULL with size 0 (204). */
int exchange_reply(struct exchange *x, int status, const char *content_type,
    const char *body, size_t size, struct err *e);

/* Begin a streamed reply (no Content-Length): status 200. The headers go out
 * with the first flush, which must carry body bytes (FACTS B). */
int exchange_stream(
    struct exchange *x, const char *content_type, struct err *e);
/* Begin a reply of so many bytes of body, which exchange_write then brings; of
 * a HEAD they are told and not written. */
int exchange_begin(struct exchange *x, int status, const char *content_type,
    uint64_t size, struct err *e);
/* What was begun cannot be finished. Where nothing of it was sent yet it is
 * taken back, header lines too, and status is 0: another reply can be made.
 * Else the client is to see a broken connection, and no end of the reply. */
void exchange_cut(struct exchange *x);
int exchange_write(
    struct exchange *x, const void *bytes, size_t size, struct err *e);
/* As exchange_write, with what is in a file; ERR_GUEST where it is shorter. */
int exchange_write_file(
    struct exchange *x, int fd, uint64_t offset, uint64_t size, struct err *e);
int exchange_flush(struct exchange *x, struct err *e);

/* The client went away (poll of client_fd, no waiting). Sticky. */
bool exchange_gone(struct exchange *x);

/* A caller's request id is 1-64 characters of [A-Za-z0-9._-]; else one is
 * made. */
bool exchange_id_valid(const char *id);
const char *exchange_id_make(struct arena *a);

#endif
