/* The routes of leases, and the credential that other routes carry. */
#ifndef SBX_API_LEASE_H
#define SBX_API_LEASE_H

#include "api/call.h"
#include "store/lease.h"

int api_lease_acquire(struct call *c, struct err *e); /* POST …/lease */
int api_lease_renew(struct call *c, struct err *e);   /* POST …/lease/renew */
int api_lease_release(struct call *c, struct err *e); /* POST …/lease/release */

/* `owner` and `generation` of a body; "" and 0 where absent. The owner belongs
 * to body. */
int lease_credential(
    const json_t *body, struct credential *ret_who, struct err *e);

/* The same of the query, for a request whose body is raw or absent. */
int lease_credential_query(
    struct call *c, struct credential *ret_who, struct err *e);

#endif
