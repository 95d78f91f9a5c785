/* What the reaper evicts to keep the disk's free space (DESIGN 6): by a disk
 * that says how much is free, to the byte. */
#include "../../reaper/sweep.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "reaper_fixture.h"
#include "run/cache.h"
#include "store/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define GIB (1LL << 30)
#define TEMPLATES 5
#define FLOOR_GB 10
#define WARN_GB 2
#define DAY_SEC 86400

static int64_t free_bytes; /* of every disk, as this program is told */
static struct config config;
static struct sweeper s;
static int pipe_fd[2];

/* In libc's place. */
int
statvfs(const char *path, struct statvfs *st)
{
	(void)path;
	*st = (struct statvfs){.f_frsize = 4096,
	    .f_bsize = 4096,
	    .f_bavail = (fsblkcnt_t)(free_bytes / 4096)};
	return 0;
}

static void
name_of(int i, char to[WARM_REPO_SIZE])
{
	(void)snprintf(to, WARM_REPO_SIZE, "room/%d", i);
}

/* It says that it is 1 GiB. The higher i, the longer it was not used. */
static void
make_template(int i)
{
	struct cache_manifest m = {
	    .lock = {".", ""}, .bytes = GIB, .created_ms = clock_wall_ms()};
	struct timespec used[2] = {{.tv_sec = time(NULL) - i * DAY_SEC}};
	char path[256];
	struct err e = ERR_INIT;
	int tree, lock;

	used[1] = used[0];
	name_of(i, m.repo);
	memset(m.lock.hash, 'a', sizeof(m.lock.hash) - 1);
	check_ok(ulid_new(m.gen, &e), &e);
	check_ok(cache_begin(&config, m.repo, m.gen, &tree, &e), &e);
	(void)close(tree);
	check_ok(cache_lock(&config, m.repo, 1000, &lock, &e), &e);
	check_ok(cache_publish(&config, &m, &e), &e);
	cache_unlock(lock);
	(void)snprintf(path, sizeof(path), "%s/repos/room+%d/manifest.json",
	    config.cache_root, i);
	assert_int_equal(utimensat(AT_FDCWD, path, used, 0), 0);
}

static int
open_cache(void **state)
{
	struct err e = ERR_INIT;

	(void)reaper_test_open(state);
	config = (struct config){.cache_root = getenv("SBX_CACHE_ROOT"),
	    .run_dir = getenv("SBX_RUN_DIR"),
	    .disk_min_free_gb = FLOOR_GB,
	    .run_disk_warn_gb = WARN_GB};
	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	s = (struct sweeper){.ctx = {.config = &config,
				 .instance = REAPER_INSTANCE,
				 .redis = redis,
				 .engine = engine_new(fake_socket(engine))},
	    .arena = ARENA_INIT,
	    .stop_fd = pipe_fd[0],
	    .wake_fd = -1};
	check_ok(cache_setup(&config, &e), &e);
	check_ok(cache_sweep_open(&s, &e), &e);
	for (int i = 0; i < TEMPLATES; i++)
		make_template(i);
	return 0;
}

static int
close_cache(void **state)
{
	cache_sweep_close(&s);
	engine_free(s.ctx.engine);
	arena_release(&s.arena);
	fd_close(&pipe_fd[0]);
	fd_close(&pipe_fd[1]);
	return reaper_test_close(state);
}

static bool
has_template(int i)
{
	struct cache_manifest m;
	struct err e = ERR_INIT;
	char repo[WARM_REPO_SIZE];

	name_of(i, repo);
	return cache_current(&config, repo, &m, &e) == 0;
}

/* A round with so much free: how many templates are left. Those that were used
 * last are. */
static int
left_after(int64_t bytes)
{
	struct err e = ERR_INIT;
	int64_t wait_ms = 0;
	int left = 0;

	free_bytes = bytes;
	arena_reset(&s.arena);
	check_ok(
	    cache_sweep_round(&s, clock_mono_ms() + 60000, &wait_ms, &e), &e);
	assert_int_equal(s.failed, 0);
	while (left < TEMPLATES && has_template(left))
		left++;
	for (int i = left; i < TEMPLATES; i++)
		assert_false(has_template(i));
	return left;
}

/* A run that holds that much of the cache's disk. */
static void
make_run(int64_t bytes, bool warned)
{
	struct run run = fixture_start();
	const struct disk_use use = {
	    .bytes = bytes, .cache = bytes, .warned = warned};
	struct err e = ERR_INIT;
	bool news;

	check_ok(disk_note_run(redis, run.id, &use, &news, &e), &e);
	assert_int_equal(news, warned);
}

static void
no_more_go_than_the_disk_lacks(void **state)
{
	(void)state;
	assert_int_equal(left_after(FLOOR_GB * GIB), TEMPLATES);
	assert_int_equal(left_after(FLOOR_GB * GIB - 4096), TEMPLATES - 1);
	assert_int_equal(left_after(FLOOR_GB * GIB - 2 * GIB), TEMPLATES - 3);
	assert_int_equal(left_after(0), 0);
}

static void
without_a_floor_none_goes(void **state)
{
	(void)state;
	config.disk_min_free_gb = 0;
	assert_int_equal(left_after(0), TEMPLATES);
}

/* Whichever asks for more. */
static void
a_floor_and_a_cap_hold_together(void **state)
{
	(void)state;
	config.cache_max_gb = TEMPLATES - 1;
	assert_int_equal(left_after(FLOOR_GB * GIB), TEMPLATES - 1);
	assert_int_equal(left_after((FLOOR_GB - 2) * GIB), TEMPLATES - 3);
}

static void
what_flagged_runs_hold_beyond_it_no_template_makes_room_for(void **state)
{
	(void)state;
	make_run((WARN_GB + 3) * GIB, true);
	assert_int_equal(left_after((FLOOR_GB - 3) * GIB), TEMPLATES);
	assert_int_equal(left_after((FLOOR_GB - 4) * GIB), TEMPLATES - 1);
	make_run((WARN_GB + 1) * GIB, true);
	assert_int_equal(left_after((FLOOR_GB - 4) * GIB), TEMPLATES - 1);
	assert_int_equal(left_after((FLOOR_GB - 5) * GIB), TEMPLATES - 2);
}

static void
for_what_runs_hold_that_are_not_flagged_templates_make_room(void **state)
{
	(void)state;
	make_run(WARN_GB * GIB, false);
	assert_int_equal(left_after((FLOOR_GB - 2) * GIB), TEMPLATES - 2);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_cache, close_cache)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(no_more_go_than_the_disk_lacks),
	    TEST(without_a_floor_none_goes),
	    TEST(a_floor_and_a_cap_hold_together),
	    TEST(what_flagged_runs_hold_beyond_it_no_template_makes_room_for),
	    TEST(for_what_runs_hold_that_are_not_flagged_templates_make_room),
	};

	return cmocka_run_group_tests(
	    tests, reaper_group_open, reaper_group_close);
}
