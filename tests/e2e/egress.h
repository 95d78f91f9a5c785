/*
 * Runs with network "allowlist" and the servers of origin.h, in one line.
 */
#ifndef SBX_E2E_EGRESS_H
#define SBX_E2E_EGRESS_H

#include "client.h"
#include "lib/ulid.h"

#include <sys/types.h>

/* A server on this box's loopback that answers every request with "hello";
 * until the process ends. Its port. */
int egress_server(void);

/* The process that serves that run; 0 for none. */
pid_t egress_proxy_of(const char *id);

/* A run that has no entries of its own, or this one. */
void egress_new(const char *entry, char ret_id[ULID_SIZE]);

/* The status that the run gets of GET http://TO/hello through its proxy. */
int egress_fetch(const char *id, const char *to);

/* PUT of these entries, which are released. */
struct reply egress_put(const char *id, json_t *entries);

/* GET /v1/runs/ID/what. */
struct reply egress_get(const char *id, const char *what);

#endif
