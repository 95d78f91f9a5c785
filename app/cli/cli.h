/*
 * What the commands of sbxctl share: the box they speak to, calls in JSON, and
 * how they fail.
 *
 * A command returns the exit status: 0, CLI_FAILED with a line on standard
 * error, CLI_USAGE, or, of a command that ran in a run, that one's own.
 */
#ifndef SBX_CLI_CLI_H
#define SBX_CLI_CLI_H

#include "cli/http.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/ulid.h"

#include <jansson.h>
#include <stdbool.h>

#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_TIMED_OUT 124 /* as of timeout(1) */
#define CLI_CUT 125	  /* run, exec: how the command ended is not known */
#define CLI_BODY_MAX (4u << 20)
#define CLI_PATH_SIZE 8192

struct cli {
	struct http *http;
	bool json;			/* print what the API answered */
	const char *owner, *generation; /* of a lease, or both NULL */
};

struct command {
	const char *name;
	int (*run)(struct cli *c, int argc, char **argv); /* argv[0]: name */
	const char *synopsis;				  /* behind the name */
	const char *summary;				  /* a line */
	const char *options; /* lines for its --help, or NULL */
};

extern const struct command commands[];
extern const size_t command_count;

const struct command *command_find(const char *name);

/* How it is used, on standard error. Returns CLI_USAGE. */
int cli_usage(const char *name);

/* The same with why, a sentence. */
int cli_misuse(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Say *e on standard error. Returns CLI_FAILED. */
int cli_fail(const struct err *e);

/* *e is what this answer says where it is no success, which it is not. Returns
 * -1. */
int cli_problem(const struct http_call *call, struct err *e);

/* Make a call and wait for it. 2xx: *ret_answer is its object, NULL where the
 * body is empty; ret_answer may be NULL. Else *e is the problem's detail. */
int cli_call(struct cli *c, const struct http_request *rq, json_t **ret_answer,
    struct err *e);

/* A GET, DELETE or POST without more. json is the body or NULL. */
int cli_do(struct cli *c, const char *method, const char *path,
    const char *json, json_t **ret_answer, struct err *e);

/* Print an answer as it came, on a line. */
void cli_print_json(const json_t *answer);

/* The run that text names: a whole id, or the beginning or end (4 characters
 * or more) of exactly one run's. */
int cli_run_id(
    struct cli *c, const char *text, char to[ULID_SIZE], struct err *e);

/* Append the lease's credential to a path: nothing where there is none. */
void cli_fence(const struct cli *c, struct buf *path);

/* Text is a whole number. */
bool cli_is_number(const char *text);

/* A member, "" or 0 where it is none. */
const char *cli_text(const json_t *o, const char *name);
int64_t cli_number(const json_t *o, const char *name);

#endif
