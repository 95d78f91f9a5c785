/*
 * Between run.c and lease.c: the fields of a record as arguments of a script,
 * and their values in its reply.
 */
#ifndef SBX_STORE_RUN_REPLY_H
#define SBX_STORE_RUN_REPLY_H

#include "store/run.h"
#include "store/script.h"

void run_add_field_names(struct script_call *c);

/* A record from the values of all fields, in that order. */
void run_from_reply(const char *id, const struct redisReply *values,
    struct arena *a, struct run *ret_run);

#endif
