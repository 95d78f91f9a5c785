/*
 * Internet addresses: reading, writing, ranges, and which of them lead into a
 * network that a run must not reach. Pure.
 *
 * "Special" is what the IANA special-purpose address registries (RFC 6890 and
 * its updates) name, multicast, what clouds answer metadata on, and IPv4 of
 * that kind hidden in IPv6 (mapped, compatible, NAT64, 6to4, Teredo).
 */
#ifndef SBX_LIB_ADDRESS_H
#define SBX_LIB_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_TEXT 48 /* with its NUL; an IPv6 in brackets too */

struct address {
	int family;	   /* 4 or 6 */
	uint8_t bytes[16]; /* the first 4 of an IPv4; network order */
};

/* An address with so many leading bits that count. */
struct cidr {
	struct address base;
	int bits;
};

/* RFC 3986 and 4291 spelling to the letter: four decimal numbers without
 * leading zeros, or IPv6 without brackets and zone. An IPv4 in IPv6
 * (::ffff:1.2.3.4) comes out as IPv4. */
bool address_parse(const char *text, struct address *ret_a);

/* RFC 5952. brackets: around an IPv6. */
void address_format(
    const struct address *a, bool brackets, char to[ADDRESS_TEXT]);

bool address_equal(const struct address *a, const struct address *b);

/* "10.0.0.0/8", or an address alone; bits behind the prefix must be 0. */
bool cidr_parse(const char *text, struct cidr *ret_c);
bool cidr_has(const struct cidr *c, const struct address *a);
/* The first address behind its base: a subnet's first host. */
struct address cidr_first(const struct cidr *c);

/* What kind of special it is, in words for a person ("private", "loopback");
 * NULL where it is none. */
const char *address_special(const struct address *a);

#endif
