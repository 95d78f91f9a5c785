/*
 * What a run may reach: entries (lib/allow.h) and exceptions to the address
 * rules, read from text. Default deny: nothing in it admits nothing.
 *
 * One entry a line, blanks around it ignored, '#' begins a comment at the start
 * of a line or behind a blank; `private CIDR` is an exception: addresses in it
 * may be dialled for a name though they are special. `builtin` stands for the
 * built-in list. `sni off` switches off the check of TLS server names.
 */
#ifndef SBX_PROXY_POLICY_H
#define SBX_PROXY_POLICY_H

#include "lib/allow.h"

#define POLICY_TEXT_MAX (1u << 20)
#define POLICY_ENTRIES_MAX 8192

struct policy;

/* NULL with ERR_INPUT naming the line and what is wrong with it. */
struct policy *policy_parse(const char *text, size_t size, struct err *e);
void policy_free(struct policy *p); /* takes NULL */

/* The host may be spoken to at that port. No name is resolved unless. */
bool policy_admits(
    const struct policy *p, const struct allow_host *h, uint16_t port);

/*
 * That address may be dialled for that host: NULL, or what kind of address it
 * is
 * ("loopback", "private" ...). A literal host that is admitted may be anything
 * but the proxy's own address; a name only what is not special or in an
 * exception.
 */
const char *policy_refuses_address(const struct policy *p,
    const struct allow_host *h, const struct address *a);

bool policy_checks_sni(const struct policy *p);

#endif
