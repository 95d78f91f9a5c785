/*
 * lib/wire: the same frames however the input is cut; what decodes encodes to
 * the same bytes again; nothing outside the payload is read. The first byte
 * chooses the size of the pieces.
 */
#include "lib/mem.h"
#include "lib/wire.h"
#include "lib/wire_file.h"
#include "lib/wire_object.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was put is the frame of that payload. */
static void
must_equal(const struct buf *put, const char *payload, size_t size)
{
	if (put->over || put->size != WIRE_HEAD + size ||
	    (size > 0 && memcmp(put->data + WIRE_HEAD, payload, size) != 0))
		abort();
}

/* Decode the payload and encode it again: -1 where it is refused, 1 where there
 * is nothing to decode. */
static int
again_of_execs(enum wire_type type, const char *payload, size_t size,
    struct buf *again, struct err *e)
{
	BUF_AUTO store = BUF_INIT(8 * WIRE_MAX);
	struct wire_exec exec;
	struct wire_exit exit;
	struct wire_attach attach;
	struct wire_act act;
	struct wire_info info;
	uint64_t gap;
	int rc = 1;

	if (type == WIRE_EXEC) {
		rc = wire_get_exec(payload, size, &store, &exec, e);
		if (rc == 0)
			wire_put_exec(again, &exec);
	} else if (type == WIRE_EXIT) {
		rc = wire_get_exit(payload, size, &exit, e);
		if (rc == 0)
			wire_put_exit(again, &exit);
	} else if (type == WIRE_ATTACH) {
		rc = wire_get_attach(payload, size, &attach, e);
		if (rc == 0)
			wire_put_attach(again, &attach);
	} else if (type == WIRE_ACT) {
		rc = wire_get_act(payload, size, &act, e);
		if (rc == 0)
			wire_put_act(again, &act);
	} else if (type == WIRE_INFO) {
		rc = wire_get_info(payload, size, &info, e);
		if (rc == 0)
			wire_put_info(again, &info);
	} else if (type == WIRE_GAP) {
		rc = wire_get_gap(payload, size, &gap, e);
		if (rc == 0)
			wire_put_gap(again, gap);
	}
	return rc;
}

static int
again_of_others(enum wire_type type, const char *payload, size_t size,
    struct buf *again, struct err *e)
{
	uint32_t room;
	uint64_t fence;
	struct wire_fenced fenced;
	struct wire_file file;
	struct wire_read read;
	struct wire_stat stat;
	int rc = 1;

	if (type == WIRE_ROOM) {
		rc = wire_get_room(payload, size, &room, e);
		if (rc == 0)
			wire_put_room(again, room);
	} else if (type == WIRE_FENCE) {
		rc = wire_get_fence(payload, size, &fence, e);
		if (rc == 0)
			wire_put_fence(again, fence);
	} else if (type == WIRE_FENCED) {
		rc = wire_get_fenced(payload, size, &fenced, e);
		if (rc == 0)
			wire_put_fenced(again, &fenced);
	} else if (type == WIRE_FILE) {
		rc = wire_get_file(payload, size, &file, e);
		if (rc == 0)
			wire_put_file(again, &file);
	} else if (type == WIRE_READ) {
		rc = wire_get_read(payload, size, &read, e);
		if (rc == 0)
			wire_put_read(again, &read);
	} else if (type == WIRE_STAT) {
		rc = wire_get_stat(payload, size, &stat, e);
		if (rc == 0)
			wire_put_stat(again, &stat);
	}
	return rc;
}

static void
decode(enum wire_type type, const char *payload, size_t size)
{
	BUF_AUTO again = BUF_INIT(2 * WIRE_MAX);
	struct err e = ERR_INIT;
	enum wire_fail why;
	const char *text;
	size_t text_size;

	if (type == WIRE_FAIL &&
	    wire_get_fail(payload, size, &why, &text, &text_size, &e) == 0 &&
	    text_size + 1 != size)
		abort();
	int rc = again_of_execs(type, payload, size, &again, &e);
	if (rc == 1)
		rc = again_of_others(type, payload, size, &again, &e);
	if (rc == 0)
		must_equal(&again, payload, size);
	else if (rc < 0 && e.kind != ERR_GUEST && e.kind != ERR_UNSUPPORTED)
		abort();
}

/* Take whole frames off the front of b, noting them in *seen. */
static int
take(struct buf *b, struct buf *seen)
{
	enum wire_type type;
	const char *payload;
	size_t size, used;
	struct err e = ERR_INIT;
	int rc;

	while ((rc = wire_next(b->data, b->size, &type, &payload, &size, &used,
		    &e)) == 1) {
		if (used != WIRE_HEAD + size || used > b->size ||
		    payload != b->data + WIRE_HEAD)
			abort();
		buf_add(seen, b->data, used);
		/* A copy of its own, so that a sanitizer sees the end. */
		char *copy = mem_alloc(size);
		if (size > 0)
			memcpy(copy, payload, size);
		decode(type, copy, size);
		free(copy);
		buf_drop(b, used);
	}
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	size_t step = 1 + data[0];
	const char *bytes = (const char *)data + 1;
	BUF_AUTO whole = BUF_INIT(size);
	BUF_AUTO parts = BUF_INIT(size);
	BUF_AUTO one = BUF_INIT(size);
	BUF_AUTO two = BUF_INIT(size);
	int rc_two = 0;

	size--;
	buf_add(&whole, bytes, size);
	int rc_one = take(&whole, &one);
	for (size_t at = 0; at < size && rc_two == 0; at += step) {
		buf_add(
		    &parts, bytes + at, size - at < step ? size - at : step);
		rc_two = take(&parts, &two);
	}
	if (rc_one != rc_two || one.size != two.size ||
	    memcmp(one.data, two.data, one.size) != 0)
		abort();
	return 0;
}
