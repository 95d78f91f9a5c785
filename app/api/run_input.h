/*
 * The body of POST /v1/runs: every member checked with its type and bounds,
 * before anything is made (CONTRACT 2). Pure but for the host's CPU count.
 */
#ifndef SBX_API_RUN_INPUT_H
#define SBX_API_RUN_INPUT_H

#include "lib/arena.h"
#include "lib/err.h"
#include "run/create.h"

#include <jansson.h>

#define RUN_TTL_MAX 86400 /* seconds: a run lives a day at most */

/* Strings of *ret_rq live in the arena or in body. ERR_INPUT names the member,
 * what is wrong and the remedy; ERR_UNSUPPORTED what this version cannot do. */
int run_input(const json_t *body, struct arena *a, struct run_request *ret_rq,
    struct err *e);

/* A label filter "k:v" of GET /v1/runs. */
int run_input_filter(const char *label, struct err *e);

#endif
