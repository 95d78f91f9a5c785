/*
 * The record of a run in Redis, and the only doors to it.
 *
 * Each decision is one Lua script (store/lua/), atomic and on Redis' clock. A
 * run's state moves creating -> running -> (exited) -> destroying -> gone; the
 * scripts refuse every other move (run_state.def is the table). Keys:
 *
 *	sbx:run:<ID>	hash: the record (run_field.def)
 *	sbx:runs	zset ID -> when the reaper must look at it, in ms:
 *			expiresAt; while creating the end of the mark; while
 *			destroying the next try of the teardown
 *	sbx:ids		zset of the same IDs at score 0: id order, for pages
 *	sbx:gone:<ID>	tombstone, lapses after 10 minutes
 *	sbx:last-id	the newest ID, lapses after a day
 *
 * An index entry whose record is missing or no record heals: it is skipped and
 * removed by whoever meets it.
 */
#ifndef SBX_STORE_RUN_H
#define SBX_STORE_RUN_H

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/ulid.h"
#include "store/redis.h"

#include <stdbool.h>
#include <stdint.h>

/* A creating mark lives so long unrefreshed. Longer than the engine takes for a
 * create or start under load: nothing can refresh the mark meanwhile. */
#define RUN_CREATING_MS 60000

struct idem;

struct run {
	char id[ULID_SIZE]; /* upper case */
	const char *image, *network, *state;
	const char *container; /* engine id, "" before create */
	const char *user;      /* the image's user, "" is root */
	const char *labels;    /* JSON object text of the caller's, or "" */
	/* own entries of an allowlist: JSON array text (run/egress_policy.h) */
	const char *egress_allow;
	int64_t created_ms, expires_ms, ttl_sec;
	int64_t memory_mb, pids;
	double cpus;
	/* once exited */
	int64_t exit_code, exited_ms;
	bool oom_killed;
	const char *exit_reason; /* "" where none */
	const char *stop_reason; /* why the reaper ends it, "" where it does
				  * not; then its exit_reason (store/disk.h) */
	/* the last grant; active while lease_expires_ms > read_ms */
	const char *lease_holder; /* "" where none, or released */
	int64_t lease_generation, lease_expires_ms;
	bool auto_extend;
	/* the way to its init (run/reach.h): "socket", with the host's side of
	 * its directory and its pid, or "exec", which "" is too */
	const char *transport, *guest_dir;
	int64_t guest_pid;
	int64_t guest_wire; /* the wire version of its init; 0: before 3 */
	/* of its own network (run/egress.h), "10.219.0.0/29"; "" where it has
	 * none */
	const char *subnet;
	/* its warm volume (run/warm.h), "" where it has none; hash and dir are
	 * those it was booted with */
	const char *warm_repo, *warm_path, *warm_kind, *warm_gen;
	const char *warm_hash, *warm_dir;
	bool warm_booted;
	/* what it holds of the disk, as the reaper last measured it; part of it
	 * on the warm cache's disk; more than SBX_RUN_DISK_WARN_GB */
	int64_t disk_bytes, disk_ms; /* disk_ms 0: not yet */
	int64_t disk_cache;
	bool disk_warned;
	/* while it is copied (store/held.h): in force until hold_until_ms */
	const char *hold; /* "" where none */
	int64_t hold_until_ms;
	bool hold_frozen;
	/* not fields: when it was read, and operations in flight then */
	int64_t read_ms, in_flight;
};

/*
 * A new record in state creating; fills run->id (monotonic ULID made on Redis'
 * clock), created_ms and expires_ms (created + ttl), and stores image, network,
 * container, user, labels, egress_allow, ttl and limits. Not listed until
 * started. When the creator dies the record is due RUN_CREATING_MS after the
 * last refresh. ERR_CAPACITY, with a sentence for the caller, where the memory
 * of all runs that have not exited would pass max_memory_mb (0: no cap).
 */
int run_create(
    struct redis *r, struct run *run, int64_t max_memory_mb, struct err *e);

/* Keep a creating record alive; its container id, once known (or NULL).
 * ERR_RUN_ABSENT where it is not creating any more. */
int run_creating(
    struct redis *r, const char *id, const char *container, struct err *e);

/* creating -> running: listed from here on; idem (store/idem.h, NULL for
 * none) answers with it. ERR_RUN_ABSENT where the record
 * lapsed or is being destroyed: the caller undoes what it made. After
 * ERR_STORE_AWAY the run may have started; a teardown is right either way. */
int run_started(
    struct redis *r, const char *id, const struct idem *idem, struct err *e);

/* Record the way to a run's init (transport, guest_dir, guest_pid, guest_wire)
 * and subnet. No effect where there is no record. */
int run_reached(struct redis *r, const struct run *run, struct err *e);

/* Record what the warm volume is. No effect where there is no record. */
int run_warmed(struct redis *r, const struct run *run, struct err *e);

/* Replace a run's egressAllow. ERR_RUN_ABSENT; ERR_RUN_NOT_RUNNING. */
int run_egress(struct redis *r, const char *id, const char *own, struct err *e);

/* Adopt what is left of a run whose record is lost (reaper): the given record,
 * state running or destroying, created_ms kept, expires_ms = min(created +
 * 24 h, now + ttl), leaseGeneration now in ms. One that is destroying is due at
 * once. No effect and *ret_adopted false where a record exists, or, for one
 * that runs, a tombstone. */
int run_adopt(
    struct redis *r, struct run *run, bool *ret_adopted, struct err *e);

/* running -> exited; of one that has exited, a better reason. No effect in
 * other states. */
int run_exited(struct redis *r, const struct run *run, struct err *e);

/* any -> destroying. The caller then has the run to tear down: run_due leaves
 * it alone for 15 s (doubling to 60 s with each try of the reaper that failed).
 * Calling it again is no error. ERR_RUN_ABSENT where there is no record. */
int run_destroying(struct redis *r, const char *id, struct err *e);

/* creating or destroying -> gone, else ERR_CONFLICT. The record goes; a
 * tombstone keeps the reaper from adopting what is being removed. Absent is
 * success, and leaves a tombstone too. */
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
 * order. `label` as "k:v" filters, NULL does not. One round trip, or with a
 * label one for each 2,000 runs looked through. */
int run_list(struct redis *r, const char *cursor, int64_t limit,
    const char *label, struct arena *a, struct run_page *ret_page,
    struct err *e);

/* The same of every record, whatever its state. */
int run_all(struct redis *r, const char *cursor, int64_t limit, struct arena *a,
    struct run_page *ret_page, struct err *e);

struct run_due {
	struct {
		char id[ULID_SIZE];
		const char *was; /* its state before this */
	} * run;
	size_t count;
	int64_t next_ms; /* until more is due, -1 where nothing will be */
	int64_t now_ms;	 /* Redis' clock */
};

/* Up to limit runs at or past their deadline, creations that lapsed, and
 * teardowns that were not finished: each is moved to destroying by the same
 * script, so that a renewal and an expiry have one outcome, and is the caller's
 * to tear down as after run_destroying. */
int run_due(struct redis *r, int64_t limit, struct arena *a,
    struct run_due *ret_due, struct err *e);

struct run_queue {
	struct {
		char id[ULID_SIZE];
		int64_t due_ms; /* Redis' clock */
	} * run;
	size_t count;
	int64_t now_ms;
};

/* Every id with a record and when it is due, soonest first. */
int run_queue(struct redis *r, struct arena *a, struct run_queue *ret_queue,
    struct err *e);

/* Redis' wall clock. */
int store_now(struct redis *r, int64_t *ret_ms, struct err *e);

#endif
