/*
 * HTTP to the API of a box, for sbxctl; http.c is its only file that knows
 * libcurl.
 *
 * Calls run side by side on one thread: each is started, and moves while
 * http_wait is called. What an answer says is for cli.c.
 */
#ifndef SBX_CLI_HTTP_H
#define SBX_CLI_HTTP_H

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/ulid.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HTTP_ANSWER_MAX (64u << 20) /* of one that is kept in memory */

struct http;	  /* one box: where it is, the token, kept connections */
struct http_call; /* a request and its answer */

/* url: "http://127.0.0.1:7439", no slash at its end. */
struct http *http_new(const char *url, const char *token);
void http_free(struct http *h); /* takes NULL */

struct http_request {
	const char *method, *path; /* with its query, escaped */
	const char *accept;	   /* or NULL */
	const void *body; /* kept by the caller until the call is freed */
	size_t size;
	/* In place of body: read it piece by piece. Returns how many bytes were
	 * put at to, 0 at the end, -1 to break off. length -1: not known. */
	ssize_t (*give)(void *arg, char *to, size_t room);
	int64_t length;
	/* Gets the body of a 2xx answer as it arrives; -1 breaks off. Without
	 * it the body is kept. */
	int (*take)(void *arg, const char *bytes, size_t size);
	void *arg;
};

struct http_call *http_start(struct http *h, const struct http_request *rq);
void http_free_call(struct http_call *call); /* breaks it off; takes NULL */

/* Let all calls move, until something happens, one of these descriptors (may be
 * none) has what it waits for, or timeout_ms is over. */
void http_wait(
    struct http *h, struct pollfd *also, unsigned count, int timeout_ms);

bool http_done(const struct http_call *call);

/* Of one that is done: 0 where there was a whole answer, of whatever status. */
int http_result(const struct http_call *call, struct err *e);
long http_status(const struct http_call *call);
const struct buf *http_body(const struct http_call *call);

/* Of the answer's head, "" until it came: X-Exec-Id; the size of the body, -1
 * where it was not told. */
const char *http_exec_id(const struct http_call *call);
int64_t http_length(const struct http_call *call);

/* Append text, escaped for a query's value; with slashes kept for a path. */
void http_escape(struct buf *to, const char *text, bool path);

#endif
