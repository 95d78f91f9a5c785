/* The entries of an allowlist. */
#include "lib/allow.h"

#include <stdio.h>
#include <string.h>

#define QUOTED 80 /* bytes of an entry that an error shows */

/* -- hosts ----------------------------------------------------------------- */

static bool
is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_';
}

/* Why that is no name, or NULL. name is lower case, without a trailing dot. */
static const char *
name_fault(const char *name)
{
	if (*name == '\0')
		return "is empty";
	for (;;) {
		size_t size = strcspn(name, ".");

		if (size == 0)
			return "has an empty label";
		if (size > ALLOW_LABEL_MAX)
			return "has a label of more than 63 bytes";
		if (name[0] == '-' || name[size - 1] == '-')
			return "has a label that begins or ends with '-'";
		for (size_t i = 0; i < size; i++)
			if (!is_label_byte(name[i]))
				return "has a character that no host name has; "
				       "letters, digits, '-', '_' and '.' are "
				       "allowed";
		if (name[size] == '\0')
			return NULL;
		name += size + 1;
	}
}

/* Its last label is a number, as WHATWG URL 3.5 ("ends in a number") has it:
 * resolvers take such a thing for an address. */
static bool
ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot != NULL ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x')
		return last[2 + strspn(last + 2, "0123456789abcdef")] == '\0';
	return *last != '\0' && last[strspn(last, "0123456789")] == '\0';
}

/* Lower case into to, without one trailing dot; NULL, or why not. */
static const char *
normalise(const char *text, size_t size, char to[ALLOW_NAME_MAX + 1])
{
	if (size > 0 && text[size - 1] == '.')
		size--;
	if (size > ALLOW_NAME_MAX)
		return "is longer than 253 bytes";
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80)
			return "is not ASCII; write its xn-- form";
		if (c == '\0')
			return "has a NUL in it";
		to[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	to[size] = '\0';
	return NULL;
}

/* NULL, or why it is none. */
static const char *
host_fault(const char *text, size_t size, struct allow_host *h)
{
	char name[ALLOW_NAME_MAX + 1];
	bool brackets = size >= 2 && text[0] == '[' && text[size - 1] == ']';
	const char *fault = brackets ? normalise(text + 1, size - 2, name)
				     : normalise(text, size, name);

	*h = (struct allow_host){.is_address = true};
	if (fault != NULL)
		return fault;
	if (brackets || strchr(name, ':') != NULL)
		return strchr(name, ':') != NULL &&
			       address_parse(name, &h->address)
			   ? NULL
			   : "is no IPv6 address";
	if (ends_in_number(name))
		return address_parse(name, &h->address)
			   ? NULL
			   : "ends in a number, and is no IPv4 address in its "
			     "usual spelling";
	h->is_address = false;
	memcpy(h->name, name, sizeof(h->name));
	return name_fault(name);
}

int
allow_host_parse(
    const char *text, size_t size, struct allow_host *ret_h, struct err *e)
{
	const char *fault = host_fault(text, size, ret_h);

	if (fault == NULL)
		return 0;
	return err_set(e, ERR_INPUT, "the host \"%.*s\" %s",
	    (int)(size < QUOTED ? size : QUOTED), text, fault);
}

void
allow_host_format(const struct allow_host *h, char to[ALLOW_TEXT])
{
	char address[ADDRESS_TEXT];

	if (h->is_address)
		address_format(&h->address, true, address);
	(void)snprintf(to, ALLOW_TEXT, "%s", h->is_address ? address : h->name);
}

/* -- entries --------------------------------------------------------------- */

/* "10.0.0.0/8", whatever stands behind its prefix. */
static bool
is_range(const char *text, size_t size)
{
	const char *slash = memchr(text, '/', size);
	char address[ADDRESS_TEXT];
	struct address a;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		return false;
	(void)snprintf(
	    address, sizeof(address), "%.*s", (int)(slash - text), text);
	return address_parse(address, &a);
}

/* What people write that is no entry, and what to write instead. */
static const char *
entry_fault(const char *text, size_t size)
{
	if (size == 0)
		return "is empty";
	if (memchr(text, '\0', size) != NULL)
		return "has a NUL in it";
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == ' ' || (c >= '\t' && c <= '\r'))
			return "has white space in it";
		if (c < ' ' || c == 0x7f)
			return "has a control character in it";
		if (c == '*')
			return "has a '*'; write .example.com for a host and "
			       "everything below it";
		if (c == '/')
			return is_range(text, size)
				   ? "is a range of addresses, which is no "
				     "entry; list each address, or the names "
				     "that lead there, with the range in "
				     "SBX_EGRESS_PRIVATE"
				   : "is a URL or path; write the host alone";
		if (c == ',')
			return "has a comma; give each host as an entry of its "
			       "own";
		if (c == '@' || c == '?' || c == '#')
			return "has a '@', '?' or '#'; write the host alone";
	}
	return NULL;
}

/* 1 to 5 digits, 1 to 65535. */
static bool
parse_port(const char *text, size_t size, uint16_t *ret_port)
{
	unsigned value = 0;

	if (size < 1 || size > 5)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value < 1 || value > 65535)
		return false;
	*ret_port = (uint16_t)value;
	return true;
}

/* Where the port's colon is, or NULL: an IPv6 has colons of its own. */
static const char *
find_port(const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);

	if (text[0] == '[') {
		const char *close = memchr(text, ']', size);

		if (close == NULL || close + 1 == text + size)
			return NULL;
		return close[1] == ':' ? close + 1 : NULL;
	}
	if (colon == NULL)
		return NULL;
	size_t behind = size - (size_t)(colon + 1 - text);
	return memchr(colon + 1, ':', behind) == NULL ? colon : NULL;
}

static const char *
parse_entry(const char *text, size_t size, struct allow_entry *a)
{
	const char *fault = entry_fault(text, size);
	const char *colon;

	*a = (struct allow_entry){.port = 0};
	if (fault != NULL)
		return fault;
	colon = find_port(text, size);
	if (colon != NULL) {
		size_t host = (size_t)(colon - text);

		if (!parse_port(colon + 1, size - host - 1, &a->port))
			return "has a bad port; 1 to 65535";
		size = host;
	}
	a->suffix = size > 0 && text[0] == '.';
	if (a->suffix) {
		text++;
		size--;
	}
	fault = host_fault(text, size, &a->host);
	if (fault != NULL)
		return fault;
	if (a->suffix && a->host.is_address)
		return "is an address; it has nothing below it";
	if (a->suffix && strchr(a->host.name, '.') == NULL)
		return "is a suffix of one label; give at least two, as in "
		       ".example.com";
	return NULL;
}

int
allow_parse(
    const char *text, size_t size, struct allow_entry *ret_a, struct err *e)
{
	const char *fault = parse_entry(text, size, ret_a);

	if (fault == NULL)
		return 0;
	return err_set(e, ERR_INPUT, "the entry \"%.*s\" %s",
	    (int)(size < QUOTED ? size : QUOTED), text, fault);
}

void
allow_format(const struct allow_entry *a, char to[ALLOW_TEXT])
{
	char host[ALLOW_TEXT];
	char port[8] = "";

	allow_host_format(&a->host, host);
	if (a->port != 0)
		(void)snprintf(port, sizeof(port), ":%u", a->port);
	(void)snprintf(
	    to, ALLOW_TEXT, "%s%.254s%s", a->suffix ? "." : "", host, port);
}

static bool
is_below(const char *name, const char *suffix)
{
	size_t whole = strlen(name), part = strlen(suffix);

	return whole > part && name[whole - part - 1] == '.' &&
	       memcmp(name + whole - part, suffix, part) == 0;
}

bool
allow_covers(
    const struct allow_entry *a, const struct allow_host *h, uint16_t port)
{
	if (a->port != 0 ? a->port != port : port != 80 && port != 443)
		return false;
	if (a->host.is_address != h->is_address)
		return false;
	if (h->is_address)
		return address_equal(&a->host.address, &h->address);
	return strcmp(a->host.name, h->name) == 0 ||
	       (a->suffix && is_below(h->name, a->host.name));
}

void
allow_suggest(const struct allow_host *h, uint16_t port, char to[ALLOW_TEXT])
{
	const struct allow_entry a = {
	    *h, false, port == 80 || port == 443 ? 0 : port};

	allow_format(&a, to);
}
