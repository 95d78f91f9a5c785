/* Taking apart the multiplexed stream. */
#include "docker/demux.h"

#include <string.h>

static int
begin_payload(struct demux *d, struct err *e)
{
	const unsigned char *h = d->head;

	if (h[0] > DEMUX_SYSTEM || h[1] != 0 || h[2] != 0 || h[3] != 0)
		return err_set(e, ERR_ENGINE,
		    "Docker's stream has the header %02x%02x%02x%02x", h[0],
		    h[1], h[2], h[3]);
	d->stream = (enum demux_stream)h[0];
	d->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 |
		  (uint32_t)h[6] << 8 | h[7];
	d->head_size = 0;
	return 0;
}

int
demux_next(struct demux *d, const char *bytes, size_t size, size_t *ret_used,
    const char **ret_piece, size_t *ret_piece_size, struct err *e)
{
	size_t used = 0;

	if (d->left == 0) {
		used = sizeof(d->head) - d->head_size;
		if (used > size)
			used = size;
		if (used > 0)
			memcpy(d->head + d->head_size, bytes, used);
		d->head_size = (unsigned char)(d->head_size + used);
		if (d->head_size == sizeof(d->head) && begin_payload(d, e) != 0)
			return -1;
	}
	size_t piece = size - used < d->left ? size - used : d->left;
	d->left -= (uint32_t)piece;
	*ret_piece = bytes + used;
	*ret_piece_size = piece;
	*ret_used = used + piece;
	return 0;
}
