/* One connection from the run. */
#include "client.h"
#include "lib/mem.h"
#include "refuse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define TEXT_MAX 4096  /* of a refusal */
#define LINGER_TURN 16 /* reads, before others have theirs */
#define ASK_MAX (HEAD_MAX * 2)

/* -- bookkeeping ----------------------------------------------------------- */

void
client_deadline(struct client *c, int64_t ms)
{
	struct loop *l = c->p->loop;

	/* A timer that is early looks again; most never fire. */
	c->due = loop_now(l) + ms;
	if (c->timer.slot == 0 || c->timer.at > c->due)
		loop_timer(l, &c->timer, ms);
}

void
client_record(struct client *c, enum ledger_verdict verdict, int status,
    const char *reason)
{
	struct request *r = &c->request;
	char host[ALLOW_TEXT] = "", address[ADDRESS_TEXT] = "";

	if (r->recorded)
		return;
	r->recorded = true;
	if (r->port != 0)
		allow_host_format(&r->host, host);
	if (r->address.family != 0)
		address_format(&r->address, false, address);
	struct ledger_entry x = {
	    .verdict = verdict,
	    .method = r->method,
	    .host = host,
	    .port = r->port,
	    .address = address,
	    .reason = reason,
	    .status = status,
	    .up = c->up.moved,
	    .down = c->down.moved,
	    .ms = loop_now(c->p->loop) - r->since,
	};
	ledger_add(c->p->ledger, &x);
}

void
client_leave_far(struct client *c)
{
	reach_stop(c);
	flow_release(c->p, &c->up);
	flow_release(c->p, &c->down);
	side_close(c->p->loop, &c->far);
}

enum client_state
client_refuse(struct client *c, enum ledger_verdict verdict, int status,
    const char *reason, const char *text)
{
	bool with_body = strcmp(c->request.method, "HEAD") != 0;

	client_record(c, verdict, status, reason);
	client_leave_far(c);
	refuse_put(&c->down.held, status, with_body, text);
	return CLIENT_LINGER;
}

void
client_free(struct client *c)
{
	struct proxy *p = c->p;

	if (c->request.answered)
		client_record(c, LEDGER_ALLOWED, c->request.status, "");
	else
		client_record(c, LEDGER_UNREACHED, 0, "the run left");
	client_leave_far(c);
	side_close(p->loop, &c->run);
	loop_timer_stop(p->loop, &c->timer);
	buf_release(&c->ask);
	if (c->before != NULL)
		c->before->next = c->next;
	else
		p->clients = c->next;
	if (c->next != NULL)
		c->next->before = c->before;
	free(c);
	p->count--;
	ledger_connections(p->ledger, -1);
	proxy_has_room(p);
}

/* -- a head, and whether its host may be reached --------------------------- */

static enum client_state
refuse_malformed(struct client *c, const struct head_fault *f)
{
	BUF_AUTO text = BUF_INIT(TEXT_MAX);

	c->request = (struct request){.since = c->request.since};
	flow_begin(&c->up, BODY_NONE, 0);
	flow_begin(&c->down, BODY_NONE, 0);
	buf_addf(&text, "sandbox: %s\n", f->why);
	return client_refuse(c, LEDGER_MALFORMED, f->status, f->why, text.data);
}

static bool
is_same_host(const struct allow_host *a, const struct allow_host *b)
{
	if (a->is_address != b->is_address)
		return false;
	return a->is_address ? address_equal(&a->address, &b->address)
			     : strcmp(a->name, b->name) == 0;
}

/* RFC 9110 9.2.2: what does the same when it is done twice, and has no body
 * that is gone once it was sent. */
static bool
is_repeatable(const struct head *h)
{
	return h->body == BODY_NONE && !h->upgrade &&
	       (slice_is(&h->method, "GET") || slice_is(&h->method, "HEAD") ||
		   slice_is(&h->method, "OPTIONS"));
}

static void
note_method(struct request *r, const struct slice *method)
{
	size_t size = method->size < sizeof(r->method) - 1
			  ? method->size
			  : sizeof(r->method) - 1;

	memcpy(r->method, method->at, size);
	r->method[size] = '\0';
}

static void
note_request(struct client *c, const struct head *h)
{
	struct request *r = &c->request;

	note_method(r, &h->method);
	r->host = h->host;
	r->port = h->port;
	r->connect = h->connect;
	r->upgrade = h->upgrade;
	r->old = h->minor == 0;
	r->keep = h->keep;
	r->again = is_repeatable(h);
}

static enum client_state
judge(struct client *c, const struct head *h, size_t used)
{
	struct request *r = &c->request;
	struct proxy *p = c->p;
	bool same = c->far.watch.fd >= 0 && r->port == h->port &&
		    is_same_host(&r->host, &h->host);

	note_request(c, h);
	flow_begin(&c->up, h->body, h->length);
	flow_begin(&c->down, BODY_NONE, 0);
	if (!policy_admits(p->policy, &h->host, h->port)) {
		BUF_AUTO text = BUF_INIT(TEXT_MAX);

		r->address.family = 0;
		refuse_host(&text, &h->host, h->port);
		return client_refuse(
		    c, LEDGER_DENIED, 403, "not on the allowlist", text.data);
	}
	buf_reset(&c->ask);
	if (!h->connect)
		head_put_request(&c->ask, h, h->keep);
	buf_drop(&c->run.in, used);
	/* What cannot be repeated never meets a connection that the other side
	 * may be closing right now. */
	if (same && r->again) {
		r->reused = true;
		return forward_begin(c);
	}
	client_leave_far(c);
	r->address.family = 0;
	return reach_begin(c);
}

/* Whether it is worth to look at a head again: a line has ended, or much has
 * come. Else whoever sends byte by byte makes us read all of it each time. */
static bool
is_worth_reading(const struct client *c)
{
	size_t size = c->run.in.size;

	return size > 0 &&
	       (size >= HEAD_MAX || size >= c->parsed + c->parsed / 8 + 1 ||
		   memchr(c->run.in.data + c->parsed, '\n', size - c->parsed) !=
		       NULL);
}

static enum client_state
wait_for_head(struct client *c)
{
	static const struct head_fault cut = {
	    400, "The head ends before its empty line."};

	if (c->run.ended || c->run.deaf)
		return c->run.in.size == 0 || c->run.deaf
			   ? CLIENT_OVER
			   : refuse_malformed(c, &cut);
	if (c->run.in.size == 0) {
		client_deadline(c, c->p->limits.wait_ms);
		flow_rest(&c->up);
		flow_rest(&c->down);
		buf_release(&c->ask);
	} else if (!c->heading) {
		c->heading = true;
		c->request.since = loop_now(c->p->loop);
		client_deadline(c, c->p->limits.head_ms);
	}
	return CLIENT_HEAD;
}

static enum client_state
head_step(struct client *c)
{
	struct proxy *p = c->p;
	struct head_fault fault;
	size_t used = 0;
	int rc = 0;

	/* While it is idle that is its end, or what nobody asked for. */
	if (c->far.watch.fd >= 0 && c->far.readable)
		side_close(p->loop, &c->far);
	do {
		if (!is_worth_reading(c))
			continue;
		rc = head_request(
		    c->run.in.data, c->run.in.size, &p->head, &used, &fault);
		c->parsed = c->run.in.size;
	} while (rc == 0 && side_fill(p, &c->run, HEAD_MAX));
	if (rc == 0)
		return wait_for_head(c);
	c->request.recorded = c->request.reused = c->request.sent =
	    c->request.answered = false;
	c->request.status = c->request.interim = 0;
	if (!c->heading)
		c->request.since = loop_now(p->loop);
	c->heading = false;
	c->parsed = 0;
	return rc > 0 ? judge(c, &p->head, used) : refuse_malformed(c, &fault);
}

/* -- the end --------------------------------------------------------------- */

/* The last words are written, the run is told that they were, and what it
 * still sends is read: closing with bytes unread would be a reset, which takes
 * back what it has not read (RFC 9112 9.6). */
static enum client_state
linger_step(struct client *c)
{
	struct proxy *p = c->p;

	if (!c->heading) {
		c->heading = true;
		client_deadline(c, p->limits.linger_ms);
	}
	if (!flow_flush(p, &c->down))
		return c->run.deaf ? CLIENT_OVER : CLIENT_LINGER;
	if (!c->shut && shutdown(c->run.watch.fd, SHUT_WR) != 0)
		return CLIENT_OVER;
	c->shut = true;
	for (int i = 0; i < LINGER_TURN && c->run.readable; i++) {
		(void)side_read(&c->run, p->scratch, PROXY_SCRATCH);
		if (c->run.ended)
			return CLIENT_OVER;
	}
	/* Others have their turn, and time passes. */
	if (c->run.readable)
		(void)loop_watch(p->loop, &c->run.watch, c->run.watch.events);
	return CLIENT_LINGER;
}

/* -- time ------------------------------------------------------------------ */

static int64_t
idle_limit(const struct client *c)
{
	const struct limits *l = &c->p->limits;

	if (c->state == CLIENT_TUNNEL && !c->heading)
		return l->idle_ms;
	if (c->state == CLIENT_EXCHANGE)
		return c->request.answered ? l->idle_ms : l->answer_ms;
	return 0;
}

static enum client_state
timed_out(struct client *c)
{
	static const struct head_fault slow = {
	    408, "The head did not come in time."};

	switch (c->state) {
	case CLIENT_HEAD:
		return c->run.in.size > 0 ? refuse_malformed(c, &slow)
					  : CLIENT_OVER;
	case CLIENT_LOOKUP:
	case CLIENT_DIAL:
		return reach_timed_out(c);
	case CLIENT_EXCHANGE:
		return c->request.answered
			   ? CLIENT_OVER
			   : client_refuse(c, LEDGER_TIMED_OUT, 504,
				 "no answer in time",
				 "sandbox: there was no answer in time.\n");
	case CLIENT_TUNNEL:
		return tunnel_timed_out(c);
	case CLIENT_LINGER:
	case CLIENT_OVER:
		break;
	}
	return CLIENT_OVER;
}

static void
on_timer(struct timer *t)
{
	struct client *c = (void *)((char *)t - offsetof(struct client, timer));
	struct loop *l = c->p->loop;
	int64_t idle = idle_limit(c);

	if (idle > 0)
		c->due = c->active + idle;
	if (c->due > loop_now(l)) {
		loop_timer(l, &c->timer, c->due - loop_now(l));
		return;
	}
	c->state = timed_out(c);
	client_step(c);
}

/* -- the machine ----------------------------------------------------------- */

static enum client_state
wait_step(struct client *c)
{
	/* A run that shut only its writing may still read. */
	return c->run.deaf ? CLIENT_OVER : c->state;
}

static enum client_state (*const steps[])(struct client *c) = {
    [CLIENT_HEAD] = head_step,
    [CLIENT_LOOKUP] = wait_step,
    [CLIENT_DIAL] = wait_step,
    [CLIENT_EXCHANGE] = forward_step,
    [CLIENT_TUNNEL] = tunnel_step,
    [CLIENT_LINGER] = linger_step,
};

void
client_step(struct client *c)
{
	enum client_state was;

	do {
		if (c->state == CLIENT_OVER) {
			client_free(c);
			return;
		}
		was = c->state;
		c->state = steps[was](c);
		if (c->state != was)
			c->heading = false;
	} while (c->state != was);
}

static void
on_run(struct watch *w, uint32_t events)
{
	struct client *c =
	    (void *)((char *)w - offsetof(struct client, run.watch));

	side_note(&c->run, events);
	c->active = loop_now(c->p->loop);
	client_step(c);
}

static void
on_far(struct watch *w, uint32_t events)
{
	struct client *c =
	    (void *)((char *)w - offsetof(struct client, far.watch));

	side_note(&c->far, events);
	c->active = loop_now(c->p->loop);
	client_step(c);
}

void
client_judge_again(struct client *c)
{
	if (c->state == CLIENT_HEAD) {
		side_close(c->p->loop, &c->far);
		return;
	}
	if (c->state == CLIENT_LINGER || reach_is_admitted(c))
		return;
	client_record(
	    c, LEDGER_DENIED, c->request.status, "the policy has changed");
	client_free(c);
}

void
client_new(struct proxy *p, int fd, bool full)
{
	struct client *c = mem_zalloc(sizeof(*c));

	c->p = p;
	c->next = p->clients;
	if (c->next != NULL)
		c->next->before = c;
	p->clients = c;
	p->count++;
	ledger_connections(p->ledger, 1);
	side_init(&c->run);
	side_init(&c->far);
	flow_init(&c->up, &c->run, &c->far);
	flow_init(&c->down, &c->far, &c->run);
	c->ask = (struct buf)BUF_INIT(ASK_MAX);
	c->timer.fire = on_timer;
	c->active = c->request.since = loop_now(p->loop);
	c->request.recorded = !full; /* nothing was asked */
	c->run.watch.fd = fd;
	c->run.watch.ready = on_run;
	c->far.watch.ready = on_far;
	if (loop_watch(p->loop, &c->run.watch, SIDE_EVENTS) != 0)
		c->state = CLIENT_OVER;
	else if (full)
		c->state = client_refuse(c, LEDGER_DENIED, 503,
		    "too many connections",
		    "sandbox: this run has too many connections at a time.\n");
	client_step(c);
}
