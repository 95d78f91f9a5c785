/*
 * What the fields of a message say of its connection and its body: RFC 9112 6
 * and 9, RFC 9110 7.6.1, 7.8 and 10.1.1.
 */
#include "head_part.h"

#include <string.h>
#include <strings.h>

/* What a field is to a proxy. All but KIND_END and KIND_FORWARDS stay here:
 * they are about this connection, or are written anew from what was read. */
enum kind {
	KIND_END, /* of no concern */
	KIND_HOP, /* dropped */
	KIND_CONNECTION,
	KIND_LENGTH,
	KIND_CODING,
	KIND_HOST,
	KIND_UPGRADE,
	KIND_EXPECT,
	KIND_FORWARDS,
	KINDS,
};

#define KNOWN(text, kind)                     \
	{                                     \
		text, sizeof(text) - 1, kind, \
	}

static const struct {
	const char *name;
	size_t size;
	enum kind kind;
} known[] = {
    KNOWN("Connection", KIND_CONNECTION),
    KNOWN("Content-Length", KIND_LENGTH),
    KNOWN("Expect", KIND_EXPECT),
    KNOWN("HTTP2-Settings", KIND_HOP), /* RFC 7540 3.2.1; no h2c here */
    KNOWN("Host", KIND_HOST),
    KNOWN("Keep-Alive", KIND_HOP),
    KNOWN("Max-Forwards", KIND_FORWARDS),
    KNOWN("Proxy-Authenticate", KIND_HOP), /* RFC 9110 11.7 */
    KNOWN("Proxy-Authentication-Info", KIND_HOP),
    KNOWN("Proxy-Authorization", KIND_HOP),
    KNOWN("Proxy-Connection", KIND_HOP),
    KNOWN("TE", KIND_HOP),
    KNOWN("Transfer-Encoding", KIND_CODING),
    KNOWN("Upgrade", KIND_UPGRADE),
};

/* The fields that mean something here. */
struct facts {
	size_t count[KINDS];
	struct slice first[KINDS]; /* values */
	bool close, upgrade;	   /* options of Connection */
};

static enum kind
kind_of(const struct slice *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (name->size == known[i].size &&
		    slice_is(name, known[i].name))
			return known[i].kind;
	return KIND_END;
}

static bool
is_options(const struct head *h)
{
	return h->method.size == 7 && memcmp(h->method.at, "OPTIONS", 7) == 0;
}

/* -- the connection -------------------------------------------------------- */

static void
make_local(struct head *h, const struct slice *name)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->field[i].name.size == name->size &&
		    strncasecmp(h->field[i].name.at, name->at, name->size) == 0)
			h->field[i].local = true;
}

/* One Connection field. What it names is dropped; Host and framing are not
 * copied anyway, but written, so that it takes nothing from them. */
static int
take_options(struct head *h, struct slice list, struct facts *x, size_t *count,
    struct head_fault *f)
{
	struct slice option;

	while (head_next_of(&list, &option)) {
		if (!head_is_token(&option))
			return head_refuse(f, 400,
			    "The Connection field is no list of tokens.");
		if (++*count > HEAD_OPTIONS)
			return head_refuse(f, 400,
			    "The Connection field has more than 32 options.");
		if (slice_is(&option, "close"))
			x->close = true;
		else if (slice_is(&option, "upgrade"))
			x->upgrade = true;
		else
			make_local(h, &option);
	}
	return 0;
}

static int
take_connection(struct head *h, struct facts *x, struct head_fault *f)
{
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (h->field[i].kind == KIND_CONNECTION &&
		    take_options(h, h->field[i].value, x, &count, f) != 0)
			return -1;
	}
	/* RFC 9112 9.3: a proxy does not keep a connection of HTTP/1.0. */
	h->keep = h->minor == 1 && !x->close;
	return 0;
}

/* h2c would hide the requests of a connection from the rules for each. */
static bool
asks_for_h2c(struct slice list)
{
	struct slice item;

	while (head_next_of(&list, &item))
		if (slice_is(&item, "h2c"))
			return true;
	return false;
}

static bool
wants_upgrade(const struct head *h, const struct facts *x)
{
	/* RFC 9110 7.8: ignored in HTTP/1.0, and without the option. */
	if (!x->upgrade || h->minor == 0 || h->body != BODY_NONE ||
	    x->count[KIND_UPGRADE] == 0)
		return false;
	for (size_t i = 0; i < h->count; i++)
		if (h->field[i].kind == KIND_UPGRADE &&
		    asks_for_h2c(h->field[i].value))
			return false;
	return true;
}

/* -- the body -------------------------------------------------------------- */

static int
take_coding(struct head *h, struct slice list, struct head_fault *f)
{
	struct slice item = {"", 0};
	size_t count = 0, chunked = 0;

	h->body = BODY_CHUNKED;
	if (slice_is(&list, "chunked"))
		return 0;
	while (head_next_of(&list, &item)) {
		count++;
		chunked += slice_is(&item, "chunked");
	}
	/* RFC 9112 6.1 */
	if (count > 1 && chunked == 1 && slice_is(&item, "chunked"))
		return head_refuse(f, 501,
		    "The only Transfer-Encoding known here is \"chunked\".");
	return head_refuse(
	    f, 400, "The Transfer-Encoding is not \"chunked\", once.");
}

static int
take_body(struct head *h, const struct facts *x, struct head_fault *f)
{
	if (x->count[KIND_CODING] > 0 && x->count[KIND_LENGTH] > 0)
		return head_refuse(f, 400,
		    "There are both Content-Length and Transfer-Encoding.");
	if (x->count[KIND_CODING] > 1)
		return head_refuse(
		    f, 400, "There is more than one Transfer-Encoding.");
	if (x->count[KIND_LENGTH] > 1)
		return head_refuse(
		    f, 400, "There is more than one Content-Length.");
	if (x->count[KIND_CODING] > 0 && h->minor == 0)
		return head_refuse(
		    f, 400, "There is a Transfer-Encoding in HTTP/1.0.");
	if (x->count[KIND_CODING] > 0)
		return take_coding(h, x->first[KIND_CODING], f);
	if (x->count[KIND_LENGTH] == 0)
		return 0;
	if (!head_number(&x->first[KIND_LENGTH], &h->length))
		return head_refuse(
		    f, 400, "The Content-Length is no decimal number.");
	h->sized = true;
	h->body = h->length > 0 ? BODY_LENGTH : BODY_NONE;
	return 0;
}

/* -- what only requests have ----------------------------------------------- */

static int
take_host(const struct head *h, const struct facts *x, struct head_fault *f)
{
	struct allow_host host;
	uint16_t port = 80;

	if (x->count[KIND_HOST] > 1)
		return head_refuse(f, 400, "There is more than one Host.");
	if (x->count[KIND_HOST] == 0)
		return h->minor == 0
			   ? 0
			   : head_refuse(f, 400, "There is no Host field.");
	if (head_authority(&x->first[KIND_HOST], &host, &port, f) != 0)
		return head_refuse(
		    f, 400, "The Host field is no host, or host:port.");
	return 0;
}

static int
take_expect(struct head *h, const struct facts *x, struct head_fault *f)
{
	if (x->count[KIND_EXPECT] == 0)
		return 0;
	if (x->count[KIND_EXPECT] > 1 ||
	    !slice_is(&x->first[KIND_EXPECT], "100-continue"))
		return head_refuse(f, 417,
		    "The only expectation known here is \"100-continue\".");
	/* RFC 9110 10.1.1: ignored in HTTP/1.0, and without a body. */
	h->expect = h->minor == 1 && h->body != BODY_NONE;
	return 0;
}

/* RFC 9110 7.6.2 */
static int
take_forwards(struct head *h, const struct facts *x, struct head_fault *f)
{
	uint64_t left;

	if (!is_options(h) || x->count[KIND_FORWARDS] == 0)
		return 0;
	if (x->count[KIND_FORWARDS] > 1 ||
	    !head_number(&x->first[KIND_FORWARDS], &left))
		return head_refuse(
		    f, 400, "The Max-Forwards is no decimal number.");
	if (left == 0)
		return head_refuse(f, 501,
		    "Max-Forwards is 0, and this proxy has no options of its "
		    "own.");
	h->forwards = (int64_t)left - 1;
	return 0;
}

int
head_take_fields(struct head *h, struct head_fault *f)
{
	struct facts x = {.close = false};

	for (size_t i = 0; i < h->count; i++) {
		enum kind kind = kind_of(&h->field[i].name);

		if (x.count[kind]++ == 0)
			x.first[kind] = h->field[i].value;
		h->field[i].kind = (unsigned char)kind;
		h->field[i].local = kind != KIND_END &&
				    (kind != KIND_FORWARDS || is_options(h));
	}
	if (take_connection(h, &x, f) != 0 || take_body(h, &x, f) != 0)
		return -1;
	h->upgrade = wants_upgrade(h, &x);
	if (h->method.size == 0)
		return 0;
	if (take_host(h, &x, f) != 0 || take_expect(h, &x, f) != 0)
		return -1;
	return take_forwards(h, &x, f);
}
