/* Heads as they are sent on. */
#include "head_part.h"

#define VIA "sandbox" /* RFC 9110 7.6.3: a pseudonym */

static void
put_slice(struct buf *out, const struct slice *s)
{
	buf_add(out, s->at, s->size);
}

static void
put_field(struct buf *out, const struct head_field *f)
{
	put_slice(out, &f->name);
	buf_adds(out, ": ");
	put_slice(out, &f->value);
	buf_adds(out, "\r\n");
}

/* All but the first lines: what goes on, what was read of the rest, and the
 * empty line. */
static void
put_fields(struct buf *out, const struct head *h, bool keep)
{
	for (size_t i = 0; i < h->count; i++)
		if (!h->field[i].local)
			put_field(out, &h->field[i]);
	for (size_t i = 0; h->upgrade && i < h->count; i++)
		if (slice_is(&h->field[i].name, "Upgrade"))
			put_field(out, &h->field[i]);
	if (h->body == BODY_CHUNKED)
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
	else if (h->sized)
		buf_addf(out, "Content-Length: %llu\r\n",
		    (unsigned long long)h->length);
	buf_adds(out,
	    h->minor == 0 ? "Via: 1.0 " VIA "\r\n" : "Via: 1.1 " VIA "\r\n");
	if (h->upgrade)
		buf_adds(out, "Connection: upgrade\r\n");
	else if (!keep)
		buf_adds(out, "Connection: close\r\n");
	buf_adds(out, "\r\n");
}

void
head_put_request(struct buf *out, const struct head *h, bool keep)
{
	char host[ALLOW_TEXT];

	allow_host_format(&h->host, host);
	put_slice(out, &h->method);
	buf_addc(out, ' ');
	if (h->path.size == 0 || h->path.at[0] == '?')
		buf_addc(out, '/');
	put_slice(out, &h->path);
	buf_adds(out, " HTTP/1.1\r\nHost: ");
	buf_adds(out, host);
	if (h->port != 80)
		buf_addf(out, ":%u", h->port);
	buf_adds(out, "\r\n");
	if (h->expect)
		buf_adds(out, "Expect: 100-continue\r\n");
	if (h->forwards >= 0)
		buf_addf(out, "Max-Forwards: %lld\r\n", (long long)h->forwards);
	put_fields(out, h, keep);
}

void
head_put_answer(struct buf *out, const struct head *h, bool keep)
{
	buf_addf(out, "HTTP/1.1 %d ", h->status);
	put_slice(out, &h->reason);
	buf_adds(out, "\r\n");
	put_fields(out, h, keep);
}
