/* Figures of the whole box. */
#include "store/counters.h"
#include "lib/str.h"
#include "store/script.h"

#define BATCH 30 /* pairs in one script call */

int64_t
figure_of(const struct figures *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (str_eq(f->item[i].name, name))
			return f->item[i].value;
	return 0;
}

int
counters_add(
    struct redis *r, const struct figure *amounts, size_t count, struct err *e)
{
	while (count > 0) {
		size_t batch = count < BATCH ? count : BATCH;
		struct script_call c;

		script_begin(&c, SCRIPT_counters_add);
		for (size_t i = 0; i < batch; i++) {
			script_add(&c, amounts[i].name);
			script_add_int(&c, amounts[i].value);
		}
		if (script_do(r, &c, e) != 0)
			return -1;
		amounts += batch;
		count -= batch;
	}
	return 0;
}

/* A reply of names and values, freed here. */
static void
take_figures(struct redisReply *reply, struct arena *a, struct figures *ret)
{
	size_t count = reply_count(reply) / 2;

	ret->item = arena_alloc(a, (count + 1) * sizeof(*ret->item));
	ret->count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = reply_text(reply_at(reply, i * 2));

		if (name == NULL)
			continue;
		ret->item[ret->count++] = (struct figure){arena_strdup(a, name),
		    reply_int(reply_at(reply, i * 2 + 1))};
	}
	redis_reply_free(reply);
}

int
counters_read(
    struct redis *r, struct arena *a, struct figures *ret, struct err *e)
{
	const char *argv[] = {"HGETALL", "sbx:counters"};
	struct redisReply *reply = redis_command(r, 2, argv, NULL, e);

	if (reply == NULL)
		return -1;
	take_figures(reply, a, ret);
	return 0;
}

int
worker_beat(struct redis *r, const char *name, const char *pool,
    int64_t threads, int64_t busy, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_worker_beat);
	script_add(&c, name);
	script_add_int(&c, COUNTERS_MARK_MS);
	script_add(&c, pool);
	script_add_int(&c, threads);
	script_add_int(&c, busy);
	return script_do(r, &c, e);
}

int
usage_read(struct redis *r, struct arena *a, struct figures *ret, struct err *e)
{
	struct script_call c;

	script_begin(&c, SCRIPT_usage);
	struct redisReply *reply = script_run(r, &c, e);
	if (reply == NULL)
		return -1;
	take_figures(reply, a, ret);
	return 0;
}
