/* What a stack leaves in its warm cache. */
#include "left_cache.h"
#include "../check.h"
#include "lib/clock.h"
#include "lib/str.h"
#include "outside.h"
#include "run/cache_scan.h"
#include "stack.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#define SETTLE_MS 60000 /* rounds of the reaper, on a busy box and engine */
#define AGE_SEC 120

static const struct config *
cache_config(void)
{
	static struct config config;

	config.cache_root = stack_setting("SBX_CACHE_ROOT");
	return &config;
}

/* repos/<repo>/<generation>, runs/<id>: not what is in them. */
static int
age_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};

	(void)type;
	times[1].tv_sec -= AGE_SEC;
	if (where->level > 1)
		(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
	return where->level >= 3 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

void
cache_age(void)
{
	(void)nftw(cache_config()->cache_root, age_entry, 8,
	    FTW_PHYS | FTW_ACTIONRETVAL);
	freeReplyObject(redis_do("EVAL %s 0",
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:warm-pins:*')) do "
	    "redis.call('DEL', k) end return 0"));
}

static void
look_at_repo(const struct cache_repo *r, struct buf *faults)
{
	redisReply *gen = redis_do("HGET sbx:warm:%s gen", r->repo);

	if (r->old_count > 0)
		buf_addf(faults, "an old generation of %s is left\n", r->repo);
	if (r->copy_count > 0)
		buf_addf(faults, "a copy of %s is left\n", r->repo);
	if (r->current == NULL)
		buf_addf(faults, "%s is left without a template\n", r->repo);
	else if (gen->str == NULL || !str_eq(gen->str, r->current->gen))
		buf_addf(faults, "of %s Redis has %s, the disk %s\n", r->repo,
		    gen->str != NULL ? gen->str : "none", r->current->gen);
	freeReplyObject(gen);
}

static void
look_at_names(
    const struct cache_names *names, const char *where, struct buf *faults)
{
	for (size_t i = 0; i < names->count; i++)
		buf_addf(faults, "left in %s of the cache: %s\n", where,
		    names->item[i].name);
}

static void
look(struct buf *faults)
{
	struct arena a = ARENA_INIT;
	struct cache_scan scan;
	struct cache_names runs, trash;
	struct err e = ERR_INIT;
	int64_t templates = 0;

	check_ok(cache_scan(cache_config(), &a, &scan, &e), &e);
	check_ok(cache_runs(cache_config(), &a, &runs, &e), &e);
	check_ok(cache_trash(cache_config(), &a, &trash, &e), &e);
	for (size_t i = 0; i < scan.count; i++) {
		look_at_repo(&scan.item[i], faults);
		templates += scan.item[i].current != NULL;
	}
	look_at_names(&runs, "runs", faults);
	look_at_names(&trash, "trash", faults);
	arena_release(&a);
	redisReply *known = redis_do("ZCARD sbx:warms");
	if (known->integer > templates)
		buf_addf(faults, "Redis has %lld templates, the disk %lld\n",
		    known->integer, (long long)templates);
	freeReplyObject(known);
}

void
left_cache(struct buf *faults)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;
	BUF_AUTO found = BUF_INIT(1 << 20);

	/* A stack that was started again without a cache tidies none up. */
	if (!redis_answers() || !cache_on(cache_config()))
		return;
	for (look(&found); found.size > 0 && clock_mono_ms() < deadline;) {
		cache_age();
		(void)poll(NULL, 0, 100);
		buf_reset(&found);
		look(&found);
	}
	buf_add(faults, found.data, found.size);
}
