/* What nobody needs any more. */
#include "cache_pass.h"
#include "lib/clock.h"
#include "lib/str.h"

#define GRACE_MS 60000 /* nothing younger is left behind by anybody */

static bool
is_young(int64_t made_ms)
{
	return clock_wall_ms() - made_ms < GRACE_MS;
}

/* -- repositories ---------------------------------------------------------- */

static bool
is_pinned(const struct warm_pins *pins, const char *gen, const char *who)
{
	for (size_t i = 0; i < pins->count; i++)
		if (str_eq(pins->item[i].gen, gen) &&
		    (who == NULL || str_eq(pins->item[i].who, who)))
			return true;
	return false;
}

/* Something of it may go. */
static bool
is_untidy(const struct cache_pass *p, const struct cache_repo *r)
{
	for (size_t i = 0; i < r->old_count; i++)
		if (!is_young(r->old[i].made_ms) &&
		    !needs_has(&p->needs, r->repo, r->old[i].gen))
			return true;
	for (size_t i = 0; i < r->copy_count; i++)
		if (!is_young(r->copy[i].made_ms))
			return true;
	return r->current == NULL && r->old_count + r->copy_count == 0;
}

static void
discard(struct cache_pass *p, const struct cache_repo *r, const char *gen,
    int64_t *count)
{
	struct err e = ERR_INIT;
	int rc = cache_discard(p->s->ctx.config, r->repo, gen, &e);

	*count += rc == 0;
	cache_pass_note(p, rc, &e);
}

/* Redis must have forgotten what goes before its pins are looked at: from then
 * on nobody can begin to need it. */
static int
tidy_locked(struct cache_pass *p, const struct cache_repo *r, struct err *e)
{
	struct cache_manifest current;
	struct warm_pins pins;

	if (cache_current(p->s->ctx.config, r->repo, &current, e) != 0) {
		if (e->kind != ERR_ABSENT)
			return -1;
		current.gen[0] = '\0';
	}
	for (size_t i = 0; i < r->old_count; i++)
		if (!str_eq(r->old[i].gen, current.gen) &&
		    warm_forget(p->s->ctx.redis, r->repo, r->old[i].gen, e) !=
			0)
			return -1;
	if (warm_pins(p->s->ctx.redis, r->repo, &p->s->arena, &pins, e) != 0)
		return -1;
	for (size_t i = 0; i < r->old_count; i++) {
		const struct cache_part *old = &r->old[i];

		if (!is_young(old->made_ms) && !str_eq(old->gen, current.gen) &&
		    !is_pinned(&pins, old->gen, NULL) &&
		    !needs_has(&p->needs, r->repo, old->gen))
			discard(p, r, old->gen, &p->superseded);
	}
	for (size_t i = 0; i < r->copy_count; i++)
		if (!is_young(r->copy[i].made_ms) &&
		    !is_pinned(&pins, r->copy[i].gen, "commit"))
			discard(p, r, r->copy[i].gen, &p->copies);
	cache_tidy(p->s->ctx.config, r->repo);
	return 0;
}

static int
tidy(struct cache_pass *p, const struct cache_repo *r, struct err *e)
{
	int lock;

	if (!is_untidy(p, r))
		return 0;
	if (cache_lock(p->s->ctx.config, r->repo, CACHE_LOCK_MS, &lock, e) != 0)
		return -1;
	int rc = tidy_locked(p, r, e);
	cache_unlock(lock);
	return rc;
}

/* -- runs ------------------------------------------------------------------ */

static int
tidy_runs(struct cache_pass *p, struct err *e)
{
	struct cache_names runs;
	struct err one = ERR_INIT;

	if (cache_runs(p->s->ctx.config, &p->s->arena, &runs, e) != 0)
		return -1;
	for (size_t i = 0; i < runs.count; i++) {
		const char *id = runs.item[i].name;

		if (needs_run(&p->needs, id) || is_young(runs.item[i].made_ms))
			continue;
		int rc = cache_discard_run(p->s->ctx.config, id, &one);
		p->parts += rc == 0;
		cache_pass_note(p, rc, &one);
	}
	return 0;
}

void
cache_tidy_up(struct cache_pass *p)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < p->scan.count; i++) {
		if (sweep_over(p->s, p->deadline))
			return;
		cache_pass_note(p, tidy(p, &p->scan.item[i], &e), &e);
	}
	cache_pass_note(p, tidy_runs(p, &e), &e);
}
