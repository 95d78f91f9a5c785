/*
 * What nginx is to a worker: a FastCGI client, one request per connection.
 * Each call fails the test where the socket does.
 */
#ifndef SBX_TESTS_MODULE_FCGI_CLIENT_H
#define SBX_TESTS_MODULE_FCGI_CLIENT_H

#include "lib/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the FastCGI specification 1.0, sections 3 and 8. */
#define FCGI_HEADER_LEN 8
#define FCGI_MAX_LENGTH 0xffff
#define FCGI_VERSION_1 1

enum {
	FCGI_BEGIN_REQUEST = 1,
	FCGI_ABORT_REQUEST,
	FCGI_END_REQUEST,
	FCGI_PARAMS,
	FCGI_STDIN,
	FCGI_STDOUT,
};

struct fcgi_reply {
	struct buf out; /* header section and body, as they came */
	bool ended;	/* END_REQUEST came */
	bool closed;	/* and the peer closed */
};

#define FCGI_REPLY_INIT                  \
	{                                \
		BUF_INIT(64 << 20), 0, 0 \
	}

int fcgi_connect(const char *path);

/* Records. fcgi_head sends BEGIN_REQUEST and the parameters of a request;
 * more are "NAME=value" strings up to a NULL, or NULL. */
void fcgi_record(int fd, int type, const void *bytes, size_t size);
void fcgi_head(
    int fd, const char *method, const char *target, const char *const *more);
void fcgi_stdin(int fd, const void *bytes, size_t size, size_t record);
void fcgi_stdin_end(int fd);

/* Read one record, or the end; until the peer closes; until at least size bytes
 * of output came. */
void fcgi_read_record(int fd, struct fcgi_reply *reply);
void fcgi_read_all(int fd, struct fcgi_reply *reply);
void fcgi_read_some(int fd, struct fcgi_reply *reply, size_t size);
void fcgi_reply_release(struct fcgi_reply *reply);

/* A request without a body, from connect to close. */
struct fcgi_reply fcgi_get(const char *path, const char *method,
    const char *target, const char *const *more);

/* Parts of a reply: its Status, where its body begins, whether a header line
 * is among its header lines. */
int fcgi_status(const struct fcgi_reply *reply);
const char *fcgi_body(const struct fcgi_reply *reply);
bool fcgi_has_line(const struct fcgi_reply *reply, const char *line);

#endif
