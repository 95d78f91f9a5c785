/* Leases: a caller, mostly a person, has a run for itself. */
#include "api/lease.h"
#include "docker/container.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "run/hold.h"
#include "run/place.h"
#include "run/reach.h"
#include "json/read.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#define TTL_MAX 86400
#define WAIT_MAX 60
#define FORCE_SEC 20 /* the marks of a worker that died lapse within 15 s */
#define FORCE_AGAIN_MS 1000
#define ASK_MS 50
#define FENCE_TRIES 5

struct acquire {
	char id[ULID_SIZE];
	const char *owner;
	int64_t ttl_sec, wait_sec;
	bool force;
	char waiter[ULID_SIZE]; /* "" where it may not wait */
};

static int
check_owner(struct credential *who, struct err *e)
{
	if (who->owner == NULL)
		who->owner = "";
	if (strlen(who->owner) > LEASE_OWNER_MAX)
		return err_set(e, ERR_INPUT, "owner has more than %d bytes.",
		    LEASE_OWNER_MAX);
	return 0;
}

int
lease_credential(const json_t *body, struct credential *ret_who, struct err *e)
{
	if (read_string(body, "owner", &ret_who->owner, e) != 0 ||
	    read_int(body, "generation", 1, INT64_MAX, 0, &ret_who->generation,
		e) != 0)
		return -1;
	return check_owner(ret_who, e);
}

int
lease_credential_query(
    struct call *c, struct credential *ret_who, struct err *e)
{
	const char *generation;

	ret_who->generation = 0;
	if (call_query(c, "owner", &ret_who->owner, e) != 0 ||
	    call_query(c, "generation", &generation, e) != 0)
		return -1;
	if (generation != NULL &&
	    str_to_int(generation, 0, INT64_MAX, &ret_who->generation) != 0)
		return err_set(e, ERR_INPUT,
		    "generation must be the number that the grant came with.");
	return check_owner(ret_who, e);
}

/* Both members of a grant, which renew and release must have. */
static int
read_grant(const json_t *body, struct credential *who, struct err *e)
{
	if (lease_credential(body, who, e) != 0)
		return -1;
	if (str_blank(who->owner))
		return err_set(e, ERR_INPUT,
		    "owner is required: who the lease was granted to.");
	if (who->generation == 0)
		return err_set(e, ERR_INPUT,
		    "generation is required: the number that the grant came "
		    "with.");
	return 0;
}

static int
read_ttl(const json_t *body, int64_t *ret_sec, struct err *e)
{
	if (read_int(body, "ttlSec", 1, TTL_MAX, 0, ret_sec, e) != 0)
		return -1;
	if (*ret_sec == 0)
		return err_set(e, ERR_INPUT,
		    "ttlSec is required: how long the lease lasts, 1 to %d "
		    "seconds.",
		    TTL_MAX);
	return 0;
}

static int
read_acquire(
    struct call *c, const json_t *body, struct acquire *q, struct err *e)
{
	if (call_run_id(c, q->id, e) != 0 ||
	    read_string(body, "owner", &q->owner, e) != 0 ||
	    read_ttl(body, &q->ttl_sec, e) != 0 ||
	    read_bool(body, "force", &q->force, e) != 0 ||
	    read_int(body, "waitSec", 1, WAIT_MAX, 0, &q->wait_sec, e) != 0)
		return -1;
	if (q->owner == NULL || str_blank(q->owner))
		return err_set(
		    e, ERR_INPUT, "owner is required: who the lease is for.");
	if (strlen(q->owner) > LEASE_OWNER_MAX)
		return err_set(e, ERR_INPUT, "owner has more than %d bytes.",
		    LEASE_OWNER_MAX);
	q->waiter[0] = '\0';
	if (!q->force && q->wait_sec == 0)
		return 0;
	return ulid_new(q->waiter, e);
}

static int
answer(
    struct call *c, const char *owner, const struct lease *lease, struct err *e)
{
	BUF_AUTO body = BUF_INIT(CALL_ANSWER_MAX);
	struct jw w = call_json(&body);

	jw_key(&w, "lease");
	jw_open(&w, '{');
	jw_str(&w, "holder", owner);
	jw_int(&w, "generation", lease->generation);
	jw_time(&w, "expiresAt", lease->expires_ms);
	jw_close(&w, '}');
	return call_answer(c, &w, 200, e);
}

static int
ask(struct call *c, const struct acquire *q, struct lease *lease, struct err *e)
{
	return lease_acquire(c->ctx.redis, q->id, q->owner, q->ttl_sec * 1000,
	    q->waiter, lease, e);
}

/* PID 1 of a run takes SIGUSR1 as: kill all but yourself. The engine resumes a
 * container that it sends a signal, in the middle of somebody's snapshot: that
 * is waited for. */
static int
reset_run(struct call *c, const char *id, struct err *e)
{
	char name[RUN_NAME_SIZE];
	bool held;

	if (hold_await_now(
		&c->ctx, id, clock_mono_ms() + HOLD_AWAIT_MS, &held, e) != 0 &&
	    held && e->kind != ERR_RUN_NOT_RUNNING)
		return -1;
	run_name(id, name);
	if (container_signal(c->ctx.engine, name, SIGUSR1, e) == 0)
		return 0;
	/* No container, or none that runs: nothing is left in flight. */
	return e->kind == ERR_ABSENT || e->kind == ERR_CONFLICT ? 0 : -1;
}

/*
 * The run's init learns of the grant before the caller does: what was admitted
 * before, by a worker that was stopped or without Redis meanwhile, is ended
 * there and cannot begin any more (DESIGN 2). It may know a higher generation,
 * where Redis lost what it knew.
 */
static int
fence_guest(
    struct call *c, const struct acquire *q, struct lease *lease, struct err *e)
{
	int64_t known = 0;
	struct run run;

	if (run_get(c->ctx.redis, q->id, false, c->x->arena, &run, e) != 0)
		return -1;
	for (int tries = 0; tries < FENCE_TRIES; tries++) {
		if (reach_fence(&c->ctx, &run, lease->generation, &known, e) !=
		    0)
			return -1;
		if (known == 0)
			return 0;
		if (lease_raise(c->ctx.redis, q->id, q->owner,
			q->ttl_sec * 1000, known, lease, e) != 0)
			return -1;
	}
	return err_set(e, ERR_LEASE_PENDING,
	    "Run %s is being given to others at the same time; try again.",
	    q->id);
}

/* A grant that the run's init did not learn of is taken back. Where root of the
 * run keeps its init from hearing, everything but the init is killed instead;
 * so it is with force, which takes along what is in flight in nobody's eyes:
 * background processes. */
static int
complete(
    struct call *c, const struct acquire *q, struct lease *lease, struct err *e)
{
	struct err ignored = ERR_INIT;

	if (!q->force || reset_run(c, q->id, e) == 0) {
		int rc = fence_guest(c, q, lease, e);
		/* A reset that comes late ends the engine's exec, too, by
		 * which the init was to be told. */
		if (rc != 0 && q->force && e->kind == ERR_ENGINE)
			rc = fence_guest(c, q, lease, e);
		if (rc == 0 ||
		    (e->kind == ERR_GUEST && reset_run(c, q->id, e) == 0))
			return answer(c, q->owner, lease, e);
	}
	(void)lease_release(
	    c->ctx.redis, q->id, q->owner, lease->generation, &ignored);
	return -1;
}

/* The run is busy: ask again until it is free, which force brings about. */
static int
wait_free(
    struct call *c, const struct acquire *q, struct lease *lease, struct err *e)
{
	int64_t begun = clock_mono_ms();
	int64_t force_at = q->force ? begun + q->wait_sec * 1000 : INT64_MAX;
	int64_t until =
	    begun + (q->wait_sec + (q->force ? FORCE_SEC : 0)) * 1000;
	struct pollfd client = {c->x->client_fd, POLLIN, 0};

	while (lease->in_flight > 0) {
		if (clock_mono_ms() >= force_at) {
			/* What was admitted before may begin only now. */
			force_at += FORCE_AGAIN_MS;
			if (reset_run(c, q->id, e) != 0)
				return -1;
		}
		if (clock_mono_ms() >= until)
			return err_set(e, ERR_RUN_BUSY,
			    "Run %s is still busy: %lld operations are in "
			    "flight.",
			    q->id, (long long)lease->in_flight);
		if (poll(&client, 1, ASK_MS) > 0)
			return err_set(e, ERR_GONE_AWAY, "the client left");
		if (ask(c, q, lease, e) != 0)
			return -1;
	}
	return 0;
}

int
api_lease_acquire(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;
	struct err ignored = ERR_INIT;
	struct acquire q;
	struct lease lease;

	if (call_body(c, &body, e) != 0 || read_acquire(c, body, &q, e) != 0 ||
	    ask(c, &q, &lease, e) != 0)
		return -1;
	if (lease.in_flight > 0) {
		int rc = call_long(c, e);

		if (rc == 0) {
			rc = wait_free(c, &q, &lease, e);
			call_long_end(c);
		}
		if (rc != 0) {
			(void)lease_forget(
			    c->ctx.redis, q.id, q.waiter, &ignored);
			return -1;
		}
	}
	return complete(c, &q, &lease, e);
}

int
api_lease_renew(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;
	char id[ULID_SIZE];
	struct credential who;
	struct lease lease;
	int64_t ttl_sec;

	if (call_run_id(c, id, e) != 0 || call_body(c, &body, e) != 0 ||
	    read_grant(body, &who, e) != 0 ||
	    read_ttl(body, &ttl_sec, e) != 0 ||
	    lease_renew(c->ctx.redis, id, who.owner, who.generation,
		ttl_sec * 1000, &lease, e) != 0)
		return -1;
	return answer(c, who.owner, &lease, e);
}

int
api_lease_release(struct call *c, struct err *e)
{
	json_auto_t *body = NULL;
	char id[ULID_SIZE];
	struct credential who;

	if (call_run_id(c, id, e) != 0 || call_body(c, &body, e) != 0 ||
	    read_grant(body, &who, e) != 0 ||
	    lease_release(c->ctx.redis, id, who.owner, who.generation, e) != 0)
		return -1;
	return exchange_reply(c->x, 204, NULL, NULL, 0, e);
}
