/*
 * guest/inbound: the same events however the input is cut, and memory within
 * its bounds; guest/refusal: what was said in words becomes valid text. The
 * first byte chooses the size of the pieces, the second the operation and
 * whether it goes over Docker.
 */
#include "guest/inbound.h"
#include "guest/refusal.h"
#include "lib/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must_be_text(const char *words, size_t size)
{
	struct err e = ERR_INIT;

	if (refusal_of_engine(words, size, &e) != -1 ||
	    !utf8_valid(e.text, strlen(e.text)))
		abort();
	if (refusal_of_guest(WIRE_FAIL_CWD, words, size, &e) != -1 ||
	    e.kind != ERR_INPUT || !utf8_valid(e.text, strlen(e.text)))
		abort();
	const struct wire_file archive = {
	    .path = "", .to = "", .root = "/work"};
	if (refusal_of_file(WIRE_FAIL_ARCHIVE, &archive, words, size, &e) !=
		-1 ||
	    e.kind != ERR_INPUT || !utf8_valid(e.text, strlen(e.text)))
		abort();
}

/* What a path of the workload's becomes. */
static void
must_be_text_too(const char *name)
{
	const struct wire_file move = {
	    .path = name, .to = name, .root = "/work"};
	struct err e = ERR_INIT;

	if (refusal_of_file(WIRE_FAIL_EXISTS, &move, "", 0, &e) != -1 ||
	    e.kind != ERR_FILE_EXISTS || !utf8_valid(e.text, strlen(e.text)))
		abort();
}

static int
hear(struct inbound *in, struct buf *heard, struct err *e)
{
	struct inbound_event ev;
	int rc;

	for (;;) {
		bool pending = inbound_pending(in);

		rc = inbound_next(in, &ev, e);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			if (pending)
				abort();
			return 0;
		}
		if (ev.size > WIRE_CHUNK || in->room > WIRE_WINDOW)
			abort();
		if (ev.type == WIRE_STAT)
			must_be_text_too(ev.stat.name);
		if (ev.type == WIRE_STAT)
			must_be_text_too(ev.stat.target);
		buf_addc(heard, (char)ev.type);
		buf_add(heard, ev.bytes, ev.size);
	}
}

static int
feed(struct inbound *in, const char *bytes, size_t size, struct err *e)
{
	size_t room;
	char *to = inbound_space(in, &room);

	if (room < INBOUND_FEED)
		abort();
	memcpy(to, bytes, size);
	return inbound_came(in, size, e);
}

static int
listen_to(unsigned char how, const char *bytes, size_t size, size_t step,
    struct buf *heard)
{
	struct inbound in = INBOUND_INIT;
	struct err e = ERR_INIT;
	int rc = 0;

	in.plain = how & 0x80;
	in.kind = (enum inbound_kind)(how % 0x80 % INBOUND_KINDS);
	if (in.kind == INBOUND_DETACH) /* it was an exec before */
		in.state = INBOUND_RUNNING;
	for (size_t at = 0; at < size && rc == 0; at += step) {
		rc = feed(
		    &in, bytes + at, size - at < step ? size - at : step, &e);
		if (rc == 0)
			rc = hear(&in, heard, &e);
		if (in.notes.size > INBOUND_NOTES ||
		    in.frames.size > in.frames.max)
			abort();
	}
	if (rc != 0 && e.kind != ERR_GUEST)
		abort();
	buf_addc(heard, (char)in.state);
	size_t words_size;
	const char *words = inbound_words(&in, &words_size);
	if (rc == 0)
		buf_add(heard, words, words_size);
	must_be_text(words, words_size);
	inbound_release(&in);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t step = 1 + data[0] % 64u;
	BUF_AUTO one = BUF_INIT(2 * size + INBOUND_NOTES);
	BUF_AUTO two = BUF_INIT(2 * size + INBOUND_NOTES);
	const char *bytes = (const char *)data + 2;

	size -= 2;
	int rc_one = listen_to(data[1], bytes, size, INBOUND_FEED, &one);
	int rc_two = listen_to(data[1], bytes, size, step, &two);
	/* A stream that breaks may break before the events of the same piece
	 * were heard; one that does not must be heard alike. */
	if (rc_one == 0 && rc_two == 0 &&
	    (one.over || one.size != two.size ||
		memcmp(one.data, two.data, one.size) != 0))
		abort();
	return 0;
}
