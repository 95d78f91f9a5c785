/*
 * docker/demux: the same bytes on the same streams however the input is cut,
 * nothing lost or made up. The first byte chooses the size of the pieces.
 */
#include "docker/demux.h"
#include "lib/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Everything that came out, each byte led by its stream. */
static int
take_apart(struct demux *d, const char *bytes, size_t size, struct buf *to)
{
	struct err e = ERR_INIT;

	while (size > 0) {
		const char *piece;
		size_t used, piece_size;

		if (demux_next(
			d, bytes, size, &used, &piece, &piece_size, &e) != 0)
			return -1;
		if (used == 0 || used > size || piece_size > used)
			abort();
		if (piece_size > 0 && piece + piece_size != bytes + used)
			abort();
		for (size_t i = 0; i < piece_size; i++) {
			buf_addc(to, (char)d->stream);
			buf_addc(to, piece[i]);
		}
		bytes += used;
		size -= used;
	}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t step = 1 + data[0] % 40u;
	const char *bytes = (const char *)data + 1;
	struct demux whole = DEMUX_INIT, parts = DEMUX_INIT;
	BUF_AUTO one = BUF_INIT(2 * size);
	BUF_AUTO two = BUF_INIT(2 * size);
	int rc_one, rc_two = 0;

	size--;
	rc_one = take_apart(&whole, bytes, size, &one);
	for (size_t at = 0; at < size && rc_two == 0; at += step)
		rc_two = take_apart(&parts, bytes + at,
		    size - at < step ? size - at : step, &two);
	if (rc_one != rc_two || one.over || one.size != two.size ||
	    memcmp(one.data, two.data, one.size) != 0)
		abort();
	return 0;
}
