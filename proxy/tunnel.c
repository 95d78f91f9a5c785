/* Bytes both ways, whatever they are. */
#include "client.h"
#include "hello.h"
#include "lib/str.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static enum client_state
begin(struct client *c)
{
	flow_begin(&c->up, BODY_CLOSE, 0);
	flow_begin(&c->down, BODY_CLOSE, 0);
	c->request.answered = true;
	client_deadline(c, c->p->limits.idle_ms);
	return CLIENT_TUNNEL;
}

enum client_state
tunnel_begin(struct client *c)
{
	c->request.status = 200;
	c->greeting =
	    policy_checks_sni(c->p->policy) && !c->request.host.is_address
		? GREETING_HELLO
		: GREETING_OVER;
	buf_adds(&c->down.held, ESTABLISHED);
	return begin(c);
}

enum client_state
tunnel_upgraded(struct client *c)
{
	c->greeting = GREETING_OVER;
	return begin(c);
}

/* -- the server name in the first bytes ------------------------------------ */

static bool
is_name_of(const struct allow_host *h, const char *name)
{
	size_t size = strlen(name);

	if (size > 0 && name[size - 1] == '.')
		size--;
	return strlen(h->name) == size && strncasecmp(h->name, name, size) == 0;
}

/* There is no answer that a client of TLS would take. */
static enum client_state
deny(struct client *c, const char *name)
{
	BUF_AUTO reason = BUF_INIT(512);

	if (name == NULL)
		buf_adds(&reason, "the TLS hello is malformed");
	else
		buf_addf(&reason, "the TLS server name is %s", name);
	client_record(c, LEDGER_DENIED, 200, reason.data);
	side_abort(c->p->loop, &c->far);
	return CLIENT_OVER;
}

static void
greet(struct client *c, enum greeting next)
{
	c->greeting = next;
	c->heading = false;
	client_deadline(c, c->p->limits.idle_ms);
}

/* So much of what the run has said goes on; there is nothing else to say. */
static void
pass_on(struct client *c, size_t size)
{
	buf_add(&c->up.held, c->run.in.data, size);
	buf_drop(&c->run.in, size);
	c->up.moved += size;
	(void)flow_flush(c->p, &c->up);
}

/* What the run's next hello says, as far as it is there. What may come before
 * it is passed on. */
static enum hello
read_hello(struct client *c, char name[ALLOW_NAME_MAX + 1], size_t *ret_used)
{
	struct buf *in = &c->run.in;
	size_t other;

	if (c->greeting == GREETING_HELLO)
		return in->size == 0
			   ? HELLO_MORE
			   : hello_read(in->data, in->size, name, ret_used);
	while ((other = hello_other(in->data, in->size)) > 0) {
		if (in->size < other || c->up.held.size > 0)
			return HELLO_MORE;
		pass_on(c, other);
	}
	/* Whether it is one of these, its first bytes do not say yet. */
	if (in->size < 5)
		return HELLO_MORE;
	return hello_read(in->data, in->size, name, ret_used);
}

/* Nothing of it goes to far before it is known whom it is for. */
static enum client_state
judge_hello(struct client *c)
{
	char name[ALLOW_NAME_MAX + 1];
	enum hello said;
	size_t used = 0;

	do
		said = read_hello(c, name, &used);
	while (said == HELLO_MORE && c->up.held.size == 0 &&
	       side_fill(c->p, &c->run, HELLO_OTHER_MAX));
	switch (said) {
	case HELLO_MORE:
		if (c->up.held.size > 0) /* what is read waits for it */
			return CLIENT_TUNNEL;
		if (c->run.ended && c->run.in.size > 0)
			return deny(c, NULL);
		if (c->run.ended)
			greet(c, GREETING_OVER);
		else if (c->run.in.size > 0 && !c->heading) {
			c->heading = true;
			client_deadline(c, c->p->limits.head_ms);
		}
		return CLIENT_TUNNEL;
	case HELLO_NOT_TLS:
		if (c->greeting == GREETING_AGAIN)
			return deny(c, NULL);
		greet(c, GREETING_OVER);
		return CLIENT_TUNNEL;
	case HELLO_NAME:
		if (!is_name_of(&c->request.host, name))
			return deny(c, name);
		break;
	case HELLO_BAD:
		return deny(c, NULL);
	case HELLO_NO_NAME:
		break;
	}
	pass_on(c, used);
	greet(c, GREETING_ANSWER);
	return CLIENT_TUNNEL;
}

/* A server may ask for another hello, and some heed that one alone. So what the
 * run has sent behind the first waits until it is known whether it is one. */
static void
judge_answer(struct client *c)
{
	enum hello_answer said = HELLO_ANSWER_MORE;
	struct buf *in = &c->far.in;

	(void)flow_flush(c->p, &c->up);
	do
		if (in->size > 0)
			said = hello_answer(in->data, in->size);
	while (
	    said == HELLO_ANSWER_MORE && side_fill(c->p, &c->far, HELLO_MAX));
	if (said == HELLO_ANSWER_RETRY) {
		greet(c, GREETING_AGAIN);
		return;
	}
	(void)side_fill(c->p, &c->run, HELLO_OTHER_MAX);
	if (said == HELLO_ANSWER_OTHER || c->far.ended || c->far.deaf ||
	    (c->run.ended && c->run.in.size == 0))
		greet(c, GREETING_OVER);
}

enum client_state
tunnel_timed_out(struct client *c)
{
	return c->heading ? deny(c, NULL) : CLIENT_OVER;
}

/* -- both ways ------------------------------------------------------------- */

/* True: nothing more goes this way. The end of one is passed on, and the other
 * goes on (RFC 9110 9.3.6); where that is over already, closing says it. */
static bool
is_over(struct client *c, struct flow *f, bool *over, bool other)
{
	enum flow_state state;

	if (*over)
		return true;
	state = flow_run(c->p, f);
	if (state == FLOW_GOES)
		return false;
	if (state == FLOW_DONE && !(other && f->to->ended))
		(void)shutdown(f->to->watch.fd, SHUT_WR);
	flow_release(c->p, f);
	*over = true;
	return true;
}

/* -- all of it ------------------------------------------------------------- */

/* What is read before bytes go on; CLIENT_TUNNEL where that is done, or waits
 * for more. */
static enum client_state
judge(struct client *c)
{
	enum client_state state = CLIENT_TUNNEL;
	enum greeting was;

	do {
		was = c->greeting;
		/* Nobody hears the answer: what is held stays unsaid. */
		if (was == GREETING_ANSWER && c->run.deaf)
			return CLIENT_OVER;
		if (was == GREETING_ANSWER)
			judge_answer(c);
		else if (was != GREETING_OVER)
			state = judge_hello(c);
	} while (state == CLIENT_TUNNEL && c->greeting != was);
	return state;
}

enum client_state
tunnel_step(struct client *c)
{
	enum client_state state = judge(c);

	if (state != CLIENT_TUNNEL)
		return state;
	bool up = c->greeting == GREETING_OVER &&
		  is_over(c, &c->up, &c->up_over, c->down_over);
	bool down = c->greeting != GREETING_ANSWER &&
		    is_over(c, &c->down, &c->down_over, up);
	if (!up || !down) {
		flow_rest(&c->up);
		flow_rest(&c->down);
		return CLIENT_TUNNEL;
	}
	/* Closing while the run still sends would take back what it has not
	 * read. */
	if (c->run.ended || c->run.deaf)
		return CLIENT_OVER;
	client_record(c, LEDGER_ALLOWED, c->request.status, "");
	client_leave_far(c);
	c->shut = true;
	return CLIENT_LINGER;
}
