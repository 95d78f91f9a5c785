/* Of a frame that was just put, for the tests of lib/wire's codecs. */
#ifndef SBX_TESTS_UNIT_WIRE_FRAME_H
#define SBX_TESTS_UNIT_WIRE_FRAME_H

#include "../check.h"
#include "lib/wire.h"

/* The one frame in b. */
static inline enum wire_type
only_frame(const struct buf *b, const char **ret_payload, size_t *ret_size)
{
	struct err e = ERR_INIT;
	enum wire_type type = 0;
	size_t used = 0;

	assert_int_equal(wire_next(b->data, b->size, &type, ret_payload,
			     ret_size, &used, &e),
	    1);
	assert_int_equal(used, b->size);
	return type;
}

/* The one frame in b is whole, and nothing shorter or longer is. */
static inline void
assert_exact(struct buf *b, enum wire_type type,
    int (*get)(const char *at, size_t size, struct err *e))
{
	struct err e = ERR_INIT;
	const char *payload;
	size_t size;

	assert_false(b->over);
	assert_int_equal(only_frame(b, &payload, &size), type);
	check_ok(get(payload, size, &e), &e);
	for (size_t i = 0; i < size; i++)
		check_fails(get(payload, i, &e), &e, ERR_GUEST);
	buf_addc(b, 'x');
	check_fails(get(b->data + WIRE_HEAD, size + 1, &e), &e, ERR_GUEST);
	b->size--;
}

#endif
