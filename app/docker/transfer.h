/*
 * HTTP exchanges with the engine over its unix socket, one after the other. The
 * only file that knows libcurl; engine.h tells how they fail.
 */
#ifndef SBX_DOCKER_TRANSFER_H
#define SBX_DOCKER_TRANSFER_H

#include "docker/engine.h"

struct transfer; /* and the connection that it keeps */

struct transfer *transfer_new(const char *socket_path);
void transfer_free(struct transfer *t); /* takes NULL */

/* One exchange from begin to end. */
int transfer_run(struct transfer *t, const char *url,
    const struct engine_call *call, struct engine_reply *ret_reply,
    struct err *e);

/*
 * Or in steps: begin, which returns with the answer's status; then the body of
 * a 2xx one, piece by piece (1, or 0 at its end: engine_stream_next); end, at
 * any time. Both outlive begin: what call->arg points to, and the reply, which
 * gets the body of another status.
 */
int transfer_begin(struct transfer *t, const char *url,
    const struct engine_call *call, struct engine_reply *ret_reply,
    struct err *e);
int transfer_next(struct transfer *t, const char **ret_bytes, size_t *ret_size,
    struct err *e);
void transfer_end(struct transfer *t);

#endif
