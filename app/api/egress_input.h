/*
 * The body of POST /v1/egress/check, and the answer to it. Pure. All failures
 * are ERR_INPUT.
 */
#ifndef SBX_API_EGRESS_INPUT_H
#define SBX_API_EGRESS_INPUT_H

#include "lib/allow.h"
#include "lib/arena.h"
#include "run/egress_policy.h"

#include <jansson.h>

#define EGRESS_PORT_DEFAULT 443

struct egress_question {
	struct allow_host host;
	uint16_t port;
	const char *own; /* entries of a run, as egress_own makes them */
};

/* `egressAllow` as egress_own makes it, "" where absent. */
int egress_input_own(
    const json_t *body, struct arena *a, const char **ret_own, struct err *e);

/* `host` is a name or an address, with a port or without; `port` alone, or the
 * same. */
int egress_input(const json_t *body, struct arena *a,
    struct egress_question *ret_q, struct err *e);

/* The first entry that admits it; NULL where none does. */
const struct egress_entry *egress_admits(const struct egress_question *q,
    const struct egress_entry *list, size_t count);

#endif
