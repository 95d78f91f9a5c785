/*
 * Whom a run may reach: the entries of an allowlist (CONTRACT 6), and whether a
 * host and port are among them. Pure; shared by the API, which validates and
 * answers dry runs, and the proxy, which enforces.
 *
 *	host		that host, ports 80 and 443
 *	.suffix		that host and its subdomains, ports 80 and 443
 *	host:port	that host, that port only
 *	1.2.3.4, [::1]	an address, not a name; a port may follow
 *
 * Case does not count, nor one trailing dot. What resolvers would take for an
 * address though it is not spelled like one (0x7f.1, 2130706433) is refused.
 */
#ifndef SBX_LIB_ALLOW_H
#define SBX_LIB_ALLOW_H

#include "lib/address.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOW_NAME_MAX 253 /* of a name, in bytes (RFC 1035 2.3.4) */
#define ALLOW_LABEL_MAX 63
#define ALLOW_TEXT (ALLOW_NAME_MAX + 10) /* of an entry, with its NUL */

/* Where somebody wants to go. */
struct allow_host {
	bool is_address;
	struct address address;
	char
	    name[ALLOW_NAME_MAX + 1]; /* lower case, no trailing dot; else "" */
};

struct allow_entry {
	struct allow_host host;
	bool suffix;   /* and everything below */
	uint16_t port; /* 0: 80 and 443 */
};

/*
 * The host of a request (size bytes; an IPv6 in brackets, or bare). ERR_INPUT
 * with a sentence: not ASCII, bad label, too long, a number that is no address.
 */
int allow_host_parse(
    const char *text, size_t size, struct allow_host *ret_h, struct err *e);

/* The host as text: of an address RFC 5952, an IPv6 in brackets. */
void allow_host_format(const struct allow_host *h, char to[ALLOW_TEXT]);

/* An entry. ERR_INPUT with a sentence that quotes it and says what is wrong. */
int allow_parse(
    const char *text, size_t size, struct allow_entry *ret_a, struct err *e);

/* The canonical text of an entry: what allow_parse takes back as the same. */
void allow_format(const struct allow_entry *a, char to[ALLOW_TEXT]);

bool allow_covers(
    const struct allow_entry *a, const struct allow_host *h, uint16_t port);

/* The entry that would admit exactly that, as text for a person to add. */
void allow_suggest(
    const struct allow_host *h, uint16_t port, char to[ALLOW_TEXT]);

/* What every allowlist run may reach (allow_builtin.def). */
struct allow_builtin {
	const char *entry;
	bool both; /* publishing goes there too, not only installing */
	const char *text;
};

extern const struct allow_builtin allow_builtin[];
extern const size_t allow_builtin_count;

#endif
