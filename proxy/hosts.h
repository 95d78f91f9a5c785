/*
 * The text of hosts(5) and resolv.conf(5), read. Pure.
 */
#ifndef SBX_PROXY_HOSTS_H
#define SBX_PROXY_HOSTS_H

#include "lib/address.h"
#include "lib/buf.h"

#define HOSTS_MAX (1u << 20) /* of either text */

/* Up to most addresses of a name (lower case, no trailing dot). */
size_t hosts_find(
    const char *text, const char *name, struct address *to, size_t most);

/* The servers as "ADDRESS:PORT,[ADDRESS]:PORT"; what is none is left out, and
 * where there is none it is 127.0.0.1. */
void hosts_servers(const char *resolv, struct buf *out);

#endif
