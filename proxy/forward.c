/* One request and its answer. */
#include "client.h"
#include "refuse.h"

#include <string.h>

#define INTERIM_MOST 64 /* answers of 1xx before the one that counts */

enum client_state
forward_begin(struct client *c)
{
	buf_add(&c->up.held, c->ask.data, c->ask.size);
	client_deadline(c, c->p->limits.answer_ms);
	return CLIENT_EXCHANGE;
}

static enum client_state
refuse_answer(struct client *c, const char *why)
{
	BUF_AUTO text = BUF_INIT(1024);
	char host[ALLOW_TEXT];

	allow_host_format(&c->request.host, host);
	buf_addf(&text, "sandbox: %s: %s\n", host, why);
	return client_refuse(c, LEDGER_UNREACHED, 502, why, text.data);
}

/* The run cannot be told any other way that what it got is not all. */
static enum client_state
break_off(struct client *c, const char *reason)
{
	client_record(c, LEDGER_UNREACHED, c->request.status, reason);
	side_abort(c->p->loop, &c->run);
	return CLIENT_OVER;
}

/* -- the request ----------------------------------------------------------- */

static enum client_state
send_request(struct client *c)
{
	switch (flow_run(c->p, &c->up)) {
	case FLOW_GOES:
		return CLIENT_EXCHANGE;
	case FLOW_DONE:
		c->request.sent = true;
		return CLIENT_EXCHANGE;
	case FLOW_LOST:
		/* It may have said why, and what it said can be read. */
		c->up.taken = true;
		c->request.keep = false;
		return CLIENT_EXCHANGE;
	case FLOW_BAD:
		return c->request.answered
			   ? break_off(c, "the body's chunks are malformed")
			   : client_refuse(c, LEDGER_MALFORMED, 400,
				 "the body's chunks are malformed",
				 "sandbox: The body's chunks are malformed.\n");
	case FLOW_CUT:
		break;
	}
	client_record(c, LEDGER_UNREACHED, c->request.status, "the run left");
	side_abort(c->p->loop, &c->far);
	return CLIENT_OVER;
}

/* -- the answer's heads ---------------------------------------------------- */

static enum client_state
begin_body(struct client *c, struct head *h, size_t used)
{
	struct request *r = &c->request;
	enum head_body body = h->body;
	/* HTTP/1.0 knows no chunks. */
	bool plain = r->old && body == BODY_CHUNKED;

	if (plain)
		h->body = BODY_CLOSE;
	/* What is still to be sent may never be. */
	if (h->body == BODY_CLOSE || !r->sent)
		r->keep = false;
	r->far_keep = r->keep && h->keep;
	r->answered = true;
	r->status = h->status;
	head_put_answer(&c->down.held, h, r->keep);
	flow_begin(&c->down, body, h->length);
	c->down.plain = plain;
	buf_drop(&c->far.in, used);
	buf_reset(&c->ask);
	client_deadline(c, c->p->limits.idle_ms);
	return CLIENT_EXCHANGE;
}

static enum client_state
take_head(struct client *c, struct head *h, size_t used)
{
	if (h->status >= 200)
		return begin_body(c, h, used);
	if (++c->request.interim > INTERIM_MOST)
		return refuse_answer(c, "It answered without an end.");
	/* RFC 9110 15.2: not to HTTP/1.0. */
	if (!c->request.old)
		head_put_answer(&c->down.held, h, true);
	buf_drop(&c->far.in, used);
	if (h->status != 101)
		return CLIENT_EXCHANGE;
	c->request.status = 101;
	return tunnel_upgraded(c);
}

/* Far ended before it answered. On a connection that was kept that happens
 * when it was closed while the request was on its way (RFC 9112 9.3.1). */
static enum client_state
answer_is_cut(struct client *c)
{
	if (!c->request.reused || c->far.in.size > 0)
		return refuse_answer(
		    c, "It closed the connection without a whole answer.");
	c->request.reused = false;
	c->request.sent = false;
	c->request.address.family = 0;
	client_leave_far(c);
	return reach_begin(c);
}

/* Up to the final head, or until there is no more to read. */
static enum client_state
read_answer(struct client *c)
{
	struct proxy *p = c->p;
	struct slice to = {c->request.method, strlen(c->request.method)};
	enum client_state state = CLIENT_EXCHANGE;
	struct head_fault fault;
	size_t used = 0;
	int rc;

	while (!c->request.answered && state == CLIENT_EXCHANGE) {
		/* Heads without end do not pile up. */
		if (!flow_flush(p, &c->down) && c->down.held.size > 0)
			return state;
		rc = c->far.in.size == 0
			 ? 0
			 : head_answer(c->far.in.data, c->far.in.size, &to,
			       c->request.upgrade, &p->head, &used, &fault);
		if (rc < 0)
			return refuse_answer(c, fault.why);
		if (rc > 0)
			state = take_head(c, &p->head, used);
		else if (!side_fill(p, &c->far, HEAD_MAX))
			return c->far.ended ? answer_is_cut(c) : state;
	}
	return state;
}

/* -- the answer's body ----------------------------------------------------- */

static enum client_state
finish(struct client *c)
{
	struct request *r = &c->request;

	if (c->down.body == BODY_CLOSE && c->far.reset)
		return break_off(c, "the answer was cut");
	client_record(c, LEDGER_ALLOWED, r->status, "");
	if (!r->far_keep || !r->sent || c->far.ended || c->far.readable ||
	    c->far.in.size > 0)
		side_close(c->p->loop, &c->far);
	if (r->keep && r->sent)
		return CLIENT_HEAD;
	client_leave_far(c);
	return CLIENT_LINGER;
}

static enum client_state
send_answer(struct client *c)
{
	switch (flow_run(c->p, &c->down)) {
	case FLOW_GOES:
		return CLIENT_EXCHANGE;
	case FLOW_DONE:
		return finish(c);
	case FLOW_CUT:
		return break_off(c, "the answer was cut");
	case FLOW_BAD:
		return break_off(c, "the answer's chunks are malformed");
	case FLOW_LOST:
		break;
	}
	return CLIENT_OVER;
}

enum client_state
forward_step(struct client *c)
{
	enum client_state state = CLIENT_EXCHANGE;

	if (c->run.deaf)
		return CLIENT_OVER;
	if (!c->request.sent)
		state = send_request(c);
	if (state == CLIENT_EXCHANGE && !c->request.answered)
		state = read_answer(c);
	if (state == CLIENT_EXCHANGE && c->request.answered)
		state = send_answer(c);
	return state;
}
