/*
 * nginx with the configuration that `teploy-sandbox render` writes, in front of
 * two responders (responder.h): everything of the product between a client and
 * a worker. And a client that sends bytes as they are.
 *
 * One per program at a time. Needs root, like serve: nginx changes its user.
 */
#ifndef SBX_TESTS_MODULE_FRONT_H
#define SBX_TESTS_MODULE_FRONT_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FRONT_TOKEN "Abc.def+1$x^(y)[z]{2}|\\Q\"'#;~/=-_"
#define FRONT_SERVER "box \"one\" $1 \\z @DIR@"
#define FRONT_UPLOAD_MB 2
#define FRONT_WAIT_MS 60000

struct front {
	char dir[64]; /* RUN_DIR; nginx.conf and the token map in nginx/ */
	char log[96]; /* of the responders */
	int port;
	int tickets; /* send one byte: see responder.h */
	pid_t nginx;
	pid_t responder[2]; /* control, stream */
};

extern struct front front;

/* Start. edits are pairs of texts, old and new, for nginx.conf; NULL ends. */
void front_open(const char *const *edits);
void front_close(void);

/* `teploy-sandbox ARG...` with this front's configuration; its status. */
int front_command(const char *verb, const char *noun);

/* How many lines of the responders' log contain the text. */
size_t front_logged(const char *text);

/* A connection that received so far: the client of every test. */
struct answer {
	int fd;
	struct buf raw; /* all that came */
	int status;	/* once the status line came, else 0 */
	bool closed;
};

#define ANSWER_AUTO __attribute__((cleanup(answer_release))) struct answer

struct answer answer_open(void);
void answer_release(struct answer *a);
void answer_send(struct answer *a, const void *bytes, size_t size);
/* Read until the text came (NULL: until the peer closes); false where it
 * closed before, or FRONT_WAIT_MS passed. */
bool answer_await(struct answer *a, const char *text);
const char *answer_body(const struct answer *a);
/* A header's value in a static buffer, NULL where absent. */
const char *answer_header(const struct answer *a, const char *name);
/* Head and body contain the text. */
bool answer_has(const struct answer *a, const char *text);

/* One exchange: send these bytes and read to the end. */
struct answer front_raw(const void *bytes, size_t size);

/* One request with the token and these header lines ("" or "A: b\r\n"). */
struct answer front_ask(
    const char *method, const char *target, const char *lines);

/* The same without the token. */
struct answer front_ask_bare(
    const char *method, const char *target, const char *lines);

/* The answer is a problem document of that status and code, with all that
 * CONTRACT 1 asks of one. */
void check_problem(
    const struct answer *a, int status, const char *suffix, const char *code);

#endif
