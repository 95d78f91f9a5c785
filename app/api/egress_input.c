/* Asking whether a host would be allowed. */
#include "api/egress_input.h"
#include "json/read.h"

#include <string.h>

int
egress_input_own(
    const json_t *body, struct arena *a, const char **ret_own, struct err *e)
{
	const char *const *entries;

	if (read_strings(body, "egressAllow", a, &entries, e) != 0)
		return -1;
	return egress_own(entries, a, ret_own, e);
}

/* A host with a port is spelled like the entry for it. */
static int
read_host(const json_t *body, struct allow_entry *ret_host, struct err *e)
{
	const char *text;

	if (read_string(body, "host", &text, e) != 0)
		return -1;
	if (text == NULL)
		return err_set(e, ERR_INPUT,
		    "host is required: a name or address, as in "
		    "\"example.com\" or \"example.com:8443\".");
	if (allow_parse(text, strlen(text), ret_host, e) != 0)
		return err_wrap(e, "host");
	if (ret_host->suffix)
		return err_set(e, ERR_INPUT,
		    "host is one host, and \"%.80s\" many; leave out the dot "
		    "at its front.",
		    text);
	return 0;
}

int
egress_input(const json_t *body, struct arena *a, struct egress_question *ret_q,
    struct err *e)
{
	struct allow_entry host = {.port = 0};
	int64_t port;

	if (read_host(body, &host, e) != 0 ||
	    read_int(body, "port", 1, UINT16_MAX, host.port, &port, e) != 0 ||
	    egress_input_own(body, a, &ret_q->own, e) != 0)
		return -1;
	if (host.port != 0 && port != host.port)
		return err_set(e, ERR_INPUT,
		    "port is %d, and host says %u; give one of them.",
		    (int)port, host.port);
	ret_q->host = host.host;
	ret_q->port = port != 0 ? (uint16_t)port : EGRESS_PORT_DEFAULT;
	return 0;
}

const struct egress_entry *
egress_admits(const struct egress_question *q, const struct egress_entry *list,
    size_t count)
{
	struct err ignored = ERR_INIT;
	struct allow_entry entry;

	for (size_t i = 0; i < count; i++)
		if (allow_parse(list[i].text, strlen(list[i].text), &entry,
			&ignored) == 0 &&
		    allow_covers(&entry, &q->host, q->port))
			return &list[i];
	return NULL;
}
