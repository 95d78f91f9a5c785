/* What comes from the host. */
#include "init/host.h"
#include "lib/clock.h"
#include "lib/fd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Exactly size more bytes onto b. */
static int
receive(
    struct host *h, struct buf *b, size_t size, int64_t deadline, struct err *e)
{
	char *to = buf_grow(b, size);

	if (to == NULL)
		return err_set(e, ERR_GUEST, "request is too large");
	for (size_t got = 0; got < size;) {
		ssize_t n = read(h->fd, to + got, size - got);

		if (n > 0) {
			got += (size_t)n;
			continue;
		}
		if (n == 0)
			return err_set(e, ERR_GONE_AWAY, "no request came");
		if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, ERR_GONE_AWAY, "cannot read");
		struct pollfd p = {h->fd, POLLIN, 0};
		if (poll(&p, 1, clock_left(deadline)) == 0)
			return err_set(e, ERR_GUEST, "no request in time");
	}
	b->size += size;
	return 0;
}

int
host_request(struct host *h, int64_t deadline_ms, struct buf *frame,
    struct buf *store, struct wire_exec *ret_x, struct err *e)
{
	enum wire_type type;
	const char *payload;
	size_t size, used;

	/* Head and payload apart: what follows them is not touched. */
	if (receive(h, frame, WIRE_HEAD, deadline_ms, e) != 0)
		return -1;
	size = wire_payload_size(frame->data);
	if (size > WIRE_MAX)
		return err_set(e, ERR_GUEST, "request is too large");
	if (receive(h, frame, size, deadline_ms, e) != 0)
		return -1;
	int rc = wire_next(
	    frame->data, frame->size, &type, &payload, &size, &used, e);
	if (rc < 0)
		return -1;
	if (rc == 0 || type != WIRE_EXEC)
		return err_set(e, ERR_GUEST, "an exec frame must come first");
	return wire_get_exec(payload, size, store, ret_x, e);
}

void
host_add_input(struct host *h, const char *bytes, size_t size)
{
	if (h->input_closed) {
		h->taken += (uint32_t)size;
		return;
	}
	buf_add(&h->input, bytes, size);
	if (size > 0)
		h->mid_line = bytes[size - 1] != '\n';
}

void
host_end_input(struct host *h)
{
	if (!h->tty) {
		h->input_end = true;
		return;
	}
	/* VEOF ends a read(2); within a line the first one only passes on what
	 * there is of it. */
	buf_adds(&h->input, h->mid_line ? "\4\4" : "\4");
	h->mid_line = false;
}

static void
take_frame(
    struct host *h, enum wire_type type, const char *payload, size_t size)
{
	if (type == WIRE_KILL) {
		h->kill = true;
	} else if (type == WIRE_DETACH) {
		h->detach = true;
	} else if (type == WIRE_STDIN_END) {
		host_end_input(h);
	} else if (type == WIRE_STDIN && !h->input_end) {
		h->owed += (uint32_t)size;
		host_add_input(h, payload, size);
		/* More than was on offer: not our host. */
		h->gone = h->gone || h->input.over;
	} else {
		h->gone = true;
	}
}

void
host_receive(struct host *h)
{
	struct buf *b = &h->frames;
	size_t room = b->max - b->size;
	char *to = buf_grow(b, room);
	ssize_t n = to != NULL ? read(h->fd, to, room) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		h->gone = true;
		return;
	}
	b->size += (size_t)n;

	enum wire_type type;
	const char *payload;
	size_t size, used, at = 0;
	struct err e = ERR_INIT;
	int rc = 0;
	while (!h->gone && (rc = wire_next(b->data + at, b->size - at, &type,
				&payload, &size, &used, &e)) == 1) {
		take_frame(h, type, payload, size);
		at += used;
	}
	h->gone = h->gone || rc < 0;
	buf_drop(b, at);
}

bool
host_has_input(const struct host *h)
{
	return !h->input_closed && (h->input.size > 0 || h->input_end);
}

void
host_feed(struct host *h, int *fd)
{
	while (h->input.size > 0) {
		ssize_t n = write(*fd, h->input.data, h->input.size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* A command that does not want its input is no error: what
		 * comes for it is taken and dropped. */
		if (n < 0) {
			n = (ssize_t)h->input.size;
			h->input_closed = true;
		}
		buf_drop(&h->input, (size_t)n);
		h->taken += (uint32_t)n;
	}
	h->input_closed = h->input_closed || h->input_end;
	if (h->input_closed)
		fd_close(fd);
}

uint32_t
host_take_room(struct host *h)
{
	uint32_t room = h->taken < h->owed ? h->taken : h->owed;

	/* In not too small coins. What else was taken came from elsewhere. */
	if (room > 0 && room < WIRE_WINDOW / 2 && h->input.size > 0)
		return 0;
	h->owed -= room;
	h->taken = 0;
	return room;
}
