/*
 * Taking apart Docker's multiplexed stream (Engine API, "Attach to a
 * container", stream format): headers of 8 bytes, {stream, 0, 0, 0, size as
 * big-endian 32 bits}, each followed by size bytes.
 *
 * Pure: bytes in, events out; the same events however the input is cut, except
 * that one payload may come in several pieces.
 */
#ifndef SBX_DOCKER_DEMUX_H
#define SBX_DOCKER_DEMUX_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

enum demux_stream { DEMUX_STDIN, DEMUX_STDOUT, DEMUX_STDERR, DEMUX_SYSTEM };

struct demux {
	unsigned char head[8];
	unsigned char head_size;
	enum demux_stream stream;
	uint32_t left; /* of the current payload */
};

#define DEMUX_INIT                      \
	{                               \
		{0}, 0, DEMUX_STDOUT, 0 \
	}

/*
 * Look at up to size bytes. Sets *ret_used to how many were consumed, and, when
 * a piece of payload begins in them, *ret_piece and *ret_piece_size to it
 * (inside bytes), else size 0. Call again with the rest until all is used. -1
 * with ERR_ENGINE on a header that cannot be one.
 */
int demux_next(struct demux *d, const char *bytes, size_t size,
    size_t *ret_used, const char **ret_piece, size_t *ret_piece_size,
    struct err *e);

#endif
