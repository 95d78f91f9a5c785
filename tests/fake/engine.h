/*
 * A scripted Docker engine for module tests: on a unix socket of its own, in
 * threads of the test's process.
 *
 *	struct fake *f = fake_new();
 *	fake_on(f, (struct fake_rule){.method = "GET",
 *	    .path = "/containers/x/json", .status = 200, .body = "{...}"});
 *	struct engine *en = engine_new(fake_socket(f));
 *	...
 *	fake_free(f);
 *
 * It answers /version and /_ping by itself, and like a real engine refuses a
 * request of another API version than it says it speaks. Anything else that no
 * rule matches is a 404. Failures of its own abort the test.
 */
#ifndef SBX_TESTS_FAKE_ENGINE_H
#define SBX_TESTS_FAKE_ENGINE_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct fake;

/* What becomes of the connection once the answer, or what `bytes` leaves of
 * it, was sent. */
enum fake_end {
	FAKE_KEEP,  /* the next request is read from it */
	FAKE_CLOSE, /* closed, cleanly */
	FAKE_STALL, /* nothing more ever comes, until the client leaves */
	FAKE_RESET, /* reset before a byte was sent: the request is not read */
};

struct fake_rule {
	/* Which requests: a method (NULL is any) and a pattern of fnmatch(3)
	 * for the path with its query, version taken off (NULL is any). */
	const char *method, *path;
	int times; /* how often it serves; 0 is for ever */

	/* The answer: a status with a JSON body (NULL is none); or chunks,
	 * NULL-terminated, of a chunked one; or raw, a whole answer verbatim,
	 * head included. */
	int status;
	const char *body;
	const char *const *chunks;
	const char *raw;
	int pause_ms; /* before the answer, and before each chunk */

	/* Where set, called after the answer (use 101, or raw) with the
	 * connection, which is closed when it returns. */
	void (*stream)(void *arg, int fd);
	void *arg;

	enum fake_end end;
	size_t bytes; /* with CLOSE and STALL: send so many at most; 0 is all */
};

struct fake *fake_new(void); /* speaks 1.12 to 1.41, as Debian 12's does */
void fake_free(struct fake *f);
const char *fake_socket(const struct fake *f);

/* From now on: the versions it speaks. */
void fake_speaks(struct fake *f, const char *oldest, const char *newest);

/* Add a rule. The newest that matches and is not used up serves. Strings stay
 * the caller's. */
void fake_on(struct fake *f, struct fake_rule rule);

/* The n-th request from now on (1 is the next; /version counts) gets this
 * instead of its answer: nothing, and that end. */
void fake_fail_nth(struct fake *f, size_t n, enum fake_end end);

/* Cut every connection and stop listening; listen again. */
void fake_down(struct fake *f);
void fake_up(struct fake *f);

/* Cut every connection; new ones are welcome. */
void fake_cut_all(struct fake *f);

struct fake_request {
	const char *method, *version; /* "1.41", or "" */
	const char *path;	      /* with its query, without the version */
	const char *head, *body;
};

/* In place of rules, and of what it would say by itself: before the first
 * client, who answers every request, however many at once. Text that the answer
 * points to lies in `text`, or outlives it. Requests are not remembered. */
typedef struct fake_rule (*fake_handler)(
    void *arg, const struct fake_request *r, struct buf *text);
void fake_serve(struct fake *f, fake_handler handler, void *arg);

size_t fake_request_count(struct fake *f);
size_t fake_connection_count(struct fake *f); /* accepted so far */

/* The i-th request, from 0; valid until fake_free. */
struct fake_request fake_request(struct fake *f, size_t i);

/* How many requests so far match a method and a pattern, as in a rule. */
size_t fake_seen(struct fake *f, const char *method, const char *path);

#endif
