/*
 * The warm cache kept in its bounds (DESIGN 6): generations that nobody needs
 * any more, copies and runs' parts that nobody will finish, and the templates
 * that were used longest ago where there are too many.
 *
 * What a generation is needed for is known three times over: by pins in Redis,
 * by records of runs, and by Docker's volumes, which no flush can take away.
 * Records and volumes are read before the disk is looked at, pins under the
 * repository's lock, once Redis has been made to forget the generation: nobody
 * can begin to need it after that.
 *
 * Removing is a rename into the trash. That is emptied in the rest of the
 * round; what resists is tried again ever more seldom, and counted.
 */
#include "cache_pass.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/str.h"
#include "run/warm.h"
#include "store/disk.h"

#include <string.h>

int
cache_sweep_open(struct sweeper *s, struct err *e)
{
	(void)e;
	s->own = trash_new();
	return 0;
}

void
cache_sweep_close(struct sweeper *s)
{
	trash_free(s->own);
	s->own = NULL;
}

void
cache_pass_note(struct cache_pass *p, int rc, const struct err *e)
{
	if (rc == 0 || e->kind == ERR_BUSY)
		return;
	if (p->s->failed++ == 0)
		p->first = *e;
}

/* -- Redis is told what is current ----------------------------------------- */

/* Under the lock, so that nobody is in the midst of changing it. */
static int
teach_locked(struct cache_pass *p, const char *repo,
    const struct warm_known *known, struct err *e)
{
	struct cache_manifest m;

	if (cache_current(p->s->ctx.config, repo, &m, e) == 0)
		return warm_teach(&p->s->ctx, &m, e);
	if (e->kind != ERR_ABSENT)
		return -1;
	return known != NULL ? warm_forget(p->s->ctx.redis, repo, known->gen, e)
			     : 0;
}

static void
teach(struct cache_pass *p, const char *repo, const struct warm_known *known)
{
	struct err e = ERR_INIT;
	int lock;
	int rc = cache_lock(p->s->ctx.config, repo, CACHE_LOCK_MS, &lock, &e);

	if (rc == 0) {
		rc = teach_locked(p, repo, known, &e);
		cache_unlock(lock);
	}
	p->learnt += rc == 0;
	cache_pass_note(p, rc, &e);
}

/* What the disk has of a repository, and what Redis knows; either may be NULL,
 * not both. */
static void
compare(
    struct cache_pass *p, struct cache_repo *r, const struct warm_known *known)
{
	struct cache_manifest *current = r != NULL ? r->current : NULL;

	if (known != NULL && current != NULL &&
	    str_eq(known->gen, current->gen)) {
		/* Whichever was told of its last use. */
		if (known->used_ms > current->used_ms)
			current->used_ms = known->used_ms;
		return;
	}
	if (known != NULL || current != NULL)
		teach(p, r != NULL ? r->repo : known->repo, known);
}

/* Both lists are sorted. */
static void
compare_all(struct cache_pass *p)
{
	size_t i = 0, j = 0, repos = p->scan.count, known = p->known.count;

	while ((i < repos || j < known) && !sweep_over(p->s, p->deadline)) {
		struct cache_repo *r = i < repos ? &p->scan.item[i] : NULL;
		const struct warm_known *k =
		    j < known ? &p->known.item[j] : NULL;
		int order = r == NULL	? 1
			    : k == NULL ? -1
					: strcmp(r->repo, k->repo);

		compare(p, order <= 0 ? r : NULL, order >= 0 ? k : NULL);
		i += order <= 0;
		j += order >= 0;
	}
}

/* -- the round ------------------------------------------------------------- */

static int
note_figures(struct cache_pass *p, struct err *e)
{
	int64_t templates = -p->evicted;

	for (size_t i = 0; i < p->scan.count; i++)
		templates += p->scan.item[i].current != NULL;
	const struct figure figures[] = {
	    {"disk cache", p->scan.bytes + trash_bytes(p->trash)},
	    {"disk trash", trash_bytes(p->trash)},
	    {"templates", templates},
	};
	return disk_note_box(
	    p->s->ctx.redis, figures, sizeof(figures) / sizeof(figures[0]), e);
}

static void
tell(struct cache_pass *p, int64_t deleted, int64_t start)
{
	p->s->dealt = p->learnt + p->superseded + p->copies + p->parts +
		      p->evicted + deleted;
	if (p->s->dealt + p->s->failed == 0)
		return;
	LOG_AT(p->s->failed > 0 ? LEVEL_WARNING : LEVEL_INFO, w, "cache.tidied")
	{
		jw_int(&w, "learnt", p->learnt);
		jw_int(&w, "superseded", p->superseded);
		jw_int(&w, "copies", p->copies);
		jw_int(&w, "parts", p->parts);
		jw_int(&w, "evicted", p->evicted);
		jw_int(&w, "evictedBytes", p->evicted_bytes);
		jw_int(&w, "deleted", deleted);
		jw_int(&w, "failed", p->s->failed);
		if (p->s->failed > 0)
			jw_str(&w, "error", p->first.text);
		jw_int(&w, "ms", clock_mono_ms() - start);
	}
}

/* Needs before the disk: what begins in between is pinned. */
static int
look(struct cache_pass *p, struct err *e)
{
	struct sweeper *s = p->s;

	if (needs_gather(&p->needs, &s->ctx, &s->arena, e) != 0 ||
	    cache_scan(s->ctx.config, &s->arena, &p->scan, e) != 0)
		return -1;
	return warm_all(s->ctx.redis, &s->arena, &p->known, e);
}

static void
purge(struct cache_pass *p)
{
	struct err e = ERR_INIT;

	cache_pass_note(p, trash_purge(p->trash, p->s, p->deadline, &e), &e);
}

int
cache_sweep_round(
    struct sweeper *s, int64_t deadline, int64_t *wait_ms, struct err *e)
{
	struct cache_pass p = {.s = s, .deadline = deadline, .trash = s->own};
	int64_t start = clock_mono_ms(), before = trash_deleted(s->own);

	if (s->away || !cache_on(s->ctx.config))
		return 0;
	/* For this nobody need be asked. */
	purge(&p);
	if (look(&p, e) != 0)
		return -1;
	compare_all(&p);
	cache_tidy_up(&p);
	purge(&p);
	cache_evict(&p);
	purge(&p);
	tell(&p, trash_deleted(p.trash) - before, start);
	if (!trash_settled(p.trash))
		*wait_ms = 0;
	return note_figures(&p, e);
}
