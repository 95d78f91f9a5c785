/*
 * The body of POST /v1/runs/{id}/exec: every member checked (CONTRACT 3). Pure.
 */
#ifndef SBX_API_EXEC_INPUT_H
#define SBX_API_EXEC_INPUT_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/wire.h"

#include <jansson.h>
#include <stddef.h>

enum exec_format { EXEC_TEXT, EXEC_JSON, EXEC_BASE64 };

struct exec_request {
	struct wire_exec wire; /* env: the caller's alone; user: "" if absent */
	enum exec_format format;
	const char *stdin_text; /* NULL where none */
	size_t stdin_size;
};

/* Strings live in the arena or in body. ERR_INPUT, ERR_UNSUPPORTED. */
int exec_input(const json_t *body, struct arena *a, struct exec_request *ret_rq,
    struct err *e);

#endif
