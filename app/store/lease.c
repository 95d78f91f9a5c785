/* Leases and the operations that they fence. */
#include "store/lease.h"
#include "store/run_reply.h"
#include "store/script.h"

#define REFRESH_BATCH 16 /* operations in one script call */

/* A script that replies a lease. */
static int
run_lease(struct redis *r, struct script_call *c, struct lease *ret_lease,
    struct err *e)
{
	struct redisReply *reply = script_run(r, c, e);

	if (reply == NULL)
		return -1;
	int64_t generation = reply_int(reply_at(reply, 0));
	int64_t second = reply_int(reply_at(reply, 1));
	redis_reply_free(reply);
	ret_lease->generation = generation;
	ret_lease->expires_ms = generation > 0 ? second : 0;
	ret_lease->in_flight = generation > 0 ? 0 : second;
	return 0;
}

int
lease_acquire(struct redis *r, const char *id, const char *owner,
    int64_t ttl_ms, const char *waiter, struct lease *ret_lease, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_acquire);
	script_add(&c, id);
	script_add(&c, owner);
	script_add_int(&c, ttl_ms);
	script_add(&c, waiter);
	script_add_int(&c, LEASE_WAIT_MARK_MS);
	script_add_int(&c, 0);
	return run_lease(r, &c, ret_lease, e);
}

int
lease_raise(struct redis *r, const char *id, const char *owner, int64_t ttl_ms,
    int64_t above, struct lease *ret_lease, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_acquire);
	script_add(&c, id);
	script_add(&c, owner);
	script_add_int(&c, ttl_ms);
	script_add(&c, "");
	script_add_int(&c, LEASE_WAIT_MARK_MS);
	script_add_int(&c, above);
	return run_lease(r, &c, ret_lease, e);
}

int
lease_known(
    struct redis *r, const char *id, int64_t seen, int64_t known, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_known);
	script_add(&c, id);
	script_add_int(&c, seen);
	script_add_int(&c, known);
	return script_do(r, &c, e);
}

int
lease_forget(struct redis *r, const char *id, const char *waiter, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_forget);
	script_add(&c, id);
	script_add(&c, waiter);
	return script_do(r, &c, e);
}

int
lease_renew(struct redis *r, const char *id, const char *owner,
    int64_t generation, int64_t ttl_ms, struct lease *ret_lease, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_renew);
	script_add(&c, id);
	script_add(&c, owner);
	script_add_int(&c, generation);
	script_add_int(&c, ttl_ms);
	return run_lease(r, &c, ret_lease, e);
}

int
lease_release(struct redis *r, const char *id, const char *owner,
    int64_t generation, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_lease_release);
	script_add(&c, id);
	script_add(&c, owner);
	script_add_int(&c, generation);
	return script_do(r, &c, e);
}

int
op_begin(struct redis *r, struct op *op, const struct credential *who,
    struct arena *a, struct run *ret_run, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_op_begin);
	script_add(&c, op->run);
	script_add(&c, op->id);
	script_add(&c, who->owner);
	script_add_int(&c, who->generation);
	script_add_int(&c, OP_MARK_MS);
	script_add_int(&c, op->window_ms);
	run_add_field_names(&c);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	op->generation = reply_int(reply_at(reply, 0));
	run_from_reply(op->run, reply_at(reply, 1), a, ret_run);
	redis_reply_free(reply);
	return 0;
}

int
op_end(struct redis *r, const struct op *op, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_op_end);
	script_add(&c, op->run);
	script_add(&c, op->id);
	return script_do(r, &c, e);
}

static int
refresh_batch(struct redis *r, const struct op *ops, size_t count, bool *dead,
    struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_op_refresh);
	script_add_int(&c, OP_MARK_MS);
	script_add_int(&c, ops[0].window_ms); /* the same for all of a box */
	for (size_t i = 0; i < count; i++) {
		script_add(&c, ops[i].run);
		script_add(&c, ops[i].id);
		script_add_int(&c, ops[i].generation);
		dead[i] = false;
	}
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	for (size_t i = 0; i < reply_count(reply); i++) {
		int64_t position = reply_int(reply_at(reply, i));

		if (position >= 1 && (size_t)position <= count)
			dead[position - 1] = true;
	}
	redis_reply_free(reply);
	return 0;
}

int
op_refresh(struct redis *r, const struct op *ops, size_t count, bool *dead,
    struct err *e)
{
	while (count > 0) {
		size_t batch = count < REFRESH_BATCH ? count : REFRESH_BATCH;

		if (refresh_batch(r, ops, batch, dead, e) != 0)
			return -1;
		ops += batch;
		dead += batch;
		count -= batch;
	}
	return 0;
}

int
run_extend(struct redis *r, const char *id, const struct credential *who,
    int64_t ttl_ms, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_run_extend);
	script_add(&c, id);
	script_add(&c, who->owner);
	script_add_int(&c, who->generation);
	script_add_int(&c, ttl_ms);
	return script_do(r, &c, e);
}
