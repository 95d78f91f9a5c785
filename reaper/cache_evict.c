/* What there is too much of. */
#include "cache_pass.h"
#include "lib/str.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#define GIB (1LL << 30)

/*
 * Bytes that must go. What runs hold of the cache's disk beyond what they are
 * flagged for is theirs to answer for: no template makes room for it. What is
 * on its way out makes room by itself.
 */
static int64_t
excess(const struct cache_pass *p)
{
	const struct config *config = p->s->ctx.config;
	int64_t held = p->scan.bytes + trash_bytes(p->trash);
	int64_t most = config->cache_max_gb * GIB, much = 0;
	struct statvfs st;

	if (most > 0 && held > most)
		much = held - most;
	if (config->disk_min_free_gb == 0 || !trash_settled(p->trash) ||
	    statvfs(config->cache_root, &st) != 0)
		return much;
	int64_t lacking = config->disk_min_free_gb * GIB -
			  (int64_t)st.f_bavail * (int64_t)st.f_frsize -
			  p->needs.flagged_bytes;
	return lacking > much ? lacking : much;
}

static int
by_use(const void *a, const void *b)
{
	const struct cache_repo *const *one = a, *const *other = b;
	int64_t x = (*one)->current->used_ms, y = (*other)->current->used_ms;

	return x < y ? -1 : x > y;
}

/* Those with a template, used longest ago first. */
static struct cache_repo **
in_turn(struct cache_pass *p, size_t *ret_count)
{
	struct cache_repo **turn =
	    arena_alloc(&p->s->arena, (p->scan.count + 1) * sizeof(*turn));
	size_t count = 0;

	for (size_t i = 0; i < p->scan.count; i++)
		if (p->scan.item[i].current != NULL)
			turn[count++] = &p->scan.item[i];
	qsort(turn, count, sizeof(*turn), by_use);
	*ret_count = count;
	return turn;
}

/* Redis forgets it first, and only where nobody has it pinned; then the disk.
 * After a crash in between it is learnt again. */
static int
evict_locked(struct cache_pass *p, const struct cache_manifest *m,
    bool *ret_evicted, struct err *e)
{
	struct cache_manifest now;

	if (cache_current(p->s->ctx.config, m->repo, &now, e) != 0)
		return e->kind == ERR_ABSENT ? 0 : -1;
	if (!str_eq(now.gen, m->gen))
		return 0;
	if (warm_evict(p->s->ctx.redis, m->repo, m->gen, ret_evicted, e) != 0)
		return -1;
	if (!*ret_evicted)
		return 0;
	if (cache_discard(p->s->ctx.config, m->repo, m->gen, e) != 0) {
		*ret_evicted = false;
		return -1;
	}
	cache_tidy(p->s->ctx.config, m->repo);
	return 0;
}

static int
evict(struct cache_pass *p, const struct cache_manifest *m, bool *ret_evicted,
    struct err *e)
{
	int lock;

	*ret_evicted = false;
	if (needs_has(&p->needs, m->repo, m->gen))
		return 0;
	if (cache_lock(p->s->ctx.config, m->repo, CACHE_LOCK_MS, &lock, e) != 0)
		return -1;
	int rc = evict_locked(p, m, ret_evicted, e);
	cache_unlock(lock);
	return rc;
}

void
cache_evict(struct cache_pass *p)
{
	struct err e = ERR_INIT;
	int64_t much = excess(p);
	size_t count;

	if (much <= 0)
		return;
	struct cache_repo **turn = in_turn(p, &count);
	for (size_t i = 0; i < count && much > 0; i++) {
		const struct cache_manifest *m = turn[i]->current;
		bool evicted;

		if (sweep_over(p->s, p->deadline))
			return;
		cache_pass_note(p, evict(p, m, &evicted, &e), &e);
		if (!evicted)
			continue;
		much -= m->bytes;
		p->scan.bytes -= m->bytes;
		p->evicted_bytes += m->bytes;
		p->evicted++;
	}
}
