/*
 * The built sbx-init, run as `sbx-init exec` over two pipes, with a test in
 * the place of the host; behind it a PID 1 that sees this box's files, for the
 * whole program. Needs root; skips tests otherwise. Processes of its commands
 * carry a mark in their environment, so that a test sees which of them live.
 */
#ifndef SBX_TESTS_MODULE_INIT_FIXTURE_H
#define SBX_TESTS_MODULE_INIT_FIXTURE_H

#include "lib/buf.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <sys/types.h>

#define INIT_ENV_MAX 16

struct init {
	pid_t pid;
	int to, from; /* -1 once closed */
	struct buf got;
	size_t used; /* of got: the frame handed out last */
};

/* All that a command said. */
struct outcome {
	struct buf out, err;
	bool started, failed; /* WIRE_FAIL came in place of an exit */
	bool gapped;	      /* WIRE_GAP came; the last one's offset: */
	uint64_t gap;
	struct wire_exit exit;
	enum wire_fail why;
	char text[WIRE_TEXT + 1];
};

/* Group fixtures: start PID 1, and end it. */
int init_begin(void **state);
int init_begin_alone(void **state); /* no subreapers: pid1_fixture.h */
int init_end(void **state);

/* PID 1's children, which are its supervisors and what they lost: how many
 * there are, each of which gets the signal (0: none). */
int init_supervisors(int number);

/* The path of the built binary. */
const char *init_path(void);

/* Start one, without a word; then the request. user NULL is who runs the test,
 * cwd NULL is /, env NULL is none. */
void init_open(struct init *in);
void init_request(struct init *in, const struct wire_exec *x);
void init_start(struct init *in, const struct wire_exec *x);
void init_say(
    struct init *in, enum wire_type type, const void *bytes, size_t size);

/* The next frame, or 0 at the end of the stream. */
enum wire_type init_next(
    struct init *in, const char **ret_payload, size_t *ret_size);

/* Until WIRE_STARTED. */
void init_wait_started(struct init *in);

/* Until the last frame; feeds input (NULL: none) as there is room. */
void init_finish(
    struct init *in, const char *input, size_t size, struct outcome *ret_o);

/* Close the connection, and wait until the relay has ended. */
void init_leave(struct init *in);
void init_wait_end(struct init *in);

/* All of it at once. */
void init_run(const struct wire_exec *x, const char *input, size_t size,
    struct outcome *ret_o);
void outcome_release(struct outcome *o);

/* Processes of commands of this test program that live. */
int init_marked(void);
/* End them all: for tests that leave some. */
void init_kill_marked(void);

#endif
