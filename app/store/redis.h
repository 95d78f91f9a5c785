/*
 * A connection to Redis: the only file that knows hiredis.
 *
 * A thread owns one. It connects on first use, and again after it was lost
 * (back-off 50 ms doubling to 1 s between tries; while it waits, calls fail at
 * once). A call takes at most 1 s altogether (CONTRACT: 503 within 1 s). After
 * any error or timeout the connection is dropped, never reused, so that a late
 * reply cannot answer the next command. ERR_STORE_AWAY where Redis cannot be
 * reached, ERR_STORE where it refused.
 */
#ifndef SBX_STORE_REDIS_H
#define SBX_STORE_REDIS_H

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

struct redis;
struct redisReply; /* hiredis' */

/* A reply tree as this product reads it. */
struct reply_node;

/* url as in SBX_REDIS_URL; a bad one is ERR_INPUT. Does not connect. */
struct redis *redis_new(const char *url, struct err *e);
void redis_free(struct redis *r);

int redis_ping(struct redis *r, struct err *e);

/* One command, sent binary-safe. The reply is freed with redis_reply_free. An
 * error reply of Redis is -1 with ERR_STORE and its text. */
struct redisReply *redis_command(struct redis *r, int argc,
    const char *const *argv, const size_t *argv_size, struct err *e);
void redis_reply_free(struct redisReply *reply); /* takes NULL */

#endif
