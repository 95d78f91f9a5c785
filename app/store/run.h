/*
 * The record of a run in Redis, and the only doors to it.
 *
 * Each decision is one Lua script (store/lua/), atomic and on Redis' clock.
 * Keys (DESIGN 2): sbx:run:<ID> hash, sbx:runs zset ID -> expiresAt. A run's
 * state moves creating -> running -> (exited) -> destroying -> gone; the
 * scripts refuse every other move (run_state.def is the table).
 */
#ifndef SBX_STORE_RUN_H
#define SBX_STORE_RUN_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/ulid.h"
#include "store/redis.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_CREATING_MS 15000 /* a creating mark lives so long unrefreshed */

struct run {
	char id[ULID_SIZE]; /* upper case */
	const char *image, *network, *state;
	const char *container; /* engine id, "" before create */
	const char *user;      /* the image's user, "" is root */
	const char *labels; /* JSON object text of the caller's labels, or "" */
	int64_t created_ms, expires_ms, ttl_sec;
	int64_t memory_mb, pids;
	double cpus;
	/* once exited */
	int64_t exit_code, exited_ms;
	bool oom_killed;
	const char *exit_reason; /* "" where none */
};

/*
 * A new record in state creating; fills run->id (monotonic ULID made on Redis'
 * clock), created_ms and expires_ms (created + ttl), and stores everything
 * else given. Not listed until started. The record lapses by itself
 * RUN_CREATING_MS after the last refresh when the creator dies.
 */
int run_create(struct redis *r, struct run *run, struct err *e);

/* Keep a creating record alive; its container id, once known (or NULL). */
int run_creating(
    struct redis *r, const char *id, const char *container, struct err *e);

/* creating -> running: listed from here on. ERR_RUN_ABSENT where the record
 * lapsed or is being destroyed: the caller undoes what it made. */
int run_started(struct redis *r, const char *id, struct err *e);

/* Adopt a container whose record is lost (reaper): the given record, state
 * running or exited, created_ms kept, expires_ms = min(created + 24 h, now +
 * ttl). No effect and *ret_adopted false where a record or a tombstone of the
 * id exists. */
int run_adopt(
    struct redis *r, struct run *run, bool *ret_adopted, struct err *e);

/* running -> exited. No effect in other states. */
int run_exited(struct redis *r, const struct run *run, struct err *e);

/* any -> destroying. ERR_RUN_ABSENT where there is no record. */
int run_destroying(struct redis *r, const char *id, struct err *e);

/* The record goes; a tombstone `sbx:gone:<ID>` of 10 minutes keeps the reaper
 * from adopting what is being removed. Absent is success. */
int run_forget(struct redis *r, const char *id, struct err *e);

/* One record; strings live in a. ERR_RUN_ABSENT where none. State creating
 * counts as absent unless any is set. */
int run_get(struct redis *r, const char *id, bool any, struct arena *a,
    struct run *ret_run, struct err *e);

struct run_page {
	struct run *run;
	size_t count;
	char next[ULID_SIZE]; /* cursor of the next page, "" at the end */
};

/* Up to limit listed runs with ids above cursor ("" from the start), in id
 * order, in one round trip. `label` as "k:v" filters, NULL does not. */
int run_list(struct redis *r, const char *cursor, int64_t limit,
    const char *label, struct arena *a, struct run_page *ret_page,
    struct err *e);

struct run_due {
	char (*id)[ULID_SIZE]; /* in the arena */
	size_t count;
	int64_t next_ms; /* until the next deadline, -1 where none is known */
	int64_t now_ms;	 /* Redis' clock */
};

/* Runs at or past their deadline and runs left in destroying: up to limit;
 * each is moved to destroying by the same script, so that a renewal and an
 * expiry have one outcome. */
int run_due(struct redis *r, int64_t limit, struct arena *a,
    struct run_due *ret_due, struct err *e);

/* Every id with a record (any state), for reconciliation. */
int run_all(
    struct redis *r, struct arena *a, struct run_due *ret_ids, struct err *e);

/* Redis' wall clock. */
int store_now(struct redis *r, int64_t *ret_ms, struct err *e);

#endif
