/* Feeding an exec that runs. */
#include "init/feed.h"
#include "init/host.h"
#include "init/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct feeder {
	const struct feed *f;
	const struct ops *ops;
	struct op *op;
	struct host host;
	struct output out;
	bool ended; /* the command has */
	bool over;  /* the last frame is in out */
};

/* One packet; as send(2). */
static ssize_t
send_packet(enum feed_what what, const char *bytes, size_t size)
{
	char byte = (char)what;
	union {
		const char *from;
		char *to;
	} piece = {bytes};
	struct iovec parts[2] = {{&byte, 1}, {piece.to, size}};
	const struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(FEED_FD, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t
feed_take(int fd, char to[FEED_PIECE], bool *ret_close)
{
	char byte = 0;
	struct iovec parts[2] = {{&byte, 1}, {to, FEED_PIECE}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	*ret_close = n == 1 && byte == FEED_CLOSE;
	if (n == 0)
		errno = EPIPE;
	return n - (n >= 0);
}

static void
conclude(struct feeder *f, enum wire_fail why, const char *text)
{
	struct buf *frames = output_frames(&f->out);

	if (why != 0)
		wire_put_fail(frames, why, text);
	else
		wire_put(frames, WIRE_DONE, NULL, 0);
	f->over = true;
	op_over(f->op);
}

static void
fenced(struct feeder *f)
{
	conclude(f, WIRE_FAIL_FENCED,
	    "the run was given to another holder meanwhile");
}

static bool
wants_to_send(const struct feeder *f)
{
	const struct host *h = &f->host;

	return !f->over && (h->input.size > 0 || h->input_end);
}

/* Everything that goes through now. */
static void
pass_on(struct feeder *f)
{
	struct buf *input = &f->host.input;
	ssize_t n = 0;

	while (n >= 0 && input->size > 0) {
		size_t most =
		    input->size < FEED_PIECE ? input->size : FEED_PIECE;

		n = send_packet(FEED_BYTES, input->data, most);
		if (n > 0) {
			buf_drop(input, (size_t)n - 1);
			f->host.taken += (uint32_t)n - 1;
		}
	}
	bool all = n >= 0; /* the end of it can be in vain */
	if (all && f->host.input_end && f->f->close)
		n = send_packet(FEED_CLOSE, NULL, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!all) {
		conclude(f, WIRE_FAIL_EXEC_ENDED, "the command has ended");
		return;
	}
	if (!f->host.input_end)
		return;
	/* (A terminal's end is a character: more may follow it.) */
	if (f->f->close && !f->f->exec->tty)
		atomic_store(&f->f->exec->closed, true);
	conclude(f, 0, NULL);
}

static void
step(struct feeder *f, int signals)
{
	struct pollfd p[4] = {
	    {f->host.fd, POLLIN, 0},
	    {f->out.fd, output_empty(&f->out) ? 0 : POLLOUT, 0},
	    {f->over || f->ended ? -1 : FEED_FD, wants_to_send(f) ? POLLOUT : 0,
		0},
	    {signals, POLLIN, 0},
	};

	struct signalfd_siginfo si;

	if (poll(p, 4, -1) < 0)
		return;
	if (p[3].revents)
		(void)!read(signals, &si, sizeof(si));
	/* The run was given to somebody else: SIGUSR1 of PID 1 woke us. */
	if (!f->over && op_is_older(f->ops, f->op))
		fenced(f);
	if (p[0].revents)
		host_receive(&f->host);
	if (p[1].revents & ~POLLOUT)
		f->out.broken = true;
	/* By what it was fed, perhaps: whether that was all is not said yet. */
	if (p[2].revents & (POLLHUP | POLLERR))
		f->ended = true;
	if (wants_to_send(f))
		pass_on(f);
	if (!f->over && f->host.taken > 0) {
		wire_put_room(output_frames(&f->out), f->host.taken);
		f->host.taken = 0;
	}
	output_flush(&f->out);
}

int
feed_run(const struct ops *ops, struct op *op, const struct feed *f)
{
	struct feeder feeder = {
	    .f = f,
	    .ops = ops,
	    .op = op,
	    .host = HOST_INIT(STDIN_FILENO),
	    .out = OUTPUT_INIT(STDOUT_FILENO),
	};
	sigset_t wake;

	(void)sigemptyset(&wake);
	(void)sigaddset(&wake, SIGUSR1);
	int signals = signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return 1;
	if (op_admit(ops, op, f->generation))
		wire_put(output_frames(&feeder.out), WIRE_STARTED, NULL, 0);
	else
		fenced(&feeder);
	output_flush(&feeder.out);
	while (!feeder.host.gone && !feeder.out.broken &&
	       !(feeder.over && output_empty(&feeder.out)))
		step(&feeder, signals);
	return 0;
}
