/* Internet addresses. */
#include "lib/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct special {
	const char *range, *kind;
};

/* IANA IPv4 Special-Purpose Address Registry, and what else leads inside. Some
 * of its ranges are globally reachable; nothing installs from there. */
static const struct special special4[] = {
    {"0.0.0.0/8", "this host"},		    /* RFC 791 */
    {"10.0.0.0/8", "private"},		    /* RFC 1918 */
    {"100.64.0.0/10", "carrier-grade NAT"}, /* RFC 6598 */
    {"127.0.0.0/8", "loopback"},	    /* RFC 1122 */
    {"168.63.129.16/32", "metadata"},	    /* Azure's platform address */
    {"169.254.0.0/16", "link-local"},	    /* RFC 3927; metadata services */
    {"172.16.0.0/12", "private"},	    /* RFC 1918 */
    {"192.0.0.0/24", "reserved"},	    /* RFC 6890 */
    {"192.0.2.0/24", "documentation"},	    /* RFC 5737 */
    {"192.31.196.0/24", "reserved"},	    /* RFC 7535, AS112 */
    {"192.52.193.0/24", "reserved"},	    /* RFC 7450, AMT */
    {"192.88.99.0/24", "reserved"},	    /* RFC 7526, 6to4 relays */
    {"192.168.0.0/16", "private"},	    /* RFC 1918 */
    {"192.175.48.0/24", "reserved"},	    /* RFC 7534, AS112 */
    {"198.18.0.0/15", "benchmarking"},	    /* RFC 2544 */
    {"198.51.100.0/24", "documentation"},   /* RFC 5737 */
    {"203.0.113.0/24", "documentation"},    /* RFC 5737 */
    {"224.0.0.0/4", "multicast"},	    /* RFC 5771 */
    {"240.0.0.0/4", "reserved"},	    /* RFC 1112, and broadcast */
};

/* The same for IPv6. */
static const struct special special6[] = {
    {"::/96", "reserved"}, /* RFC 4291: unspecified, loopback, compatible */
    {"64:ff9b:1::/48", "translated"},	/* RFC 8215 */
    {"100::/64", "discard"},		/* RFC 6666 */
    {"100:0:0:1::/64", "reserved"},	/* RFC 9780 */
    {"2001::/23", "reserved"},		/* RFC 2928; Teredo, ORCHID ... */
    {"2001:db8::/32", "documentation"}, /* RFC 3849 */
    {"2620:4f:8000::/48", "reserved"},	/* RFC 7534, AS112 */
    {"3fff::/20", "documentation"},	/* RFC 9637 */
    {"5f00::/16", "reserved"},		/* RFC 9602, SRv6 */
    {"fc00::/7", "private"},		/* RFC 4193; AWS' metadata is in it */
    {"fe80::/10", "link-local"},	/* RFC 4291 */
    {"fec0::/10", "private"},		/* RFC 3879, site-local */
    {"ff00::/8", "multicast"},		/* RFC 4291 */
};

/* IPv6 with an IPv4 inside, that is judged: at which byte. */
static const struct {
	const char *range;
	int at;
} hidden[] = {
    {"64:ff9b::/96", 12}, /* RFC 6052, NAT64 */
    {"2002::/16", 2},	  /* RFC 3056, 6to4 */
};

/* -- text ------------------------------------------------------------------ */

/* ::ffff:0:0/96 is IPv4 in every respect. */
static void
unmap(struct address *a)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	if (a->family != 6 || memcmp(a->bytes, prefix, sizeof(prefix)) != 0)
		return;
	a->family = 4;
	memmove(a->bytes, a->bytes + 12, 4);
	memset(a->bytes + 4, 0, 12);
}

bool
address_parse(const char *text, struct address *ret_a)
{
	struct address a = {0};

	/* inet_pton(3) takes no leading zeros, no short forms, no zones. */
	if (inet_pton(AF_INET, text, a.bytes) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, text, a.bytes) == 1)
		a.family = 6;
	else
		return false;
	unmap(&a);
	*ret_a = a;
	return true;
}

void
address_format(const struct address *a, bool brackets, char to[ADDRESS_TEXT])
{
	char text[INET6_ADDRSTRLEN];

	(void)inet_ntop(
	    a->family == 4 ? AF_INET : AF_INET6, a->bytes, text, sizeof(text));
	(void)snprintf(
	    to, ADDRESS_TEXT, brackets && a->family == 6 ? "[%s]" : "%s", text);
}

bool
address_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family &&
	       memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : 16) == 0;
}

/* -- ranges ---------------------------------------------------------------- */

static bool
same_bits(const uint8_t *a, const uint8_t *b, int bits)
{
	int whole = bits / 8;

	if (memcmp(a, b, (size_t)whole) != 0)
		return false;
	return bits % 8 == 0 ||
	       ((a[whole] ^ b[whole]) & (0xff00 >> bits % 8) & 0xff) == 0;
}

bool
cidr_has(const struct cidr *c, const struct address *a)
{
	return c->base.family == a->family &&
	       same_bits(c->base.bytes, a->bytes, c->bits);
}

bool
cidr_parse(const char *text, struct cidr *ret_c)
{
	const char *slash = strchr(text, '/');
	char address[ADDRESS_TEXT];
	size_t size = slash ? (size_t)(slash - text) : strlen(text);
	struct cidr c;
	char *end;

	if (size >= sizeof(address))
		return false;
	memcpy(address, text, size);
	address[size] = '\0';
	if (!address_parse(address, &c.base))
		return false;
	int most = c.base.family == 4 ? 32 : 128;
	c.bits = most;
	if (slash != NULL) {
		if (slash[1] < '0' || slash[1] > '9')
			return false;
		long bits = strtol(slash + 1, &end, 10);
		if (*end != '\0' || end - slash > 4 || bits > most)
			return false;
		c.bits = (int)bits;
	}
	/* What is behind the prefix. */
	for (int i = c.bits; i < most; i++)
		if (c.base.bytes[i / 8] & (0x80 >> i % 8))
			return false;
	*ret_c = c;
	return true;
}

struct address
cidr_first(const struct cidr *c)
{
	struct address a = c->base;

	/* The bits behind the prefix are 0: nothing is carried over. */
	a.bytes[a.family == 4 ? 3 : 15] |= c->bits < (a.family == 4 ? 32 : 128);
	return a;
}

/* -- judging --------------------------------------------------------------- */

static const char *
look_up(const struct special *table, size_t count, const struct address *a)
{
	struct cidr c;

	for (size_t i = 0; i < count; i++)
		if (cidr_parse(table[i].range, &c) && cidr_has(&c, a))
			return table[i].kind;
	return NULL;
}

const char *
address_special(const struct address *a)
{
	struct address inner = *a;
	struct cidr c;

	unmap(&inner);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (cidr_parse(hidden[i].range, &c) && cidr_has(&c, a)) {
			memmove(inner.bytes, a->bytes + hidden[i].at, 4);
			inner.family = 4;
		}
	if (inner.family == 4)
		return look_up(
		    special4, sizeof(special4) / sizeof(special4[0]), &inner);
	return look_up(
	    special6, sizeof(special6) / sizeof(special6[0]), &inner);
}
