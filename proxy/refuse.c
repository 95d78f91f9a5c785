/* What a run is told instead of an answer. */
#include "refuse.h"

#include <string.h>

static const struct {
	int status;
	const char *reason;
} reasons[] = {
    {400, "Bad Request"},
    {403, "Forbidden"},
    {408, "Request Timeout"},
    {414, "URI Too Long"},
    {417, "Expectation Failed"},
    {431, "Request Header Fields Too Large"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *
reason_of(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Refused";
}

void
refuse_put(struct buf *out, int status, bool with_body, const char *text)
{
	buf_addf(out,
	    "HTTP/1.1 %d %s\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Length: %zu\r\n"
	    "Connection: close\r\n"
	    "Cache-Control: no-store\r\n"
	    "Via: 1.1 sandbox\r\n",
	    status, reason_of(status), strlen(text));
	if (status == 503)
		buf_adds(out, "Retry-After: 1\r\n");
	buf_adds(out, "\r\n");
	if (with_body)
		buf_adds(out, text);
}

void
refuse_host(struct buf *text, const struct allow_host *h, uint16_t port)
{
	char host[ALLOW_TEXT], entry[ALLOW_TEXT];

	allow_host_format(h, host);
	allow_suggest(h, port, entry);
	buf_addf(text,
	    "sandbox: this run may not reach %s at port %u: it is not on its "
	    "allowlist.\n"
	    "\n"
	    "To admit it to one run, create the run with\n"
	    "    \"network\": \"allowlist\", \"egressAllow\": [\"%s\"]\n"
	    "or give one that is there its whole list anew, with this entry:\n"
	    "    PUT /v1/runs/{id}/egress\n"
	    "To admit it to every run, set\n"
	    "    SBX_EGRESS_ALLOW=%s\n"
	    "A run with network:\"open\" bypasses the proxy: no list applies "
	    "to it.\n",
	    host, port, entry, entry);
}

void
refuse_reason(struct buf *reason, const struct address *a, const char *kind)
{
	char plain[ADDRESS_TEXT];
	const char *article = "a ";

	if (strncmp(kind, "the ", 4) == 0)
		article = "";
	else if (strchr("aeiou", kind[0]) != NULL)
		article = "an ";
	address_format(a, false, plain);
	buf_addf(reason, "%s, %s%s address", plain, article, kind);
}

void
refuse_address(struct buf *text, const struct allow_host *h, uint16_t port,
    const struct address *a, const char *kind)
{
	struct allow_host literal = {.is_address = true, .address = *a};
	char host[ALLOW_TEXT], entry[ALLOW_TEXT], plain[ADDRESS_TEXT];

	allow_host_format(h, host);
	buf_addf(
	    text, "sandbox: %s is on this run's allowlist, but it is ", host);
	refuse_reason(text, a, kind);
	/* What was listed itself is refused for good. */
	if (h->is_address) {
		buf_adds(text, ".\n");
		return;
	}
	allow_suggest(&literal, port, entry);
	address_format(a, false, plain);
	buf_addf(text,
	    ", which a name may not lead to.\n"
	    "\n"
	    "If that is meant, list the address itself and use it in place of "
	    "the name:\n"
	    "    \"egressAllow\": [\"%s\"]\n"
	    "or let names lead there, in every run:\n"
	    "    SBX_EGRESS_PRIVATE=%s/%d\n"
	    "A run with network:\"open\" bypasses the proxy.\n",
	    entry, plain, a->family == 4 ? 32 : 128);
}
