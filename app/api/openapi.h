/*
 * GET /openapi.json: the API for programs that make clients (OpenAPI 3.1), as
 * it stands in openapi.json beside this; a test holds it against the routes.
 */
#ifndef SBX_API_OPENAPI_H
#define SBX_API_OPENAPI_H

#include "api/call.h"

/* The document, valid as long as the program. */
const char *openapi_text(size_t *ret_size);

int api_openapi(struct call *c, struct err *e);

#endif
