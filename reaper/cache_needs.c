/* Records and volumes, as far as the warm cache goes. */
#include "cache_needs.h"
#include "docker/volume.h"
#include "lib/str.h"
#include "lib/ulid.h"
#include "store/run.h"
#include "store/warm.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 1000
#define GIB (1LL << 30)

struct need {
	const char *repo, *gen, *who;
};

/* Room for one more. */
static void *
grow(struct arena *a, void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room * 2 + 16;
	void *more = arena_alloc(a, *room * size);
	if (count > 0)
		memcpy(more, array, count * size);
	return more;
}

static void
add_need(struct needs *n, struct arena *a, const char *repo, const char *gen,
    const char *who)
{
	if (*repo == '\0' || *gen == '\0')
		return;
	n->item = grow(a, n->item, n->count, &n->room, sizeof(*n->item));
	n->item[n->count++] = (struct need){repo, gen, who};
}

static void
add_run(struct needs *n, struct arena *a, const char *id)
{
	n->run = grow(a, n->run, n->runs, &n->run_room, sizeof(*n->run));
	n->run[n->runs++] = id;
}

static int
gather_records(
    struct needs *n, const struct run_ctx *ctx, struct arena *a, struct err *e)
{
	struct run_page page = {0};
	int64_t warn = ctx->config->run_disk_warn_gb * GIB;

	do {
		if (run_all(ctx->redis, page.next, PAGE, a, &page, e) != 0)
			return -1;
		for (size_t i = 0; i < page.count; i++) {
			const struct run *run = &page.run[i];

			add_run(n, a, run->id);
			/* Of a copy the template may go; not before it is made.
			 */
			if (!str_eq(run->warm_kind, "copy") ||
			    str_eq(run->state, "creating"))
				add_need(n, a, run->warm_repo, run->warm_gen,
				    run->id);
			if (run->disk_warned && run->disk_cache > warn)
				n->flagged_bytes += run->disk_cache - warn;
		}
	} while (page.next[0] != '\0');
	return 0;
}

static const char *
label_of(const struct volume_info *v, const char *key, struct arena *a)
{
	for (size_t i = 0; i < v->label_count; i++)
		if (str_eq(v->labels[i].key, key))
			return arena_strdup(a, v->labels[i].value);
	return "";
}

static int
gather_volumes(
    struct needs *n, const struct run_ctx *ctx, struct arena *a, struct err *e)
{
	struct volume_list list;

	if (volume_list(ctx->engine, "teploy.sandbox.instance", ctx->instance,
		&list, e) != 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct volume_info *v = &list.item[i];
		const char *id = label_of(v, "teploy.sandbox.run", a);

		add_run(n, a, id);
		add_need(n, a, label_of(v, "teploy.sandbox.warm.repo", a),
		    label_of(v, "teploy.sandbox.warm.gen", a), id);
	}
	volume_list_release(&list);
	return 0;
}

static int
by_generation(const void *a, const void *b)
{
	const struct need *one = a, *other = b;
	int order = strcmp(one->repo, other->repo);

	return order != 0 ? order : strcmp(one->gen, other->gen);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int
needs_gather(
    struct needs *n, const struct run_ctx *ctx, struct arena *a, struct err *e)
{
	memset(n, 0, sizeof(*n));
	if (gather_volumes(n, ctx, a, e) != 0 ||
	    gather_records(n, ctx, a, e) != 0)
		return -1;
	if (n->count > 0)
		qsort(n->item, n->count, sizeof(*n->item), by_generation);
	if (n->runs > 0)
		qsort(n->run, n->runs, sizeof(*n->run), by_text);
	for (size_t i = 0; i < n->count; i++)
		if (warm_pin(ctx->redis, n->item[i].repo, n->item[i].gen,
			n->item[i].who, e) != 0)
			return -1;
	return 0;
}

bool
needs_has(const struct needs *n, const char *repo, const char *gen)
{
	const struct need key = {repo, gen, ""};

	return n->count > 0 && bsearch(&key, n->item, n->count,
				   sizeof(*n->item), by_generation) != NULL;
}

bool
needs_run(const struct needs *n, const char *id)
{
	return n->runs > 0 &&
	       bsearch(&id, n->run, n->runs, sizeof(*n->run), by_text) != NULL;
}
