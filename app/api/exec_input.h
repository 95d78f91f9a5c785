/*
 * The body of POST /v1/runs/{id}/exec, and what other routes on execs share of
 * it: every member checked (CONTRACT 3). Pure. All failures are ERR_INPUT.
 */
#ifndef SBX_API_EXEC_INPUT_H
#define SBX_API_EXEC_INPUT_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/wire.h"

#include <jansson.h>
#include <stddef.h>

#define EXEC_SIZE_MAX 1000 /* columns or rows of a terminal */

enum exec_format { EXEC_TEXT, EXEC_JSON, EXEC_BASE64 };

struct exec_request {
	struct wire_exec wire; /* env: the caller's alone; user: "" if absent */
	enum exec_format format;
	const char *stdin_text; /* NULL where none */
	size_t stdin_size;
	bool detach; /* answered at once, and left to itself */
};

/* Strings live in the arena or in body. Without id and generation. */
int exec_input(const json_t *body, struct arena *a, struct exec_request *ret_rq,
    struct err *e);

/* `format`, of a body or a query; NULL is EXEC_TEXT. */
int exec_input_format(
    const char *format, enum exec_format *ret_format, struct err *e);

/* `cols` and `rows` of a terminal, which def (0: none) stand in for. */
int exec_input_size(const json_t *o, const uint16_t def[2], uint16_t *ret_cols,
    uint16_t *ret_rows, struct err *e);

#endif
