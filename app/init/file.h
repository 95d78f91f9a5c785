/*
 * One operation on files, in a process of its own that has become the user of
 * the request: the kernel then decides what it may do.
 *
 * Speaks lib/wire_file.h on standard input and output.
 */
#ifndef SBX_INIT_FILE_H
#define SBX_INIT_FILE_H

#include "init/beneath.h"
#include "init/feed.h"
#include "init/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_LOCK_FD FEED_FD /* PID 1's, for fcntl(2)'s locks; or not there */

/* Returns the process' exit status, which says nothing of the operation. */
int file_run(const struct ops *ops, struct op *op);

/* What its parts work with. */
struct file_op {
	const struct ops *ops;
	struct op *op; /* NULL: a read, which nothing fences */
	struct wire_file x;
	struct beneath_root root;
	int host;	 /* the connection, both ways; non-blocking */
	int64_t until;	 /* CLOCK_MONOTONIC ms to wait for it; 0: for ever */
	struct buf in;	 /* received */
	size_t in_taken; /* of that, handed out */
};

/* Send frames; -1: nobody reads any more, end without a word. */
int file_send(struct file_op *f, const struct buf *frames);
/* The same, and the open file with it, where the connection carries one. */
int file_send_open(struct file_op *f, const struct buf *frames, int fd);
/* A frame without a payload: WIRE_STARTED, WIRE_DONE. */
int file_say(struct file_op *f, enum wire_type type);
/* WIRE_FAIL, and the end. Returns -1. */
int file_fail(struct file_op *f, enum wire_fail why, const char *text);
/* The same for an errno, about path. */
int file_fail_errno(struct file_op *f, const char *path, int error);

/* The next of WIRE_DATA (1: bytes, valid until the next call) or its end (0);
 * -1: the host left, or the run was given to another (the host is told): undo.
 */
int file_receive(struct file_op *f, const char **ret_bytes, size_t *ret_size);
/* Which bytes the host wants; -1: it left. */
int file_receive_read(struct file_op *f, struct wire_read *ret_x);

/* Call before what cannot be undone, a rename: false where the run was given to
 * another meanwhile (then undo, and file_fail WIRE_FAIL_FENCED). PID 1 waits
 * for this process where it was not. */
bool file_may_finish(const struct file_op *f);
/* WIRE_FAIL_FENCED. Returns -1. */
int file_fail_fenced(struct file_op *f);

/* For what takes long without a word to the host: it left. */
bool file_is_alone(const struct file_op *f);

#endif
