/*
 * What comes from the host: the request, and then standard input, its end, a
 * kill, a farewell, or the end of the connection.
 */
#ifndef SBX_INIT_HOST_H
#define SBX_INIT_HOST_H

#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct host {
	int fd;
	struct buf frames; /* received, not taken apart yet */
	struct buf input;  /* for the command's standard input */
	bool input_end;	   /* nothing comes after input */
	bool input_closed; /* the command does not take any more */
	uint32_t owed;	/* of what the host sent: not yet given back as room */
	uint32_t taken; /* by the command, not yet looked at for that */
	bool tty;	/* its end is told by a character (termios(3)) */
	bool mid_line;	/* what came last was no end of a line */
	bool kill;	/* WIRE_KILL came */
	bool detach;	/* WIRE_DETACH came */
	bool gone;	/* end of the connection, or nonsense on it */
};

#define HOST_INIT(fd_)                                                   \
	{                                                                \
		.fd = (fd_), .frames = BUF_INIT(WIRE_HEAD + WIRE_CHUNK), \
		.input = BUF_INIT(WIRE_WINDOW)                           \
	}

/* Read the one WIRE_EXEC, until that deadline. *frame and *store are given
 * empty and hold what x points to. */
int host_request(struct host *h, int64_t deadline_ms, struct buf *frame,
    struct buf *store, struct wire_exec *ret_x, struct err *e);

/* Take in what has arrived; fd is non-blocking and readable. */
void host_receive(struct host *h);

/* Into input, from elsewhere: bytes, and that there are no more. */
void host_add_input(struct host *h, const char *bytes, size_t size);
void host_end_input(struct host *h);

/* How much room to give back now; it counts as given. */
uint32_t host_take_room(struct host *h);

/* Feed the command through *fd; closes it at the end or where the command
 * closed its own end, and sets it to -1. */
void host_feed(struct host *h, int *fd);

/* There is something that host_feed would do. */
bool host_has_input(const struct host *h);

#endif
