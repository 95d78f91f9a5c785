/*
 * docker/pull: the same sums and the same error however the stream is cut. The
 * first byte chooses the size of the pieces.
 */
#include "docker/pull.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t step = 1 + data[0];
	const char *bytes = (const char *)data + 1;
	struct pull whole = PULL_INIT, parts = PULL_INIT;
	struct err e = ERR_INIT;
	int rc_one, rc_two = 0;

	size--;
	rc_one = pull_feed(&whole, bytes, size, &e);
	for (size_t at = 0; at < size && rc_two == 0; at += step)
		rc_two = pull_feed(&parts, bytes + at,
		    size - at < step ? size - at : step, &e);
	if (rc_one != rc_two || whole.current != parts.current ||
	    whole.total != parts.total || strcmp(whole.error, parts.error) != 0)
		abort();
	if (whole.current < 0 || whole.total < 0)
		abort();
	(void)pull_blame(whole.error);
	pull_release(&whole);
	pull_release(&parts);
	return 0;
}
