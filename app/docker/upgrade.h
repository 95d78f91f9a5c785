/*
 * The head of the answer to a request that asks for an upgrade: status, and
 * how long the head and a refusal's body are.
 *
 * Pure. Reads HTTP/1.0 and 1.1 heads (RFC 9112) of at most UPGRADE_HEAD_MAX
 * bytes; fields other than Content-Length and Transfer-Encoding are skipped.
 */
#ifndef SBX_DOCKER_UPGRADE_H
#define SBX_DOCKER_UPGRADE_H

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

#define UPGRADE_HEAD_MAX (16u * 1024)

struct upgrade {
	int status;	       /* 100..599 */
	size_t head_size;      /* the empty line included */
	size_t content_length; /* 0 where the head names none */
	bool framed; /* it has a length or an encoding: a body, no stream */
};

/*
 * Look at the first size bytes of an answer. 1 and *ret_upgrade filled where
 * the head is complete, 0 where more bytes are needed, -1 with ERR_ENGINE where
 * it is no such head or longer than UPGRADE_HEAD_MAX.
 */
int upgrade_head(
    const char *bytes, size_t size, struct upgrade *ret_upgrade, struct err *e);

#endif
