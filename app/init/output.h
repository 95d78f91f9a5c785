/*
 * Frames on their way to the host: a bounded buffer before a descriptor that
 * never blocks, so that a host that does not read delays nothing here.
 */
#ifndef SBX_INIT_OUTPUT_H
#define SBX_INIT_OUTPUT_H

#include "lib/wire.h"

#include <stdbool.h>
#include <sys/types.h>

#define OUTPUT_MAX (128u * 1024) /* frames of output stop here */
#define OUTPUT_RESERVE 1024	 /* room for the frames that must not wait */

struct output {
	struct buf frames;
	size_t sent; /* of frames */
	int fd;	     /* non-blocking */
	bool broken; /* nobody reads any more */
};

#define OUTPUT_INIT(fd_)                                               \
	{                                                              \
		BUF_INIT(OUTPUT_MAX + OUTPUT_RESERVE), 0, (fd_), false \
	}

bool output_empty(const struct output *o);

/* There is room to read a good piece of output. */
bool output_has_room(const struct output *o);

/* Read once from fd into a frame of that type. As read(2). Needs room. What it
 * read is at *ret_bytes until the next call. */
ssize_t output_take(
    struct output *o, enum wire_type type, int fd, const char **ret_bytes);

/* Where a frame that must not wait is appended: out of the reserve. */
struct buf *output_frames(struct output *o);

/* Send what can be sent now. */
void output_flush(struct output *o);

#endif
