/*
 * A caller of the API under torture: each answer is judged as CONTRACT 1 to 3
 * has it, well-formed and in time, whatever failed behind it. What is wrong is
 * noted (torture.h), not a failure at once.
 *
 * Where the engine holds a call (MODEL_HOLD) the client leaves.
 */
#ifndef SBX_TESTS_MODULE_TORTURE_CLIENT_H
#define SBX_TESTS_MODULE_TORTURE_CLIENT_H

#include "fcgi_client.h"
#include "lib/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct said {
	int status; /* 0: the client left, or no answer came */
	bool left;
	char event[32]; /* of a stream: the name of the last one */
	json_t *json;	/* the body, or the data of the last event */
	struct buf raw;
};

#define SAID_AUTO __attribute__((cleanup(said_release))) struct said
void said_release(struct said *s);

/* A request on its way, on a connection of its own. */
struct asking {
	int fd;
	int64_t begun;
	bool left;
	struct fcgi_reply reply;
};

/* body NULL is none; more as fcgi_head takes it, NULL is none. */
struct asking ask_begin(const char *method, const char *target,
    const char *body, const char *const *more);
void ask_await(struct asking *a); /* the first bytes of its answer, or end */
void ask_leave(struct asking *a); /* the client goes */
struct said ask_end(struct asking *a); /* the rest */

/* All at once. */
struct said ask(const char *method, const char *target, const char *body,
    const char *const *more);

/* The same where nothing is made to fail; but a worker that found Redis away
 * says so for up to a second more: then it is asked again. */
struct said ask_calm(const char *method, const char *target, const char *body,
    const char *const *more);

/* The answer has this status, or says 500, 502, 503 or 504, as it may while
 * something fails; anything else is noted. True where it has that status. */
bool expect(const struct said *s, int status);

/* "/v1/runs/ID/what" in a static buffer; what "" is the run itself. */
const char *target_of(const char *id, const char *what);

/* A text member of the answer by path, "lease.holder"; "" where absent. */
const char *said_text(const struct said *s, const char *path);
json_int_t said_number(const struct said *s, const char *path);

#endif
