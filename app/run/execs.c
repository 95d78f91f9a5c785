/* The execs of a run, as verbs. */
#include "run/execs.h"
#include "guest/refusal.h"
#include "lib/str.h"
#include "run/reach.h"

#include <stdlib.h>
#include <string.h>

/* What a list is gathered into. */
struct gathering {
	struct arena *arena;
	struct wire_info *list;
	size_t count;
};

static void
gather(void *arg, const struct wire_info *info)
{
	struct gathering *g = arg;

	if (g->count == GUEST_LIST_MAX)
		return;
	struct wire_info *to = &g->list[g->count++];
	*to = *info;
	to->id = arena_strdup(g->arena, info->id);
	to->cmd = arena_strdup(g->arena, info->cmd);
}

static int
list(void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct gathering *g = arg;

	g->count = 0;
	return guest_list(en, at, gather, g, e);
}

static int
by_id(const void *a, const void *b)
{
	const struct wire_info *one = a, *two = b;

	return strcmp(one->id, two->id);
}

int
execs_list(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const struct wire_info **ret_list, size_t *ret_count, struct err *e)
{
	struct gathering g = {a, NULL, 0};

	g.list = arena_alloc(a, GUEST_LIST_MAX * sizeof(*g.list));
	if (reach_modern(run, REACH_OBJECTS, e) != 0 ||
	    reach_do(ctx, run, list, &g, e) != 0)
		return -1;
	qsort(g.list, g.count, sizeof(*g.list), by_id);
	*ret_list = g.list;
	*ret_count = g.count;
	return 0;
}

int
execs_find(const struct run_ctx *ctx, struct run *run, struct arena *a,
    const char *id, struct wire_info *ret_info, struct err *e)
{
	const struct wire_info *list;
	size_t count;

	if (execs_list(ctx, run, a, &list, &count, e) != 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i].id, id)) {
			*ret_info = list[i];
			return 0;
		}
	return refusal_of_object(WIRE_FAIL_EXEC_ABSENT, id, "", 0, e);
}

/* What is done to one of them, and the guest that comes of it. */
struct doing {
	const struct wire_act *act;
	const struct wire_attach *attach;
	struct guest *guest;
};

static int
act_on(
    void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	const struct doing *d = arg;

	return guest_act(en, at, d->act, e);
}

static int
follow(
    void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct doing *d = arg;

	d->guest = guest_follow(en, at, d->attach, e);
	return d->guest != NULL ? 0 : -1;
}

static int
input(void *arg, struct engine *en, const struct guest_place *at, struct err *e)
{
	struct doing *d = arg;

	d->guest = guest_input(en, at, d->act, e);
	return d->guest != NULL ? 0 : -1;
}

int
execs_act(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e)
{
	struct doing d = {.act = act};

	if (reach_modern(run, REACH_OBJECTS, e) != 0)
		return -1;
	return reach_do(ctx, run, act_on, &d, e);
}

struct guest *
execs_follow(const struct run_ctx *ctx, struct run *run,
    const struct wire_attach *attach, struct err *e)
{
	struct doing d = {.attach = attach};

	if (reach_modern(run, REACH_OBJECTS, e) == 0)
		(void)reach_do(ctx, run, follow, &d, e);
	return d.guest;
}

struct guest *
execs_input(const struct run_ctx *ctx, struct run *run,
    const struct wire_act *act, struct err *e)
{
	struct doing d = {.act = act};

	if (reach_modern(run, REACH_OBJECTS, e) == 0)
		(void)reach_do(ctx, run, input, &d, e);
	return d.guest;
}
