/* What comes from a run's init. */
#include "guest/inbound.h"

#include <string.h>

/* -- bytes ----------------------------------------------------------------- */

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

char *
inbound_space(struct inbound *in, size_t *ret_size)
{
	struct buf *b = &in->frames;

	/* Only the beginning of a frame is left then, or a few words. */
	buf_drop(b, in->state == INBOUND_OVER ? b->size : in->at);
	in->at = 0;
	*ret_size = b->max - b->size;
	return buf_grow(b, *ret_size);
}

/* Take Docker's headers out of what has come: the rest moves down. */
static int
strip(struct inbound *in, size_t size, struct err *e)
{
	struct buf *b = &in->frames;
	const char *bytes = b->data + b->size, *piece;
	size_t used, piece_size;

	for (; size > 0; bytes += used, size -= used) {
		if (demux_next(&in->demux, bytes, size, &used, &piece,
			&piece_size, e) != 0) {
			e->kind = ERR_GUEST;
			return -1;
		}
		if (piece_size > 0 && in->demux.stream != DEMUX_STDOUT) {
			note(&in->notes, piece, piece_size);
		} else if (piece_size > 0 && in->state != INBOUND_OVER) {
			memmove(b->data + b->size, piece, piece_size);
			b->size += piece_size;
		}
	}
	return 0;
}

int
inbound_came(struct inbound *in, size_t size, struct err *e)
{
	struct buf *b = &in->frames;

	if (!in->plain && strip(in, size, e) != 0)
		return -1;
	if (in->plain && in->state != INBOUND_OVER)
		b->size += size;
	if (in->state == INBOUND_REFUSED && b->size > INBOUND_NOTES)
		b->size = INBOUND_NOTES;
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

/* -- frames ---------------------------------------------------------------- */

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

/* What may come, and the state after it. Anything else is an error. */
static const struct {
	enum inbound_kind kind;
	enum inbound_state state;
	enum wire_type type;
	enum inbound_state next;
} rules[] = {
#define R(kind, state, type, next)                                           \
	{                                                                    \
		INBOUND_##kind, INBOUND_##state, WIRE_##type, INBOUND_##next \
	}
    R(EXEC, FRESH, STARTED, RUNNING),
    R(EXEC, FRESH, FAIL, OVER),
    R(EXEC, RUNNING, STDOUT, RUNNING),
    R(EXEC, RUNNING, STDERR, RUNNING),
    R(EXEC, RUNNING, ROOM, RUNNING),
    R(EXEC, RUNNING, EXIT, OVER),
    R(DETACH, RUNNING, STDOUT, RUNNING),
    R(DETACH, RUNNING, STDERR, RUNNING),
    R(DETACH, RUNNING, ROOM, RUNNING),
    R(DETACH, RUNNING, EXIT, OVER),
    R(DETACH, RUNNING, DONE, OVER),
    R(ATTACH, FRESH, STARTED, RUNNING),
    R(ATTACH, FRESH, FAIL, OVER),
    R(ATTACH, RUNNING, GAP, RUNNING),
    R(ATTACH, RUNNING, STDOUT, RUNNING),
    R(ATTACH, RUNNING, STDERR, RUNNING),
    R(ATTACH, RUNNING, EXIT, OVER),
    R(INPUT, FRESH, STARTED, RUNNING),
    R(INPUT, FRESH, FAIL, OVER),
    R(INPUT, RUNNING, ROOM, RUNNING),
    R(INPUT, RUNNING, DONE, OVER),
    R(INPUT, RUNNING, FAIL, OVER),
    R(LIST, FRESH, INFO, RUNNING),
    R(LIST, FRESH, DONE, OVER),
    R(LIST, FRESH, FAIL, OVER),
    R(LIST, RUNNING, INFO, RUNNING),
    R(LIST, RUNNING, DONE, OVER),
    R(LIST, RUNNING, FAIL, OVER),
    R(FENCE, FRESH, FENCED, OVER),
    R(FENCE, FRESH, FAIL, OVER),
    R(DO, FRESH, DONE, OVER),
    R(DO, FRESH, FAIL, OVER),
    R(GET, FRESH, STAT, RUNNING),
    R(GET, FRESH, FAIL, OVER),
    R(GET, RUNNING, DATA, RUNNING),
    R(GET, RUNNING, DATA_END, OVER),
    R(GET, RUNNING, FAIL, OVER),
    R(PUT, FRESH, STARTED, RUNNING),
    R(PUT, FRESH, FAIL, OVER),
    R(PUT, RUNNING, DONE, OVER),
    R(PUT, RUNNING, FAIL, OVER),
    R(STATS, FRESH, STAT, RUNNING),
    R(STATS, FRESH, DONE, OVER),
    R(STATS, FRESH, FAIL, OVER),
    R(STATS, RUNNING, STAT, RUNNING),
    R(STATS, RUNNING, DONE, OVER),
    R(STATS, RUNNING, FAIL, OVER),
    R(PACK, FRESH, STARTED, RUNNING),
    R(PACK, FRESH, FAIL, OVER),
    R(PACK, RUNNING, DATA, RUNNING),
    R(PACK, RUNNING, DATA_END, OVER),
    R(PACK, RUNNING, FAIL, OVER),
#undef R
};

/* The state after a frame of that type, or -1 where it cannot come now. */
static int
follows(const struct inbound *in, enum wire_type type)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].kind == in->kind && rules[i].state == in->state &&
		    rules[i].type == type)
			return (int)rules[i].next;
	return -1;
}

/* A flood of such frames would bring nobody an event to stop it by. */
static bool
says_nothing(enum wire_type type, size_t size)
{
	return size == 0 && (type == WIRE_STDOUT || type == WIRE_STDERR ||
				type == WIRE_DATA);
}

/* The next frame whole: 1, and used tells its size; 0 where more must come. One
 * that cannot come now is refused at its head, so that what is waited for
 * always fits. */
static int
next_frame(const struct inbound *in, struct inbound_event *ev, size_t *ret_used,
    enum inbound_state *ret_next, struct err *e)
{
	const char *at = in->frames.data + in->at;
	size_t size = in->frames.size - in->at;
	int rc =
	    wire_next(at, size, &ev->type, &ev->bytes, &ev->size, ret_used, e);

	if (rc < 0 || size < WIRE_HEAD)
		return rc;
	enum wire_type type = (enum wire_type)(unsigned char)at[WIRE_HEAD - 1];
	int next = follows(in, type);
	if (next < 0 || says_nothing(type, wire_payload_size(at)))
		return err_set(e, ERR_GUEST,
		    "a frame of type %d at the wrong time", (int)type);
	*ret_next = (enum inbound_state)next;
	return rc;
}

static int
take_room(struct inbound *in, const char *payload, size_t size, struct err *e)
{
	uint32_t bytes;

	if (wire_get_room(payload, size, &bytes, e) != 0)
		return -1;
	if (bytes == 0 || bytes > in->window - in->room)
		return err_set(e, ERR_GUEST, "room for what was not taken");
	in->room += bytes;
	return 0;
}

/* What is in a frame that has more than bytes. */
static int
decode(struct inbound_event *ev, struct err *e)
{
	const char *bytes = ev->bytes;
	size_t size = ev->size;

	switch (ev->type) {
	case WIRE_EXIT:
		return wire_get_exit(bytes, size, &ev->exit, e);
	case WIRE_FAIL:
		return wire_get_fail(
		    bytes, size, &ev->why, &ev->bytes, &ev->size, e);
	case WIRE_GAP:
		return wire_get_gap(bytes, size, &ev->offset, e);
	case WIRE_INFO:
		return wire_get_info(bytes, size, &ev->info, e);
	case WIRE_STAT:
		return wire_get_stat(bytes, size, &ev->stat, e);
	case WIRE_FENCED:
		return wire_get_fenced(bytes, size, &ev->fenced, e);
	default:
		return 0;
	}
}

int
inbound_next(struct inbound *in, struct inbound_event *ret_event, struct err *e)
{
	struct inbound_event ev = {.type = WIRE_ROOM};
	enum inbound_state next = in->state;
	size_t used = 0;

	while (ev.type == WIRE_ROOM) {
		if (in->state == INBOUND_OVER || in->state == INBOUND_REFUSED)
			return 0;
		int rc = next_frame(in, &ev, &used, &next, e);
		if (rc < 0 && in->state == INBOUND_FRESH && !in->plain)
			return refused(in);
		if (rc <= 0)
			return rc;
		if (ev.type == WIRE_ROOM &&
		    take_room(in, ev.bytes, ev.size, e) != 0)
			return -1;
		in->state = next;
		in->at += used;
	}
	if (decode(&ev, e) != 0)
		return -1;
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
