/*
 * Matching a method and decoded path segments against a table. Pure.
 */
#ifndef SBX_HTTP_ROUTER_H
#define SBX_HTTP_ROUTER_H

#include "http/exchange.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

struct call; /* api/call.h: what a handler gets */

struct route {
	const char *method;  /* "GET" also serves HEAD */
	const char *pattern; /* "/v1/runs/{id}/exec"; "{path...}" takes 1+ */
	int (*handle)(struct call *c, struct err *e);
	bool open;   /* no token needed */
	bool stream; /* may run long: a control worker caps these */
};

/*
 * The route of x in the table. ERR_ROUTE where no pattern matches; ERR_METHOD
 * where one does with another method, and then allow (size bytes) gets the
 * value of the Allow header.
 */
const struct route *router_find(const struct route *table, size_t count,
    const struct exchange *x, char *allow, size_t size, struct err *e);

/* The segment that {name} of the route's pattern matched; NULL where none. */
const char *router_param(
    const struct route *route, const struct exchange *x, const char *name);

#endif
