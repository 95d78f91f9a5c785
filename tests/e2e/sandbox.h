/*
 * Short cuts for the common steps of a test; each fails the test where the API
 * does not answer as it should.
 */
#ifndef SBX_E2E_SANDBOX_H
#define SBX_E2E_SANDBOX_H

#include "client.h"
#include "lib/ulid.h"

/* POST /v1/runs with that body (released) must be 201; the id. */
void run_from(json_t *body, char ret_id[ULID_SIZE]);

/* A run of that image with everything else default. */
void run_new(const char *image, char ret_id[ULID_SIZE]);

/* DELETE must be 204. Nothing where id is "": a setup that failed. */
void run_end(const char *id);

/* "/v1/runs/ID/what" in a static buffer; what "" is the run itself. */
const char *run_url(const char *id, const char *what);

/* Commands reach the run over its own socket, without Docker. */
bool run_has_socket(const char *id);

/* POST to run_url(id, what) without a body, and do not wait for the answer: the
 * connection. Closing it is leaving. */
int run_ask(const char *id, const char *what);

/* What a command did, put together from its stream. */
struct executed {
	long status;	     /* of HTTP; the rest is empty unless it is 200 */
	struct buf out, err; /* stdout and stderr, frames joined */
	struct buf frames;   /* names in order: "stdout stderr exit " */
	json_t *exit;	     /* data of the exit event, NULL where cut */
	struct buf problem;  /* the body where status is not 200 */
	int64_t took_ms;
};

#define EXECUTED_AUTO __attribute__((cleanup(executed_release))) struct executed

void executed_release(struct executed *x);

/* sh -c cmd, to its end. */
struct executed exec_sh(const char *id, const char *cmd);

/* The same with a whole body, which is released. */
struct executed exec_json(const char *id, json_t *body);

/* Read a stream to its end. */
struct executed exec_finish(struct stream *s);

/* Exit code of the exit event; fails the test where there is none. */
int exit_code(const struct executed *x);

/* A problem has this status and names this text in its detail. */
void check_problem(
    const struct reply *r, long status, const char *code, const char *detail);

#endif
