/* The Docker network of one run. */
#include "run/egress_network.h"
#include "docker/container.h"
#include "docker/network.h"
#include "lib/str.h"
#include "run/place.h"
#include "store/run.h"

#include <stdio.h>
#include <string.h>

#define SUBNET_BITS                                                           \
	29	       /* network, proxy, run, broadcast, and Docker's habits \
			*/
#define GRACE_MS 60000 /* nothing younger is left over (DESIGN 7) */
#define TRIES 64       /* at nine of ten taken, one of a thousand fails */

bool
egress_network_pick(
    const char *pool, const char *id, unsigned n, char to[ADDRESS_TEXT])
{
	uint32_t hash = str_hash(id), slot;
	struct cidr range;
	struct address *base = &range.base;
	char text[ADDRESS_TEXT];

	if (!cidr_parse(pool, &range) || n >> (SUBNET_BITS - range.bits) > 0)
		return false;
	/* A step that is odd misses none of a power of two. */
	slot = (hash + n * (hash >> 16 | 1)) &
	       ((1u << (SUBNET_BITS - range.bits)) - 1);
	slot <<= 32 - SUBNET_BITS;
	for (int i = 3; i >= 0; i--, slot >>= 8)
		base->bytes[i] |= (uint8_t)slot;
	address_format(base, false, text);
	(void)snprintf(to, ADDRESS_TEXT, "%.*s/%d", 15, text, SUBNET_BITS);
	return true;
}

/* ERR_CONFLICT where the engine has given a part of that subnet already. */
static int
make(const struct run_ctx *ctx, const char *id, const char *subnet,
    struct err *e)
{
	const struct label labels[] = {
	    {"teploy.sandbox", "1"},
	    {"teploy.sandbox.run", id},
	    {"teploy.sandbox.instance", ctx->instance},
	};
	char name[RUN_NAME_SIZE], gateway[ADDRESS_TEXT];
	struct cidr range;

	(void)cidr_parse(subnet, &range);
	const struct address first = cidr_first(&range);
	address_format(&first, false, gateway);
	run_name(id, name);
	const struct network_spec spec = {
	    name, subnet, gateway, labels, sizeof(labels) / sizeof(labels[0])};
	return network_create(ctx->engine, &spec, e);
}

int
egress_network_make(const struct run_ctx *ctx, const char *id, struct arena *a,
    const char **ret_subnet, struct err *e)
{
	const char *pool = ctx->config->egress_pool;
	struct err why = ERR_INIT;
	char subnet[ADDRESS_TEXT];

	for (unsigned n = 0;
	     n < TRIES && egress_network_pick(pool, id, n, subnet); n++) {
		if (make(ctx, id, subnet, &why) == 0) {
			*ret_subnet = arena_strdup(a, subnet);
			return 0;
		}
		if (why.kind != ERR_CONFLICT) {
			*e = why;
			return -1;
		}
	}
	return err_set(e, ERR_CAPACITY,
	    "No subnet of SBX_EGRESS_POOL (%s) is free for the run's network. "
	    "Destroy a run, or make the pool larger.",
	    pool);
}

int
egress_network_remove(const struct run_ctx *ctx, const char *id, struct err *e)
{
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	return network_remove(ctx->engine, name, e);
}

/* -- what is left over ----------------------------------------------------- */

/* 1 where the run is gone, 0, -1. */
static int
run_is_gone(const struct run_ctx *ctx, const char *id, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct container_info info;
	char name[RUN_NAME_SIZE];
	struct run run;

	int rc = run_get(ctx->redis, id, true, &a, &run, e);
	arena_release(&a);
	if (rc == 0 || e->kind != ERR_RUN_ABSENT)
		return rc;
	/* The record may have been lost: then it is adopted. */
	run_name(id, name);
	if (container_inspect(ctx->engine, name, &info, e) != 0)
		return e->kind == ERR_ABSENT ? 1 : -1;
	container_info_release(&info);
	return 0;
}

static int
clean(const struct run_ctx *ctx, const struct network_info *info, int64_t now,
    int64_t *removed, struct err *e)
{
	char id[ULID_SIZE];

	for (size_t i = 0; i < info->label_count; i++) {
		if (!str_eq(info->labels[i].key, "teploy.sandbox.run") ||
		    !ulid_parse(info->labels[i].value, id) ||
		    now - ulid_time(id) < GRACE_MS)
			continue;
		int rc = run_is_gone(ctx, id, e);
		if (rc <= 0)
			return rc;
		if (network_remove(ctx->engine, info->name, e) != 0)
			return -1;
		++*removed;
		return 0;
	}
	return 0;
}

int
egress_network_clean(
    const struct run_ctx *ctx, int64_t *ret_removed, struct err *e)
{
	struct network_list list;
	struct err one = ERR_INIT;
	int64_t now;
	int rc = 0;

	*ret_removed = 0;
	if (store_now(ctx->redis, &now, e) != 0 ||
	    network_list(ctx->engine, "teploy.sandbox.instance", ctx->instance,
		&list, e) != 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		if (clean(ctx, &list.item[i], now, ret_removed, &one) == 0)
			continue;
		if (rc == 0)
			*e = one;
		rc = -1;
	}
	network_list_release(&list);
	return rc;
}
