/*
 * Asking name servers. The only file that knows c-ares. No file is read, and
 * nothing is remembered.
 */
#ifndef SBX_PROXY_DNS_H
#define SBX_PROXY_DNS_H

#include "found.h"
#include "loop.h"

struct dns;

/* servers: as hosts_servers writes them. */
struct dns *dns_new(struct loop *loop, const char *servers, struct err *e);
/* What is under way is answered RESOLVE_FAILED. Takes NULL. */
void dns_free(struct dns *d);

/*
 * The addresses of one family, 4 or 6, that a name has: answered is called
 * once, maybe from here, and adds to what its arg has found. ttl: how long that
 * holds, in seconds; of RESOLVE_FOUND alone. It cannot be stopped, and comes to
 * an end within half a minute.
 */
typedef void dns_answered(void *arg, const struct found *found, int64_t ttl);
void dns_ask(struct dns *d, const char *name, int family,
    dns_answered *answered, void *arg);

#endif
