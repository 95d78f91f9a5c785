/*
 * The JSON lines of a stream (`Accept: application/x-ndjson`), cut anywhere.
 */
#ifndef SBX_CLI_EVENTS_H
#define SBX_CLI_EVENTS_H

#include "lib/buf.h"

#include <jansson.h>

#define EVENTS_LINE_MAX (16u << 20)

struct events {
	/* -1 breaks the stream off */
	int (*each)(void *arg, const char *event, const json_t *line);
	void *arg;
	struct buf rest; /* of a line that is not whole yet */
};

void events_init(struct events *v,
    int (*each)(void *arg, const char *event, const json_t *line), void *arg);
void events_release(struct events *v);

/* The next bytes of a struct events: fits http_request's take. -1 where each
 * said so, or a line is no JSON object. */
int events_take(void *events, const char *bytes, size_t size);

#endif
