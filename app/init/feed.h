/*
 * Feeding an exec that runs (WIRE_ACT_INPUT): a process between the host that
 * sends, and the way to the exec's supervisor, which takes a piece once the
 * command has taken the one before.
 *
 * That way is a SOCK_SEQPACKET pair of sockets. A packet is a byte of enum
 * feed_what, and then the piece.
 */
#ifndef SBX_INIT_FEED_H
#define SBX_INIT_FEED_H

#include "init/object.h"
#include "init/ops.h"

#include <sys/types.h>

#define FEED_FD 3 /* its end of the way, in a process of PID 1's */
#define FEED_PIECE (32u * 1024)

enum feed_what { FEED_BYTES = 1, FEED_CLOSE };

struct feed {
	struct object *exec;
	uint64_t generation; /* it is fed under */
	bool close;	     /* it is at its end then */
};

/* On standard input and output, and FEED_FD. Returns the process' exit
 * status. */
int feed_run(const struct ops *ops, struct op *op, const struct feed *f);

/* The supervisor's: one packet; as read(2), but of the piece. *ret_close where
 * it is the last: returns 0 then. EPIPE: nothing will come. */
ssize_t feed_take(int fd, char to[FEED_PIECE], bool *ret_close);

#endif
