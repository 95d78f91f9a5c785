/* Frames on their way to the host. */
#include "init/output.h"

#include <errno.h>
#include <unistd.h>

/* Less is not worth a read: the bytes behind are moved for each. */
#define OUTPUT_LEAST (32u * 1024)

bool
output_empty(const struct output *o)
{
	return o->sent == o->frames.size;
}

static size_t
room(const struct output *o)
{
	size_t used = o->frames.size - o->sent + WIRE_HEAD;

	return used < OUTPUT_MAX ? OUTPUT_MAX - used : 0;
}

bool
output_has_room(const struct output *o)
{
	return room(o) >= OUTPUT_LEAST;
}

struct buf *
output_frames(struct output *o)
{
	buf_drop(&o->frames, o->sent);
	o->sent = 0;
	return &o->frames;
}

ssize_t
output_take(
    struct output *o, enum wire_type type, int fd, const char **ret_bytes)
{
	size_t want = room(o) < WIRE_CHUNK ? room(o) : WIRE_CHUNK;
	struct buf *frames = output_frames(o);
	char *frame = buf_grow(frames, WIRE_HEAD + want);

	if (frame == NULL) {
		errno = ENOBUFS; /* not reached: OUTPUT_MAX bounds want */
		return -1;
	}
	*ret_bytes = frame + WIRE_HEAD;
	ssize_t n = read(fd, frame + WIRE_HEAD, want);
	if (n > 0) {
		wire_head(frame, type, (size_t)n);
		frames->size += WIRE_HEAD + (size_t)n;
	}
	return n;
}

void
output_flush(struct output *o)
{
	while (!output_empty(o) && !o->broken) {
		ssize_t n = write(
		    o->fd, o->frames.data + o->sent, o->frames.size - o->sent);

		if (n > 0)
			o->sent += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			o->broken = true;
	}
	buf_reset(&o->frames);
	o->sent = 0;
}
