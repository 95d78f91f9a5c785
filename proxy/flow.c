/* Moving bytes from one connection to another. */
#include "flow.h"
#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#define TURN (1u << 20)	       /* bytes, before others have theirs */
#define HELD_MOST (1u << 20)   /* never reached */
#define SPLICE_FROM (1u << 18) /* bytes, before a pipe is worth it */
#define SPLICE_LEAST (16 * 1024)
#define SPLICE_MOST (1u << 20) /* more than a pipe takes */

void
flow_init(struct flow *f, struct side *from, struct side *to)
{
	*f = (struct flow){
	    .from = from,
	    .to = to,
	    .held = BUF_INIT(HELD_MOST),
	    .taken = true,
	};
}

void
flow_begin(struct flow *f, enum head_body body, uint64_t length)
{
	f->body = body;
	f->left = length;
	f->taken = body == BODY_NONE || (body == BODY_LENGTH && length == 0);
	f->bad = f->bulk = f->plain = false;
	f->chunk = (struct chunk)CHUNK_INIT;
	f->moved = 0;
}

void
flow_rest(struct flow *f)
{
	if (f->held.size == 0)
		buf_release(&f->held);
	if (f->from->in.size == 0)
		buf_release(&f->from->in);
}

void
flow_release(struct proxy *p, struct flow *f)
{
	buf_release(&f->held);
	if (f->pipe != NULL)
		pipe_give(&p->pipes, f->pipe, f->piped);
	f->pipe = NULL;
	f->piped = 0;
}

/* -- writing --------------------------------------------------------------- */

static void
flush_pipe(struct proxy *p, struct flow *f)
{
	struct side *to = f->to;
	ssize_t n;

	do
		n = splice(f->pipe->from, NULL, to->watch.fd, NULL, f->piped,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		f->piped -= (size_t)n;
		return;
	}
	if (n < 0 && errno == EAGAIN) {
		to->writable = false;
		if (!(to->watch.events & EPOLLOUT))
			(void)loop_watch(
			    p->loop, &to->watch, SIDE_EVENTS | EPOLLOUT);
		return;
	}
	to->deaf = to->reset = to->readable = true;
}

bool
flow_flush(struct proxy *p, struct flow *f)
{
	struct side *to = f->to;

	while (f->held.size > 0 && to->writable && !to->deaf) {
		size_t n = side_write(p->loop, to, f->held.data, f->held.size);

		if (n == f->held.size)
			buf_reset(&f->held);
		else
			buf_drop(&f->held, n);
	}
	while (f->pipe != NULL && f->piped > 0 && f->held.size == 0 &&
	       to->writable && !to->deaf)
		flush_pipe(p, f);
	if (f->piped > 0 || f->held.size > 0 || to->deaf)
		return false;
	if (f->pipe != NULL)
		pipe_give(&p->pipes, f->pipe, 0);
	f->pipe = NULL;
	return true;
}

/* -- reading --------------------------------------------------------------- */

/* How many of these bytes are of the body; of a plain one they are held. */
static size_t
claim(struct flow *f, const char *bytes, size_t size)
{
	struct buf *plain = f->plain ? &f->held : NULL;
	long n;

	switch (f->body) {
	case BODY_NONE:
		return 0;
	case BODY_CLOSE:
		f->moved += size;
		return size;
	case BODY_LENGTH:
		if (size > f->left)
			size = (size_t)f->left;
		f->left -= size;
		f->moved += size;
		f->taken = f->left == 0;
		return size;
	case BODY_CHUNKED:
		n = chunk_plain(&f->chunk, bytes, size, plain, &f->taken);
		f->bad = n < 0;
		f->moved = f->chunk.content;
		return n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

static bool
take_early(struct flow *f)
{
	struct buf *in = &f->from->in;
	size_t n;

	if (in->size == 0 || f->taken || f->bad || f->held.size > HEAD_MAX)
		return false;
	n = claim(f, in->data, in->size);
	if (!f->plain)
		buf_add(&f->held, in->data, n);
	buf_drop(in, n);
	return true;
}

static bool
take_copied(struct proxy *p, struct flow *f)
{
	size_t size = side_read(f->from, p->scratch, PROXY_SCRATCH), n, sent;

	if (size == 0)
		return false;
	f->bulk = size == PROXY_SCRATCH;
	n = claim(f, p->scratch, size);
	if (!f->bad)
		buf_add(&f->from->in, p->scratch + n, size - n);
	if (f->plain)
		return true;
	sent = side_write(p->loop, f->to, p->scratch, n);
	buf_add(&f->held, p->scratch + sent, n - sent);
	return true;
}

static bool
take_spliced(struct flow *f)
{
	struct side *from = f->from;
	size_t most = SPLICE_MOST;
	ssize_t n;

	if (f->body == BODY_LENGTH && f->left < most)
		most = (size_t)f->left;
	do
		n = splice(from->watch.fd, NULL, f->pipe->to, NULL, most,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		f->piped += (size_t)n;
		f->bulk = n >= SPLICE_LEAST;
		(void)claim(f, NULL, (size_t)n);
		return true;
	}
	if (n < 0 && errno == EAGAIN) {
		from->readable = false;
		return false;
	}
	from->ended = true;
	if (n < 0)
		from->reset = from->deaf = true;
	return false;
}

static bool
take(struct proxy *p, struct flow *f)
{
	bool fits = f->body == BODY_CLOSE ||
		    (f->body == BODY_LENGTH && f->left >= SPLICE_FROM);

	if (!f->from->readable || f->from->ended)
		return false;
	if (fits && f->bulk && f->moved >= SPLICE_FROM)
		f->pipe = pipe_take(&p->pipes);
	if (f->pipe == NULL)
		return take_copied(p, f);
	if (take_spliced(f))
		return true;
	pipe_give(&p->pipes, f->pipe, 0);
	f->pipe = NULL;
	return false;
}

enum flow_state
flow_run(struct proxy *p, struct flow *f)
{
	for (uint64_t end = f->moved + TURN;;) {
		/* What came along with a head goes along with it. */
		(void)take_early(f);
		if (!flow_flush(p, f))
			return f->to->deaf ? FLOW_LOST : FLOW_GOES;
		if (f->bad)
			return FLOW_BAD;
		if (f->taken)
			return FLOW_DONE;
		if (!f->to->writable)
			return FLOW_GOES;
		if (f->moved >= end) {
			(void)loop_watch(
			    p->loop, &f->from->watch, f->from->watch.events);
			return FLOW_GOES;
		}
		if (f->from->in.size > 0 || take(p, f))
			continue;
		if (!f->from->ended)
			return FLOW_GOES;
		if (f->body != BODY_CLOSE)
			return FLOW_CUT;
		f->taken = true;
	}
}
