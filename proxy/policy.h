/*
 * What a run may reach: entries (lib/allow.h) and exceptions to the address
 * rules, read from text. Default deny: nothing in it admits nothing.
 *
 *	# a comment, at the start of a line or behind a blank
 *	builtin			the built-in list
 *	.example.com		an entry (lib/allow.h); one a line
 *	private 10.1.0.0/16	addresses in it may be dialled for a name though
 *				they are special
 *	sni off			TLS server names are not checked (sni on: they
 *				are, which is so without that line)
 *
 * Blanks around a line do not count, nor do entries that are there twice.
 * Pure; a lookup costs one step for each byte of the name.
 */
#ifndef SBX_PROXY_POLICY_H
#define SBX_PROXY_POLICY_H

#include "lib/allow.h"

#define POLICY_TEXT_MAX (1u << 20)
#define POLICY_ENTRIES_MAX 8192 /* with the built-in ones and exceptions */

struct policy;

/* NULL with ERR_INPUT naming each line that is wrong, and why: "line 3: ...;
 * line 7: ..." (as many as there is room for, then how many more). */
struct policy *policy_parse(const char *text, size_t size, struct err *e);
void policy_free(struct policy *p); /* takes NULL */

/* The host may be spoken to at that port. No name is resolved unless. */
bool policy_admits(
    const struct policy *p, const struct allow_host *h, uint16_t port);

/*
 * That address may be dialled for that host, which is admitted: NULL, or what
 * kind of address it is ("loopback", "private" ...). A host that is an address
 * may be any; a name's only what is not special or in an exception. Never the
 * unspecified address (Linux takes it for loopback), nor the proxy itself.
 */
const char *policy_refuses_address(const struct policy *p,
    const struct allow_host *h, const struct address *a, uint16_t port);

/* Where the proxy listens, in the network that it dials from; an unspecified
 * address is all of loopback. */
void policy_own(struct policy *p, const struct address *a, uint16_t port);

bool policy_checks_sni(const struct policy *p);

#endif
