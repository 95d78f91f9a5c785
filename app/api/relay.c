/* What a command puts out, on its way to a client. */
#include "api/relay.h"
#include "api/exec_view.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/exit.h"

#include <string.h>

#define KEEPALIVE_MS 15000
#define FLUSH_AT (128u * 1024) /* no more is gathered before it is sent */
#define FRAMES_MAX (WIRE_MAX * 8)

static int
send_out(struct relay *r)
{
	struct err gone = ERR_INIT;

	r->sent = clock_mono_ms();
	if (exchange_write(r->call->x, r->out.data, r->out.size, &gone) != 0)
		return -1;
	buf_reset(&r->out);
	return exchange_flush(r->call->x, &gone);
}

int
relay_begin(struct relay *r, struct call *c, const struct run *run,
    struct guest *guest, enum exec_format format, struct err *e)
{
	const struct buf out = BUF_INIT(FRAMES_MAX);
	bool lines = strstr(c->x->accept, "application/x-ndjson") != NULL;

	*r = (struct relay){.call = c, .run = run, .guest = guest, .out = out};
	exec_stream_init(&r->stream, format, lines);
	if (exchange_stream(c->x, exec_stream_type(&r->stream), e) != 0)
		return -1;
	exec_stream_hello(&r->stream, &r->out);
	(void)send_out(r);
	return 0;
}

void
relay_release(struct relay *r)
{
	buf_release(&r->out);
}

/* Before the last frame: by then another may have the run. */
static void
end_flight(struct relay *r)
{
	if (r->slot != NULL)
		inflight_end(r->slot, r->call->ctx.redis);
}

void
relay_lost(struct relay *r, const char *why)
{
	const struct wire_exit lost = {.code = -1};

	end_flight(r);
	if (why == NULL)
		why = r->broken ? "the connection to the run was lost"
				: run_lost(&r->call->ctx, r->run);
	exec_stream_exit(&r->stream, &lost, why, &r->out);
	(void)send_out(r);
}

static void
add_ending(struct relay *r, const struct wire_exit *x)
{
	const char *error = exec_view_error(x);

	end_flight(r);
	/* There may be more to it, by now. */
	if (error != NULL && !x->fenced)
		error = run_lost(&r->call->ctx, r->run);
	exec_stream_exit(&r->stream, x, error, &r->out);
}

/* Add what one event has to say; true after an exit. */
static bool
add_event(struct relay *r, const struct guest_event *ev)
{
	if (ev->type == GUEST_STDOUT)
		exec_stream_output(
		    &r->stream, EXEC_STDOUT, ev->bytes, ev->size, &r->out);
	else if (ev->type == GUEST_STDERR)
		exec_stream_output(
		    &r->stream, EXEC_STDERR, ev->bytes, ev->size, &r->out);
	else if (ev->type == GUEST_GAP)
		exec_stream_gap(&r->stream, ev->offset, &r->out);
	else if (ev->type == GUEST_EXIT)
		add_ending(r, &ev->exit);
	return ev->type == GUEST_EXIT;
}

/* Docker's exec stream may not end with its container: where that is gVisor's,
 * and more than its output is attached, it never does, now and then. */
static bool
run_is_over(const struct relay *r)
{
	return str_eq(r->run->transport, "exec") &&
	       run_has_ended(&r->call->ctx, r->run->id);
}

enum relay_end
relay_run(struct relay *r)
{
	struct exchange *x = r->call->x;
	struct err e = ERR_INIT;

	for (;;) {
		struct guest_event ev = {.type = GUEST_NOTHING};
		int wait = clock_left(r->sent + KEEPALIVE_MS);
		bool last = false;

		if (wait > OP_REFRESH_MS)
			wait = OP_REFRESH_MS;
		r->broken =
		    guest_next(r->guest, x->client_fd, wait, &ev, &e) != 0;
		if (r->slot != NULL && inflight_lost(r->slot))
			return RELAY_TAKEN;
		if (r->broken || ev.type == GUEST_LOST)
			return RELAY_LOST;
		if (ev.type == GUEST_NOTHING && exchange_gone(x))
			return RELAY_LEFT;
		if (ev.type == GUEST_NOTHING && run_is_over(r))
			return RELAY_LOST;
		if (ev.type == GUEST_NOTHING &&
		    clock_left(r->sent + KEEPALIVE_MS) == 0)
			exec_stream_keepalive(&r->stream, &r->out);
		else
			last = add_event(r, &ev);
		if (!last && r->out.size < FLUSH_AT && guest_pending(r->guest))
			continue;
		if (r->out.size > 0 && send_out(r) != 0 && !last)
			return RELAY_LEFT;
		if (last)
			return RELAY_EXIT;
	}
}
