/* Serving openapi.json, which the build makes a part of the program. */
#include "api/openapi.h"

static const char document[] = {
#include "openapi.inc"
};

const char *
openapi_text(size_t *ret_size)
{
	*ret_size = sizeof(document);
	return document;
}

int
api_openapi(struct call *c, struct err *e)
{
	return exchange_reply(c->x, 200,
	    "application/vnd.oai.openapi+json;version=3.1", document,
	    sizeof(document), e);
}
