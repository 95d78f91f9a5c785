/* From a host that is admitted to a connection to it. */
#include "client.h"
#include "lib/mem.h"
#include "refuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define TEXT_MAX 4096

void
reach_stop(struct client *c)
{
	if (c->lookup != NULL)
		lookup_stop(c->lookup);
	free(c->lookup);
	c->lookup = NULL;
	dial_free(c->dial);
	c->dial = NULL;
}

static enum client_state
refuse(struct client *c, enum ledger_verdict verdict, int status,
    const char *reason)
{
	BUF_AUTO text = BUF_INIT(TEXT_MAX);
	char host[ALLOW_TEXT];

	allow_host_format(&c->request.host, host);
	buf_addf(&text, "sandbox: %s, port %u: %s.\n", host, c->request.port,
	    reason);
	return client_refuse(c, verdict, status, reason, text.data);
}

/* -- connecting ------------------------------------------------------------ */

static enum client_state
dial_failed(struct client *c, int error)
{
	if (error == ETIMEDOUT)
		return refuse(c, LEDGER_TIMED_OUT, 504,
		    "it did not take the connection in time");
	return refuse(c, LEDGER_UNREACHED, 502,
	    error == ECONNREFUSED ? "it refused the connection"
				  : "it cannot be reached");
}

static void
on_dialled(struct dial *d)
{
	struct client *c = d->arg;
	struct dial_try *won = d->won;

	if (won == NULL) {
		c->state = dial_failed(c, d->error);
	} else if (loop_hand_over(c->p->loop, &won->watch, &c->far.watch,
		       SIDE_EVENTS) != 0) {
		c->state = dial_failed(c, errno);
	} else {
		c->request.address = d->address[won->which];
		reach_stop(c);
		c->state =
		    c->request.connect ? tunnel_begin(c) : forward_begin(c);
	}
	client_step(c);
}

static enum client_state
begin_dial(struct client *c, const struct found *to)
{
	c->dial = dial_new(
	    c->p->loop, &c->p->dials, to, c->request.port, on_dialled, c);
	client_deadline(c, c->p->limits.connect_ms);
	return CLIENT_DIAL;
}

/* -- which addresses ------------------------------------------------------- */

static enum client_state
refuse_found(struct client *c, const struct address *found, const char *kind)
{
	BUF_AUTO text = BUF_INIT(TEXT_MAX);
	BUF_AUTO reason = BUF_INIT(TEXT_MAX);

	refuse_address(&text, &c->request.host, c->request.port, found, kind);
	refuse_reason(&reason, found, kind);
	return client_refuse(c, LEDGER_DENIED, 403, reason.data, text.data);
}

/* Dial those that may be dialled; what was checked is what is dialled. */
static enum client_state
dial_admitted(struct client *c, const struct address *found, size_t count)
{
	struct request *r = &c->request;
	struct found admitted = {.count = 0};
	const char *kind, *first = NULL; /* of the first, where it is refused */

	for (size_t i = 0; i < count; i++) {
		kind = policy_refuses_address(
		    c->p->policy, &r->host, &found[i], r->port);
		if (kind == NULL)
			admitted.address[admitted.count++] = found[i];
		else if (i == 0)
			first = kind;
	}
	return admitted.count > 0 ? begin_dial(c, &admitted)
				  : refuse_found(c, &found[0], first);
}

static enum client_state
take_found(struct client *c)
{
	const struct found *f = &c->lookup->found;

	switch (f->state) {
	case RESOLVE_FOUND:
		return dial_admitted(c, f->address, f->count);
	case RESOLVE_NONE:
		return refuse(
		    c, LEDGER_UNREACHED, 502, "there is no such name");
	case RESOLVE_FAILED:
		return refuse(c, LEDGER_UNREACHED, 502,
		    "no name server gave a proper answer for that name");
	case RESOLVE_TIMED_OUT:
		break;
	}
	return refuse(c, LEDGER_TIMED_OUT, 504,
	    "no name server answered for that name in time");
}

static void
on_found(struct lookup *l)
{
	struct client *c = l->arg;

	c->state = take_found(c);
	client_step(c);
}

enum client_state
reach_begin(struct client *c)
{
	const struct allow_host *h = &c->request.host;

	if (h->is_address)
		return dial_admitted(c, &h->address, 1);
	c->lookup = mem_alloc(sizeof(*c->lookup));
	c->lookup->done = on_found;
	c->lookup->arg = c;
	client_deadline(c, c->p->limits.lookup_ms);
	if (lookup_start(c->p->resolver, c->lookup, h->name))
		return take_found(c);
	return CLIENT_LOOKUP;
}

enum client_state
reach_timed_out(struct client *c)
{
	if (c->state == CLIENT_DIAL)
		return dial_failed(c, ETIMEDOUT);
	return refuse(c, LEDGER_TIMED_OUT, 504,
	    "no name server answered for that name in time");
}

bool
reach_is_admitted(const struct client *c)
{
	const struct policy *policy = c->p->policy;
	const struct request *r = &c->request;

	if (!policy_admits(policy, &r->host, r->port))
		return false;
	for (size_t i = 0; c->dial != NULL && i < c->dial->count; i++)
		if (policy_refuses_address(policy, &r->host,
			&c->dial->address[i], r->port) != NULL)
			return false;
	return r->address.family == 0 ||
	       policy_refuses_address(policy, &r->host, &r->address, r->port) ==
		   NULL;
}
