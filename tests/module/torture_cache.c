/* Whether the warm cache, its runs, volumes and images agree. */
#include "../wait.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache_scan.h"
#include "run/place.h"
#include "torture_world.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct config *
cache_config(void)
{
	static struct config config;
	static char root[128];

	(void)snprintf(root, sizeof(root), "%s/cache", world.dir);
	config.cache_root = root;
	return &config;
}

/* One current generation, which Redis knows, and none that nobody needs. */
static void
look_at_repo(const struct cache_repo *r, struct buf *to)
{
	const char *gen = world_text("HGET sbx:warm:%s gen", r->repo);

	if (r->current == NULL)
		buf_addf(to, "%s is left without a template; ", r->repo);
	else if (!str_eq(gen, r->current->gen))
		buf_addf(to, "Redis has %s of %s, the disk %s; ",
		    *gen != '\0' ? gen : "none", r->repo, r->current->gen);
	if (r->copy_count > 0)
		buf_addf(to, "a copy of %s is on its way for ever; ", r->repo);
	if (r->old_count > 0)
		buf_addf(to, "an old generation of %s is left; ", r->repo);
}

static bool
has_record(const char *id)
{
	return world_number("EXISTS sbx:run:%s", id) == 1;
}

static void
look_at_runs(struct arena *a, struct buf *to)
{
	struct cache_names runs, trash;
	struct err e = ERR_INIT;

	check_ok(cache_runs(cache_config(), a, &runs, &e), &e);
	check_ok(cache_trash(cache_config(), a, &trash, &e), &e);
	for (size_t i = 0; i < runs.count; i++)
		if (!has_record(runs.item[i].name))
			buf_addf(to, "a run's part of the cache is left; ");
	if (trash.count > 0)
		buf_addf(to, "the trash is not empty; ");
}

/* Volumes are those of records, images have names. */
static void
look_at_objects(struct buf *to)
{
	BUF_AUTO images = BUF_INIT(1 << 16);
	BUF_AUTO volumes = BUF_INIT(1 << 16);
	char id[ULID_SIZE], *save;

	model_objects(world.model, &images, &volumes);
	for (const char *at = images.data; at != NULL && *at != '\0';
	     at = strchr(at, ' ') + 1)
		if (*at == ' ')
			buf_addf(to, "an image without a name is left; ");
	if (volumes.size == 0)
		return;
	for (char *v = strtok_r(volumes.data, " ", &save); v != NULL;
	     v = strtok_r(NULL, " ", &save)) {
		char ulid[ULID_SIZE];

		(void)snprintf(
		    ulid, sizeof(ulid), "%s", v + strlen(RUN_PREFIX));
		if (!ulid_parse(ulid, id) || !has_record(id))
			buf_addf(to, "a volume is left; ");
	}
}

void
world_look_at_cache(struct buf *to)
{
	struct arena a = ARENA_INIT;
	struct cache_scan scan;
	struct err e = ERR_INIT;

	check_ok(cache_scan(cache_config(), &a, &scan, &e), &e);
	for (size_t i = 0; i < scan.count; i++)
		look_at_repo(&scan.item[i], to);
	if (world_number("ZCARD sbx:warms") > (int64_t)scan.count)
		buf_addf(to, "Redis has a template that is not there; ");
	look_at_runs(&a, to);
	look_at_objects(to);
	arena_release(&a);
}

bool
world_has_cache(void)
{
	struct arena a = ARENA_INIT;
	struct cache_scan scan;
	struct cache_names trash;
	struct err e = ERR_INIT;

	check_ok(cache_scan(cache_config(), &a, &scan, &e), &e);
	check_ok(cache_trash(cache_config(), &a, &trash, &e), &e);
	arena_release(&a);
	return scan.count + trash.count > 0;
}

static int
remove_entry(
    const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type;
	/* Its parts stay, which no worker makes twice. */
	return where->level <= 1 ? 0 : remove(path);
}

bool
world_empty_cache(void)
{
	struct arena a = ARENA_INIT;
	struct cache_scan scan;
	struct err e = ERR_INIT;
	BUF_AUTO images = BUF_INIT(1 << 16);
	BUF_AUTO volumes = BUF_INIT(1 << 16);

	check_ok(cache_scan(cache_config(), &a, &scan, &e), &e);
	model_objects(world.model, &images, &volumes);
	bool empty = scan.count == 0 && images.size + volumes.size == 0;
	arena_release(&a);
	(void)nftw(
	    cache_config()->cache_root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	return empty;
}
