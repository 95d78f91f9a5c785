/* What comes from a run's init. */
#include "guest/inbound.h"

void
inbound_release(struct inbound *in)
{
	buf_release(&in->frames);
	buf_release(&in->notes);
}

/* Add text to what a person may read, up to its limit. */
static void
note(struct buf *to, const char *bytes, size_t size)
{
	size_t room = to->size < INBOUND_NOTES ? INBOUND_NOTES - to->size : 0;

	buf_add(to, bytes, size < room ? size : room);
}

static int
feed_docker(struct inbound *in, const char *bytes, size_t size, struct err *e)
{
	const char *piece;
	size_t used, piece_size;

	for (; size > 0; bytes += used, size -= used) {
		if (demux_next(&in->demux, bytes, size, &used, &piece,
			&piece_size, e) != 0) {
			e->kind = ERR_GUEST;
			return -1;
		}
		if (in->demux.stream != DEMUX_STDOUT)
			note(&in->notes, piece, piece_size);
		else if (in->state == INBOUND_REFUSED)
			note(&in->frames, piece, piece_size);
		else if (in->state != INBOUND_OVER)
			buf_add(&in->frames, piece, piece_size);
	}
	return 0;
}

int
inbound_feed(struct inbound *in, const char *bytes, size_t size, struct err *e)
{
	buf_drop(&in->frames, in->at);
	in->at = 0;
	if (!in->plain && feed_docker(in, bytes, size, e) != 0)
		return -1;
	if (in->plain && in->state != INBOUND_OVER)
		buf_add(&in->frames, bytes, size);
	if (in->frames.over)
		return err_set(e, ERR_GUEST, "the run's init sent too much");
	return 0;
}

const char *
inbound_words(const struct inbound *in, size_t *ret_size)
{
	const struct buf *words =
	    in->state == INBOUND_REFUSED ? &in->frames : &in->notes;

	*ret_size = words->size;
	return words->data;
}

/* What the engine says when it cannot exec comes as plain text on the same
 * stream; none of its bytes can begin a frame. */
static int
refused(struct inbound *in)
{
	if (in->frames.size > INBOUND_NOTES)
		in->frames.size = INBOUND_NOTES;
	in->state = INBOUND_REFUSED;
	return 0;
}

static int
take_room(struct inbound *in, const char *payload, size_t size, struct err *e)
{
	uint32_t bytes;

	if (wire_get_room(payload, size, &bytes, e) != 0)
		return -1;
	if (bytes > WIRE_WINDOW - in->room)
		return err_set(e, ERR_GUEST, "more room than was taken");
	in->room += bytes;
	return 0;
}

/* The state after a frame of that type, or -1 where it cannot come now. */
static int
follows(enum inbound_state state, enum wire_type type)
{
	if (state == INBOUND_FRESH)
		return type == WIRE_STARTED ? INBOUND_RUNNING
		       : type == WIRE_FAIL  ? INBOUND_OVER
					    : -1;
	switch (type) {
	case WIRE_STDOUT:
	case WIRE_STDERR:
	case WIRE_ROOM:
		return INBOUND_RUNNING;
	case WIRE_EXIT:
		return INBOUND_OVER;
	default:
		return -1;
	}
}

int
inbound_next(struct inbound *in, struct inbound_event *ret_event, struct err *e)
{
	struct inbound_event ev = {.type = WIRE_ROOM};
	size_t used;

	while (ev.type == WIRE_ROOM) {
		if (in->state == INBOUND_OVER || in->state == INBOUND_REFUSED)
			return 0;
		int rc = wire_next(in->frames.data + in->at,
		    in->frames.size - in->at, &ev.type, &ev.bytes, &ev.size,
		    &used, e);
		if (rc < 0 && in->state == INBOUND_FRESH && !in->plain)
			return refused(in);
		if (rc <= 0)
			return rc;
		int next = follows(in->state, ev.type);
		if (next < 0)
			return err_set(e, ERR_GUEST,
			    "a frame of type %d at the wrong time", ev.type);
		if (ev.type == WIRE_ROOM &&
		    take_room(in, ev.bytes, ev.size, e) != 0)
			return -1;
		in->state = (enum inbound_state)next;
		in->at += used;
	}
	if (ev.type == WIRE_EXIT &&
	    wire_get_exit(ev.bytes, ev.size, &ev.exit, e) != 0)
		return -1;
	if (ev.type == WIRE_FAIL) {
		if (wire_get_fail(ev.bytes, ev.size, &ev.why, &ev.bytes,
			&ev.size, e) != 0)
			return -1;
	}
	*ret_event = ev;
	return 1;
}

bool
inbound_pending(const struct inbound *in)
{
	enum wire_type type = WIRE_ROOM;
	const char *payload;
	size_t size, used = 0, at = in->at;
	struct err e = ERR_INIT;
	int rc = in->state == INBOUND_RUNNING;

	for (; rc == 1 && type == WIRE_ROOM; at += used)
		rc = wire_next(in->frames.data + at, in->frames.size - at,
		    &type, &payload, &size, &used, &e);
	return rc != 0;
}
