/*
 * The version of what is kept in Redis, in sbx:schema: raised by a change that
 * programs from before it would misread. They then refuse to start beside it.
 */
#ifndef SBX_STORE_SCHEMA_H
#define SBX_STORE_SCHEMA_H

#include "store/redis.h"

#define SCHEMA_VERSION 1

/* Each program, before it serves. ERR_CONFLICT where Redis holds what a newer
 * version keeps; else it is marked as ours. A Redis that is away now is none of
 * this call's business: success. */
int schema_check(const char *redis_url, struct err *e);

#endif
