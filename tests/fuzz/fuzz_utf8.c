/*
 * lib/utf8: the output is valid UTF-8, the same however the input is cut, and
 * the input itself where that is valid. The first byte chooses the cut.
 */
#include "lib/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t cut = data[0];
	const uint8_t *text = data + 1;
	size--;
	cut = size == 0 ? 0 : cut % (size + 1);

	struct utf8 whole = UTF8_INIT, parts = UTF8_INIT;
	BUF_AUTO one = BUF_INIT(size * 3);
	BUF_AUTO two = BUF_INIT(size * 3);
	utf8_feed(&whole, text, size, &one);
	utf8_end(&whole, &one);
	utf8_feed(&parts, text, cut, &two);
	utf8_feed(&parts, text + cut, size - cut, &two);
	utf8_end(&parts, &two);

	if (one.over || two.over || one.size != two.size ||
	    memcmp(one.data, two.data, one.size) != 0)
		abort();
	if (!utf8_valid(one.data, one.size))
		abort();
	bool same = one.size == size && memcmp(one.data, text, size) == 0;
	if (same != utf8_valid(text, size))
		abort();
	return 0;
}
