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
	c->hello =
	    policy_checks_sni(c->p->policy) && !c->request.host.is_address;
	buf_adds(&c->down.held, ESTABLISHED);
	return begin(c);
}

enum client_state
tunnel_upgraded(struct client *c)
{
	c->hello = false;
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

/* Nothing goes to far before it is known whom it is for. */
static enum client_state
judge_hello(struct client *c)
{
	char name[ALLOW_NAME_MAX + 1];
	enum hello said = HELLO_MORE;

	do
		if (c->run.in.size > 0)
			said = hello_read(c->run.in.data, c->run.in.size, name);
	while (said == HELLO_MORE && side_fill(c->p, &c->run, HELLO_MAX));
	switch (said) {
	case HELLO_MORE:
		if (c->run.ended && c->run.in.size > 0)
			return deny(c, NULL);
		if (c->run.in.size > 0 && !c->heading) {
			c->heading = true;
			client_deadline(c, c->p->limits.head_ms);
		}
		c->hello = !c->run.ended;
		return CLIENT_TUNNEL;
	case HELLO_NAME:
		if (!is_name_of(&c->request.host, name))
			return deny(c, name);
		break;
	case HELLO_BAD:
		return deny(c, NULL);
	case HELLO_NOT_TLS:
	case HELLO_NO_NAME:
		break;
	}
	c->hello = false;
	client_deadline(c, c->p->limits.idle_ms);
	return CLIENT_TUNNEL;
}

enum client_state
tunnel_timed_out(struct client *c)
{
	return c->hello && c->run.in.size > 0 ? deny(c, NULL) : CLIENT_OVER;
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

enum client_state
tunnel_step(struct client *c)
{
	enum client_state state;

	if (c->hello) {
		state = judge_hello(c);
		if (state != CLIENT_TUNNEL)
			return state;
	}
	bool up = !c->hello && is_over(c, &c->up, &c->up_over, c->down_over);
	bool down = is_over(c, &c->down, &c->down_over, up);
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
