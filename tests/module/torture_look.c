/* Whether Redis, the engine and the directories agree. */
#include "../wait.h"
#include "lib/str.h"
#include "run/place.h"
#include "torture_world.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Every record, one after the other. */
static void
look_at_record(const char *id, const struct model_container *containers,
    size_t count, struct buf *to)
{
	char name[RUN_NAME_SIZE], state[32];
	const struct model_container *c = NULL;

	(void)snprintf(state, sizeof(state), "%s",
	    world_text("HGET sbx:run:%s state", id));
	run_name(id, name);
	for (size_t i = 0; i < count; i++)
		if (str_eq(containers[i].name, name))
			c = &containers[i];
	if (!str_eq(state, "running") && !str_eq(state, "exited"))
		buf_addf(to, "a record is %s for ever; ", state);
	else if (c == NULL)
		buf_addf(to, "a run is %s without a container; ", state);
	else if (c->running != str_eq(state, "running"))
		buf_addf(to, "a run is %s, its container is%s running; ", state,
		    c->running ? "" : " not");
	if (*world_text("ZSCORE sbx:runs %s", id) == '\0' ||
	    *world_text("ZSCORE sbx:ids %s", id) == '\0')
		buf_addf(to, "a record is not in the indices; ");
	if (world_number("ZCARD sbx:inflight:%s", id) > 0 &&
	    world_number("ZCOUNT sbx:inflight:%s %lld +inf", id,
		(long long)clock_wall_ms()) > 0)
		buf_addf(to, "an operation is in flight for ever; ");
}

static void
look_at_records(
    const struct model_container *containers, size_t count, struct buf *to)
{
	redisReply *keys = world_do("KEYS sbx:run:*");

	for (size_t i = 0; i < keys->elements; i++)
		look_at_record(
		    keys->element[i]->str + 8, containers, count, to);
	if (world_number("ZCARD sbx:runs") != (int64_t)keys->elements ||
	    world_number("ZCARD sbx:ids") != (int64_t)keys->elements)
		buf_addf(to, "an index has entries without a record; ");
	freeReplyObject(keys);
}

/* Networks are those of containers. */
static void
look_at_networks(
    const struct model_container *containers, size_t count, struct buf *to)
{
	char networks[MODEL_CONTAINERS][64];
	size_t number = model_networks(world.model, networks);

	for (size_t i = 0; i < number; i++) {
		bool used = false;

		for (size_t j = 0; j < count; j++)
			used = used || str_eq(containers[j].name, networks[i]);
		if (!used)
			buf_addf(to, "a network has no container; ");
	}
}

/* Run directories and containers are those of records. */
static void
look_for_orphans(
    const struct model_container *containers, size_t count, struct buf *to)
{
	char path[128], id[ULID_SIZE];
	const struct dirent *entry;

	for (size_t i = 0; i < count; i++) {
		const char *name = containers[i].name;

		if (!str_starts(name, RUN_PREFIX) ||
		    !ulid_parse(name + strlen(RUN_PREFIX), id) ||
		    world_number("EXISTS sbx:run:%s", id) == 0)
			buf_addf(to, "a container has no record; ");
	}
	(void)snprintf(path, sizeof(path), "%s/run/runs", world.dir);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    world_number("EXISTS sbx:run:%s", entry->d_name) == 0)
			buf_addf(to, "a run's directory is left; ");
	(void)closedir(dir);
}

/* What lasts in Redis beside records and their indices lasts for a reason. */
static bool
may_last(const char *key)
{
	static const char *const lasting[] = {"sbx:run:", "sbx:runs", "sbx:ids",
	    "sbx:reaper", "sbx:counters", "sbx:workers",
	    "sbx:warm:", "sbx:warms", "sbx:schema"};

	for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		if (str_starts(key, lasting[i]))
			return true;
	return false;
}

static void
look_at_keys(struct buf *to)
{
	redisReply *keys = world_do("KEYS *");

	for (size_t i = 0; i < keys->elements; i++) {
		const char *key = keys->element[i]->str;

		if (!may_last(key) && world_number("PTTL %s", key) == -1)
			buf_addf(to, "the key %s is left; ", key);
		if (str_starts(key, "sbx:idem:") &&
		    str_starts(world_text("GET %s", key), "making"))
			buf_addf(to, "%s is being made for ever; ", key);
	}
	freeReplyObject(keys);
}

void
world_disagreements(struct buf *to)
{
	struct model_container containers[MODEL_CONTAINERS];
	size_t count = model_list(world.model, containers);

	look_at_records(containers, count, to);
	look_for_orphans(containers, count, to);
	look_at_networks(containers, count, to);
	look_at_keys(to);
	world_look_at_cache(to);
	if (model_execs(world.model) > 0)
		buf_addf(to, "%zu commands run on; ", model_execs(world.model));
}

bool
world_empty(void)
{
	BUF_AUTO wrong = BUF_INIT(1 << 16);
	struct model_container containers[MODEL_CONTAINERS];

	world_disagreements(&wrong);
	bool empty = wrong.size == 0 &&
		     model_list(world.model, containers) == 0 &&
		     world_number("ZCARD sbx:ids") == 0;
	empty &= world_empty_cache();
	model_clear(world.model);
	freeReplyObject(world_do("FLUSHALL"));
	world_age();
	if (!empty) /* what is left has no record, and goes */
		for (int i = 0; i < 2; i++)
			world_tick(false);
	return empty;
}

bool
world_runs(const char *id)
{
	struct model_container containers[MODEL_CONTAINERS];
	size_t count = model_list(world.model, containers);
	char name[RUN_NAME_SIZE];

	run_name(id, name);
	for (size_t i = 0; i < count; i++)
		if (str_eq(containers[i].name, name))
			return containers[i].running &&
			       str_eq(world_text("HGET sbx:run:%s state", id),
				   "running");
	return false;
}
