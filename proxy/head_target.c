/* Where a request wants to go: RFC 9112 3.2 and 3.3. */
#include "head_part.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HTTP_PORT 80

/* -- host and port --------------------------------------------------------- */

/* The colon before the port, or NULL. An IPv6 stands in brackets. */
static const char *
find_colon(const struct slice *text)
{
	const char *from = text->at, *end = text->at + text->size;

	if (text->size > 0 && *from == '[') {
		from = memchr(from, ']', text->size);
		if (from == NULL || from + 1 == end)
			return NULL;
		from++;
	}
	return memchr(from, ':', (size_t)(end - from));
}

static int
take_port(const struct slice *text, uint16_t *ret_port, struct head_fault *f)
{
	uint64_t value;

	if (text->size > 5 || !head_number(text, &value) || value < 1 ||
	    value > UINT16_MAX)
		return head_refuse(
		    f, 400, "The port is not a number from 1 to 65535.");
	*ret_port = (uint16_t)value;
	return 0;
}

/* allow_host_parse takes IPv6 without brackets as well, and a trailing dot in
 * any; a URI has neither (RFC 3986 3.2.2). */
static bool
is_literal_gone_wrong(const struct slice *host)
{
	if (host->size == 0 || host->at[0] != '[')
		return memchr(host->at, ':', host->size) != NULL;
	return host->at[host->size - 1] != ']' ||
	       host->at[host->size - 2] == '.';
}

int
head_authority(const struct slice *text, struct allow_host *ret_host,
    uint16_t *port, struct head_fault *f)
{
	const char *colon = find_colon(text);
	struct slice host = *text;
	struct err e = ERR_INIT;

	if (memchr(text->at, '@', text->size) != NULL)
		return head_refuse(f, 400,
		    "There is a user name before the host (or a '@' in it); "
		    "that is not forwarded.");
	if (colon != NULL) {
		struct slice digits;

		host.size = (size_t)(colon - text->at);
		digits.at = colon + 1;
		digits.size = text->size - host.size - 1;
		if (take_port(&digits, port, f) != 0)
			return -1;
	}
	if (is_literal_gone_wrong(&host))
		return head_refuse(f, 400, "The address is malformed.");
	if (allow_host_parse(host.at, host.size, ret_host, &e) != 0) {
		f->status = 400;
		(void)snprintf(f->why, sizeof(f->why), "T%.250s.", e.text + 1);
		return -1;
	}
	return 0;
}

/* -- forms of a target ----------------------------------------------------- */

static int
take_connect(struct head *h, struct head_fault *f)
{
	h->connect = true;
	h->port = 0;
	if (head_authority(&h->target, &h->host, &h->port, f) != 0)
		return -1;
	if (h->port == 0)
		return head_refuse(f, 400,
		    "CONNECT needs a port behind the host, as in "
		    "host.example:443.");
	return 0;
}

static int
refuse_form(const struct slice *target, struct head_fault *f)
{
	const char *colon = memchr(target->at, ':', target->size);

	if (target->at[0] == '/' || slice_is(target, "*"))
		return head_refuse(f, 400,
		    "This is a proxy: ask it for http://host/path, or to "
		    "CONNECT host:port.");
	if (target->size >= 8 && strncasecmp(target->at, "https://", 8) == 0)
		return head_refuse(f, 501,
		    "This proxy speaks no TLS itself: reach https:// through "
		    "CONNECT host:port.");
	if (colon != NULL && target->at + target->size - colon > 3 &&
	    memcmp(colon, "://", 3) == 0)
		return head_refuse(f, 501,
		    "This proxy forwards http:// and, through CONNECT, "
		    "anything on TCP; no other scheme.");
	return head_refuse(f, 400,
	    "The request target is neither http://host/path nor, with CONNECT, "
	    "host:port.");
}

static int
take_absolute(struct head *h, struct head_fault *f)
{
	const struct slice *target = &h->target;
	struct slice authority = {target->at + 7, 0};

	if (target->size < 7 || strncasecmp(target->at, "http://", 7) != 0)
		return refuse_form(target, f);
	if (memchr(target->at, '#', target->size) != NULL)
		return head_refuse(
		    f, 400, "There is a fragment ('#') in the request target.");
	while (authority.size < target->size - 7 &&
	       authority.at[authority.size] != '/' &&
	       authority.at[authority.size] != '?')
		authority.size++;
	h->port = HTTP_PORT;
	if (head_authority(&authority, &h->host, &h->port, f) != 0)
		return -1;
	h->path.at = authority.at + authority.size;
	h->path.size = target->size - 7 - authority.size;
	/* RFC 9112 3.2.4: the whole server is meant, not its "/". */
	if (h->path.size == 0 && h->method.size == 7 &&
	    memcmp(h->method.at, "OPTIONS", 7) == 0)
		h->path = (struct slice){"*", 1};
	return 0;
}

int
head_take_target(struct head *h, struct head_fault *f)
{
	for (size_t i = 0; i < h->target.size; i++)
		if (h->target.at[i] <= ' ' || h->target.at[i] > '~')
			return head_refuse(f, 400,
			    "The request target has a byte that no URI has; "
			    "names that are not ASCII are written in their "
			    "xn-- form.");
	if (h->method.size == 7 && memcmp(h->method.at, "CONNECT", 7) == 0)
		return take_connect(h, f);
	return take_absolute(h, f);
}
