/* A reader of what a kept exec says. */
#include "init/attach.h"
#include "lib/fd.h"
#include "lib/wire_object.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_MS 1000 /* for whether the host is still there */

/* Waits as long as it takes. */
static int
say(const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(STDOUT_FILENO, bytes, size);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

static int
say_all(struct buf *frames)
{
	int rc = say(frames->data, frames->size);

	buf_reset(frames);
	return rc;
}

/* There is nothing to say for a host. */
static bool
host_is_there(void)
{
	char byte;

	return recv(STDIN_FILENO, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EINTR);
}

int
attach_run(struct ring *ring, uint64_t offset)
{
	static char frame[WIRE_HEAD + WIRE_CHUNK];
	BUF_AUTO other = BUF_INIT(256);
	enum wire_type stream = WIRE_STDOUT;
	struct ring_end end;

	if (fd_set_nonblock(STDOUT_FILENO, 0) != 0)
		return 1;
	wire_put(&other, WIRE_STARTED, NULL, 0);
	for (;;) {
		/* In this order: then there is nothing after what is got. */
		bool finished = ring_finished(ring, &end);
		uint64_t wanted = offset;
		size_t size = ring_get(
		    ring, &offset, frame + WIRE_HEAD, WIRE_CHUNK, &stream);

		if (offset != wanted)
			wire_put_gap(&other, offset);
		if (size == 0 && finished)
			wire_put_exit(&other, &end.exit);
		if (say_all(&other) != 0)
			return 1;
		wire_head(frame, stream, size);
		if (size > 0 && say(frame, WIRE_HEAD + size) != 0)
			return 1;
		offset += size;
		if (size == 0 && finished)
			return 0;
		if (size == 0)
			ring_wait(ring, offset, LOOK_MS);
		if (size == 0 && !host_is_there())
			return 1;
	}
}
