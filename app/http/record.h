/*
 * FastCGI records (the FastCGI specification 1.0, sections 3 to 5): what a
 * responder reads and writes. Pure: bytes in, bytes out.
 */
#ifndef SBX_HTTP_RECORD_H
#define SBX_HTTP_RECORD_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HEAD 8
#define RECORD_MAX 65535u
#define RECORD_END_SIZE (3 * RECORD_HEAD) /* of what ends a reply */

enum record_type {
	RECORD_BEGIN = 1,
	RECORD_ABORT,
	RECORD_END,
	RECORD_PARAMS,
	RECORD_STDIN,
	RECORD_STDOUT,
};

/*
 * The head of a request: a BEGIN for a responder, then parameters up to their
 * end. Returns how many bytes it takes and fills the outputs (params, emptied
 * before, gets the parameters' text); 0 where more bytes are needed; -1 where
 * this is no request, or its parameters go over the ceiling of params.
 */
int64_t record_request(
    const char *bytes, size_t size, unsigned *ret_id, struct buf *params);

struct record_param {
	const char *name, *value; /* without a NUL */
	size_t name_size, value_size;
};

/* The parameter at *at, and *at moved behind it: 1; 0 at the end; -1 where it
 * is cut off. */
int record_param(
    const char **at, const char *end, struct record_param *ret_param);

/* A request's body in the making. */
struct record_body {
	unsigned id;
	unsigned char head[RECORD_HEAD]; /* of the next record, as it comes */
	size_t head_size;
	size_t content, padding; /* still to come of this one */
	bool ended;
};

/* Squeeze the content out of size bytes, in place: returns its size, and sets
 * ended where the body's end came; -1 where it was aborted or makes no sense.
 * What stands behind the end is dropped. */
int64_t record_squeeze(struct record_body *b, char *bytes, size_t size);

/* The head of a record of output, without padding. */
void record_head(char to[RECORD_HEAD], unsigned id, size_t size);

/* The end of the output, and of the request. */
void record_end(char to[RECORD_END_SIZE], unsigned id);

#endif
