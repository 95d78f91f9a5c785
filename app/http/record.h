/*
 * FastCGI records (the FastCGI specification 1.0, sections 3 to 5), as far as
 * libfcgi is not to see them: where a request's head ends, what is content of a
 * body, the head of a large piece of output. Pure: bytes in, bytes out.
 */
#ifndef SBX_HTTP_RECORD_H
#define SBX_HTTP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HEAD 8
#define RECORD_MAX 65535u

enum record_type {
	RECORD_BEGIN = 1,
	RECORD_ABORT,
	RECORD_PARAMS = 4,
	RECORD_STDIN,
	RECORD_STDOUT,
};

/*
 * The head of a request: a BEGIN for a responder, then parameters up to their
 * end, and nothing that libfcgi would answer or wait behind. Parameters are as
 * long as they say: libfcgi takes memory for what is said, up to 4 GiB, and
 * ends the process where there is none. Returns how many bytes it takes and
 * fills ret_id; 0 where more bytes are needed; -1 where this is no request.
 */
int64_t record_request(const char *bytes, size_t size, unsigned *ret_id);

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

#endif
