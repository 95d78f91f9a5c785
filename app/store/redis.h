/*
 * A connection to Redis: the only file that knows hiredis.
 *
 * A thread owns one. It connects on first use, and again after it was lost
 * (back-off 50 ms doubling to 1 s between tries; while it waits, calls fail at
 * once). A call takes at most 1 s altogether (CONTRACT: 503 within 1 s), except
 * that looking up a host *name* is the resolver's business: give an address
 * where that may hang. After any error or timeout the connection is dropped,
 * never reused, so that a late reply cannot answer the next command.
 *
 * A command is sent a second time, on a fresh connection, only where the first
 * cannot have been executed: the server closed the idle connection before it,
 * or took only a part of it. What was sent whole and lost its answer is the
 * caller's to judge: ERR_STORE_AWAY.
 *
 * ERR_STORE_AWAY where Redis cannot be reached, is still loading, or does not
 * answer in time; ERR_STORE_SPACE where it takes no writes, since its disk
 * (then no ping either) or its maxmemory is full; ERR_STORE where it refused.
 */
#ifndef SBX_STORE_REDIS_H
#define SBX_STORE_REDIS_H

#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REDIS_CALL_MS 1000
#define REDIS_REPLY_MAX (64u << 20) /* bytes of one reply */

struct redis;
struct redisReply; /* hiredis' */

/* url as in SBX_REDIS_URL; a bad one is ERR_INPUT. Does not connect. */
struct redis *redis_new(const char *url, struct err *e);
void redis_free(struct redis *r); /* takes NULL */

/* Wait out the back-off (1 s at most; not at all where there is none), so that
 * the next call is tried: for what should not be left undone. */
void redis_settle(const struct redis *r);

int redis_ping(struct redis *r, struct err *e);

/* One command, sent binary-safe (argv_size NULL: strings). The reply is freed
 * with redis_reply_free. An error reply of Redis is NULL with the kind and its
 * text, which begins with Redis' own word for it ("NOSCRIPT ..."). */
struct redisReply *redis_command(struct redis *r, int argc,
    const char *const *argv, const size_t *argv_size, struct err *e);
void redis_reply_free(struct redisReply *reply); /* takes NULL */

/* Looking at a reply. A wrong type reads as nothing: no element, NULL, 0. */
size_t reply_count(const struct redisReply *reply);
const struct redisReply *reply_at(const struct redisReply *reply, size_t i);
const char *reply_text(const struct redisReply *reply); /* ends with a NUL */
int64_t reply_int(const struct redisReply *reply); /* decimal text as well */

#endif
