/* The other end of an exec. */
#include "guest.h"
#include "lib/str.h"
#include "lib/wire_object.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LOOK_MS 10 /* between two looks whether the container is over */
#define IN_MAX (WIRE_HEAD + WIRE_MAX)
#define OUT_MAX 4096

/* The next frame of the caller, or 0 where nothing more is to be done. */
static enum wire_type
next_frame(int fd, const struct fake_guest *g, struct buf *in, size_t *used,
    const char **ret_payload, size_t *ret_size)
{
	struct err e;
	enum wire_type type;

	buf_drop(in, *used);
	*used = 0;
	while (wire_next(in->data, in->size, &type, ret_payload, ret_size, used,
		   &e) == 0) {
		struct pollfd p = {fd, POLLIN, 0};
		char piece[4096];

		if (g->over(g->arg))
			return 0;
		if (poll(&p, 1, LOOK_MS) <= 0)
			continue;
		ssize_t n = recv(fd, piece, sizeof(piece), 0);
		if (n <= 0)
			return 0;
		buf_add(in, piece, (size_t)n);
	}
	return *used > 0 ? type : 0;
}

/* Frames as Docker packs an exec's standard output. */
static void
send_frames(int fd, const struct buf *frames, size_t most)
{
	unsigned char head[8] = {1, 0, 0, 0, 0, 0,
	    (unsigned char)(frames->size >> 8), (unsigned char)frames->size};
	size_t size = frames->size < most ? frames->size : most;

	(void)!send(fd, head, sizeof(head), MSG_NOSIGNAL);
	(void)!send(fd, frames->data, size, MSG_NOSIGNAL);
}

static void
finish(int fd, const char *script)
{
	struct wire_exit exit = {.code = 0};
	BUF_AUTO out = BUF_INIT(OUT_MAX);
	int64_t code = 0;

	if (str_starts(script, "say "))
		wire_put(&out, WIRE_STDOUT, script + 4, strlen(script + 4));
	if (str_starts(script, "exit ") &&
	    str_to_int(script + 5, 0, 255, &code) == 0)
		exit.code = (int32_t)code;
	wire_put_exit(&out, &exit);
	send_frames(fd, &out, OUT_MAX);
}

/* A command that waits to be killed. */
static void
wait_for_end(int fd, const struct fake_guest *g, struct buf *in, size_t *used)
{
	static const struct wire_exit killed = {.code = 137, .signal = 9};
	BUF_AUTO out = BUF_INIT(OUT_MAX);
	const char *payload;
	enum wire_type type;
	size_t size;

	while ((type = next_frame(fd, g, in, used, &payload, &size)) != 0)
		if (type == WIRE_KILL || type == WIRE_DETACH) {
			if (type == WIRE_KILL)
				wire_put_exit(&out, &killed);
			else
				wire_put(&out, WIRE_DONE, NULL, 0);
			send_frames(fd, &out, OUT_MAX);
			return;
		}
}

/* -- execs that run already ------------------------------------------------ */

/* The last exec that was begun: it has said hi, and goes on for ever. */
static struct {
	pthread_mutex_t lock;
	char id[WIRE_ID_MAX + 1];
} last = {PTHREAD_MUTEX_INITIALIZER, ""};

static void
note(const struct wire_exec *x)
{
	(void)pthread_mutex_lock(&last.lock);
	(void)snprintf(last.id, sizeof(last.id), "%s", x->id ? x->id : "");
	(void)pthread_mutex_unlock(&last.lock);
}

static void
add_list(struct buf *out)
{
	struct wire_info info = {
	    .id = last.id, .cmd = "wait", .kept = true, .end = 3};

	(void)pthread_mutex_lock(&last.lock);
	if (*last.id != '\0')
		wire_put_info(out, &info);
	(void)pthread_mutex_unlock(&last.lock);
}

/* Something other than a command; what it asks for is done, whatever exec it
 * is about. */
static void
answer(int fd, const struct fake_guest *g, enum wire_type type,
    const char *payload, size_t size, struct buf *in, size_t *used)
{
	static const struct wire_exit ended = {.code = 0};
	struct wire_act act = {.what = WIRE_ACT_SIGNAL};
	struct wire_fenced fenced = {.done = true};
	BUF_AUTO out = BUF_INIT(OUT_MAX);
	struct err e;

	if (type == WIRE_ACT && wire_get_act(payload, size, &act, &e) != 0)
		return;
	if (type == WIRE_FENCE &&
	    wire_get_fence(payload, size, &fenced.generation, &e) != 0)
		return;
	if (type == WIRE_ATTACH || act.what == WIRE_ACT_INPUT)
		wire_put(&out, WIRE_STARTED, NULL, 0);
	if (act.what == WIRE_ACT_INPUT) {
		send_frames(fd, &out, OUT_MAX);
		buf_reset(&out);
		while ((type = next_frame(fd, g, in, used, &payload, &size)) !=
		       WIRE_STDIN_END)
			if (type == 0)
				return;
	}
	if (type == WIRE_LIST)
		add_list(&out);
	if (type == WIRE_ATTACH) {
		wire_put(&out, WIRE_STDOUT, "hi\n", 3);
		wire_put_exit(&out, &ended);
	} else if (type == WIRE_FENCE) {
		wire_put_fenced(&out, &fenced);
	} else {
		wire_put(&out, WIRE_DONE, NULL, 0);
	}
	send_frames(fd, &out, g->cut ? out.size - 1 : OUT_MAX);
}

void
fake_guest(int fd, const struct fake_guest *g)
{
	BUF_AUTO in = BUF_INIT(IN_MAX);
	BUF_AUTO store = BUF_INIT(IN_MAX);
	BUF_AUTO started = BUF_INIT(OUT_MAX);
	struct err e;
	struct wire_exec x;
	const char *payload;
	size_t size, used = 0;

	enum wire_type type = next_frame(fd, g, &in, &used, &payload, &size);
	if (type == WIRE_LIST || type == WIRE_ATTACH || type == WIRE_ACT ||
	    type == WIRE_FENCE)
		answer(fd, g, type, payload, size, &in, &used);
	if (type != WIRE_EXEC ||
	    wire_get_exec(payload, size, &store, &x, &e) != 0)
		return;
	note(&x);
	wire_put(&started, WIRE_STARTED, NULL, 0);
	if (g->cut) {
		wire_put(&started, WIRE_STDOUT, "half a frame", 12);
		send_frames(fd, &started, started.size - 6);
		return;
	}
	send_frames(fd, &started, OUT_MAX);
	const char *script = x.script != NULL ? x.script : "";
	if (str_eq(script, "wait"))
		wait_for_end(fd, g, &in, &used);
	else
		finish(fd, script);
}
