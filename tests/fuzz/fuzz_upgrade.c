/*
 * docker/upgrade: the head ends at the same place however much of it was there
 * when one looked, and never beyond the bytes or the ceiling.
 */
#include "docker/upgrade.h"

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
	struct upgrade whole = {0}, parts = {0};
	struct err e = ERR_INIT;
	int rc_one, rc_two = 0;

	size--;
	rc_one = upgrade_head(bytes, size, &whole, &e);
	for (size_t at = step; rc_two == 0; at += step) {
		rc_two = upgrade_head(bytes, at < size ? at : size, &parts, &e);
		if (at >= size)
			break;
	}
	if (rc_one != rc_two)
		abort();
	if (rc_one <= 0)
		return 0;
	if (whole.head_size > size || whole.head_size > UPGRADE_HEAD_MAX ||
	    whole.status < 100 || whole.status > 599)
		abort();
	if (whole.status != parts.status || whole.framed != parts.framed ||
	    whole.head_size != parts.head_size ||
	    whole.content_length != parts.content_length)
		abort();
	return 0;
}
