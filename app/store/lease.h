/*
 * Leases, and the operations (execs, writes) that they fence (CONTRACT 5).
 *
 * Each decision is one script on Redis' clock. A lease lives in the run's
 * record (leaseHolder, leaseGeneration, leaseExpiresAt); operations in flight
 * are marks in sbx:inflight:<ID> that their worker refreshes and that lapse
 * OP_MARK_MS after it dies. A generation never repeats or goes back.
 *
 * ERR_RUN_ABSENT, and where named: ERR_LEASE_HELD, ERR_LEASE_SUPERSEDED,
 * ERR_LEASE_PENDING, ERR_RUN_BUSY, each with a sentence for the caller.
 */
#ifndef SBX_STORE_LEASE_H
#define SBX_STORE_LEASE_H

#include "store/run.h"

#define LEASE_OWNER_MAX 256
#define LEASE_WAIT_MARK_MS 3000 /* a waiter asks again before that */
#define OP_MARK_MS 15000
#define OP_REFRESH_MS 5000

struct lease {
	int64_t generation, expires_ms;
	int64_t in_flight; /* > 0: not granted, so many operations are */
};

/*
 * Grant. waiter: a token of the caller that may wait, or "" (then a busy run is
 * ERR_RUN_BUSY). With one a busy run is success with in_flight > 0, and until
 * LEASE_WAIT_MARK_MS later no operation starts and nobody else is granted: ask
 * again, or lease_forget.
 */
int lease_acquire(struct redis *r, const char *id, const char *owner,
    int64_t ttl_ms, const char *waiter, struct lease *ret_lease, struct err *e);
/* Grant again, to the holder of the active lease, with a generation above that
 * one: the run's guest knows it already. */
int lease_raise(struct redis *r, const char *id, const char *owner,
    int64_t ttl_ms, int64_t above, struct lease *ret_lease, struct err *e);
/* The run's guest knows of a later grant than Redis, where the latest that was
 * seen is: a Redis that was set back. Nobody has the run then. */
int lease_known(struct redis *r, const char *id, int64_t seen, int64_t known,
    struct err *e);
int lease_forget(
    struct redis *r, const char *id, const char *waiter, struct err *e);

/* Only the active lease's exact owner and generation. */
int lease_renew(struct redis *r, const char *id, const char *owner,
    int64_t generation, int64_t ttl_ms, struct lease *ret_lease, struct err *e);

/* The current grant's exact owner and generation, lapsed or not. */
int lease_release(struct redis *r, const char *id, const char *owner,
    int64_t generation, struct err *e);

/* An operation in flight. */
struct op {
	char run[ULID_SIZE], id[ULID_SIZE]; /* id "": a read */
	int64_t generation;		    /* that it was admitted under */
	int64_t window_ms; /* a run with autoExtend and less left is extended */
};

/* Who asks for an operation: owner "" and generation 0 without a credential. */
struct credential {
	const char *owner;
	int64_t generation;
};

/*
 * Admit and mark op (run, id and window given; generation is filled) in one
 * step, and read the run's record. A run that is not running is admitted
 * without a mark: the caller looks at its state. A read passes every fence and
 * leaves no mark; like any operation it keeps a run with autoExtend alive.
 */
int op_begin(struct redis *r, struct op *op, const struct credential *who,
    struct arena *a, struct run *ret_run, struct err *e);
int op_end(struct redis *r, const struct op *op, struct err *e);

/*
 * Keep the marks of these. Sets dead[i] where operation i must be ended: its
 * mark lapsed and the run was given to somebody since.
 */
int op_refresh(struct redis *r, const struct op *ops, size_t count, bool *dead,
    struct err *e);

/* A later deadline for a run: now + ttl, never earlier than before, never later
 * than createdAt + 24 h; fenced like an operation. */
int run_extend(struct redis *r, const char *id, const struct credential *who,
    int64_t ttl_ms, struct err *e);

#endif
