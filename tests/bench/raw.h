/*
 * The Docker Engine API as the leanest client would speak it: HTTP by hand on a
 * unix socket, a kept connection for plain calls. What our own numbers are held
 * against, so it shares nothing with app/docker. Fails the test where the
 * engine does not do as asked.
 */
#ifndef SBX_BENCH_RAW_H
#define SBX_BENCH_RAW_H

#include "lib/buf.h"

#include <stdbool.h>

#define RAW_ID_SIZE 80

struct raw {
	int fd;
	struct buf in; /* received, not used yet */
};

/* A connection to the engine of the stack. */
struct raw raw_open(void);
void raw_close(struct raw *r);

/* One call; the answer's status. body may be NULL, ret_body too. */
int raw_call(struct raw *r, const char *method, const char *path,
    const char *body, struct buf *ret_body);

/* PUT of bytes, a tar archive; the answer's status. */
int raw_put(struct raw *r, const char *path, const char *bytes, size_t size);

/* raw_call, and it must be that status; a member of the answer's JSON. */
void raw_member(struct raw *r, const char *method, const char *path,
    const char *body, int status, const char *member,
    char ret_value[RAW_ID_SIZE]);

/* Create an exec on the kept connection and start it on one of its own, which
 * is then the stream of its output. argv is a JSON array. */
struct raw raw_exec_open(struct raw *kept, const char *container,
    const char *argv, char ret_exec[RAW_ID_SIZE]);

/* Append the next piece of output, of either stream; false at the end. */
bool raw_output(struct raw *stream, struct buf *to);

/* Its exit code, once it has ended. */
int raw_exit_code(struct raw *kept, const char *exec);

/* All of that: the output, and the exit code. */
int raw_exec(
    struct raw *kept, const char *container, const char *argv, struct buf *out);

#endif
