/* The reaper in the warm cache while Redis or the engine fails at any step:
 * what somebody needs stays, what nobody needs goes, Redis comes to know the
 * disk. */
#include "../check.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "torture.h"
#include "torture_client.h"
#include "torture_trees.h"
#include "torture_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char id[ULID_SIZE]; /* of the run that every story is about */
static int stamp;	   /* of the template */

/* -- what there is at first ------------------------------------------------ */

/* A file of the cache says that a template has two gigabytes. */
static void
swell(const char *path)
{
	struct err e = ERR_INIT;
	char *text = fd_read_file(path, 4096, NULL, &e);
	char *bytes = text != NULL ? strstr(text, "\"bytes\":") : NULL;
	BUF_AUTO large = BUF_INIT(8192);

	assert_non_null(bytes);
	buf_addf(&large, "%.*s\"bytes\":2147483648%s", (int)(bytes - text),
	    text, bytes + 8 + strspn(bytes + 8, "0123456789"));
	check_ok(fd_write_file(path, 0600, large.data, large.size, &e), &e);
	free(text);
}

/* SBX_CACHE_MAX_GB is 1 in this world. */
static void
too_large(void)
{
	char dir[400], path[420];

	stamp = tree_template();
	assert_true(tree_generation(dir));
	(void)snprintf(path, sizeof(path), "%s/manifest.json", dir);
	swell(path);
	(void)snprintf(path, sizeof(path), "%s/../manifest.json", dir);
	swell(path);
	world_age();
}

/* A run whose volume has the template for its lower layer. */
static void
too_large_and_in_use(void)
{
	char dir[400];

	too_large();
	(void)tree_run(id);
	promise(id, true);
	assert_true(tree_generation(dir));
	freeReplyObject(world_do("HSET sbx:run:%s warmKind overlay warmGen %s",
	    id, strrchr(dir, '-') + 1));
	freeReplyObject(world_do("DEL sbx:warm-pins:%s", TREE_REPO));
}

static void
put_directory(const char *name)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/cache/%s", world.dir, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A generation that was replaced, a copy whose worker died, the volume of a run
 * that is gone, what was thrown away. */
static void
left_behind(void)
{
	(void)tree_template();
	stamp = tree_template();
	put_directory("repos/acme+web/new-01BX5ZZKBKACTAV9WEVGEMMVS0");
	put_directory("repos/acme+web/new-01BX5ZZKBKACTAV9WEVGEMMVS0/tree");
	put_directory("repos/acme+old");
	put_directory("runs/01BX5ZZKBKACTAV9WEVGEMMVS0");
	put_directory("runs/01BX5ZZKBKACTAV9WEVGEMMVS0/upper");
	put_directory("trash/01BX5ZZKBKACTAV9WEVGEMMVS0");
	world_age();
}

static void
flushed(void)
{
	stamp = tree_template();
	(void)tree_run(id);
	promise(id, true);
	freeReplyObject(world_do("FLUSHALL"));
	world_age();
}

/* Redis says what the disk does not. */
static void
lost(void)
{
	char from[300], to[300];

	(void)tree_template();
	(void)snprintf(
	    from, sizeof(from), "%s/cache/repos/acme+web", world.dir);
	(void)snprintf(to, sizeof(to),
	    "%s/cache/trash/01BX5ZZKBKACTAV9WEVGEMMVS0", world.dir);
	assert_int_equal(rename(from, to), 0);
}

/* -- what must be so ------------------------------------------------------- */

static void
is_evicted(void)
{
	if (tree_of_template() != 0)
		wrong("a template that is too large is there");
}

static void
is_there(void)
{
	if (tree_of_template() != stamp)
		wrong("the template is %d, not %d", tree_of_template(), stamp);
}

/* -- the tests ------------------------------------------------------------- */

static void
a_template_too_many_is_evicted(void **state)
{
	static const struct story story = {.name = "evict",
	    .prepare = too_large,
	    .tell = world_tick_cache,
	    .clientless = true,
	    .end = is_evicted};

	(void)state;
	torture(&story);
}

static void
what_a_run_needs_is_not_evicted(void **state)
{
	static const struct story story = {.name = "evict in use",
	    .prepare = too_large_and_in_use,
	    .tell = world_tick_cache,
	    .clientless = true,
	    .end = is_there};

	(void)state;
	torture(&story);
}

static void
what_nobody_needs_goes(void **state)
{
	static const struct story story = {.name = "left behind",
	    .prepare = left_behind,
	    .tell = world_tick_cache,
	    .clientless = true,
	    .end = is_there};

	(void)state;
	torture(&story);
}

static void
a_flushed_redis_learns_of_the_templates(void **state)
{
	static const struct story story = {.name = "learn",
	    .prepare = flushed,
	    .tell = world_tick_cache,
	    .clientless = true,
	    .end = is_there};

	(void)state;
	torture(&story);
}

static void
redis_forgets_what_the_disk_does_not_have(void **state)
{
	static const struct story story = {.name = "forget",
	    .prepare = lost,
	    .tell = world_tick_cache,
	    .clientless = true,
	    .end = is_evicted};

	(void)state;
	torture(&story);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_template_too_many_is_evicted),
	    cmocka_unit_test(what_a_run_needs_is_not_evicted),
	    cmocka_unit_test(what_nobody_needs_goes),
	    cmocka_unit_test(a_flushed_redis_learns_of_the_templates),
	    cmocka_unit_test(redis_forgets_what_the_disk_does_not_have),
	};

	return cmocka_run_group_tests(tests, world_open, world_close);
}
