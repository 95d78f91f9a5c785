/*
 * Runs with network "allowlist" and the servers of origin.h, in one line.
 */
#ifndef SBX_E2E_EGRESS_H
#define SBX_E2E_EGRESS_H

#include "client.h"
#include "lib/ulid.h"

/* A run that has no entries of its own, or this one. */
void egress_new(const char *entry, char ret_id[ULID_SIZE]);

/* The status that the run gets of GET http://TO/hello through its proxy. */
int egress_fetch(const char *id, const char *to);

/* PUT of these entries, which are released. */
struct reply egress_put(const char *id, json_t *entries);

/* GET /v1/runs/ID/what. */
struct reply egress_get(const char *id, const char *what);

#endif
