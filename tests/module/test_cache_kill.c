/*
 * run/cache, when its process is killed at any moment of a generation's life:
 * what is current is whole, or (where it was dropped) absent, the lock is free,
 * and what was left half done can be removed. SBX_TEST_SEED chooses the
 * moments.
 */
#include "../check.h"
#include "lib/clock.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "run/cache.h"
#include "tree_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPO "acme/site"
#define FILES 12 /* of a generation: each holds the name it was begun with */
#define KILLS 150
#define MOMENTS_US 3000
#define PATIENCE_MS 60000

static struct config config;
static char root[256];
static unsigned seed;

static int
begin(void **state)
{
	struct err e = ERR_INIT;
	const char *chosen = getenv("SBX_TEST_SEED");

	if (tree_begin_test(state) != 0)
		return -1;
	tree_in_memory();
	(void)snprintf(root, sizeof(root), "%s", tree_path("cache"));
	config.cache_root = root;
	seed = chosen != NULL ? (unsigned)strtoul(chosen, NULL, 10)
			      : (unsigned)clock_wall_ms();
	print_message("SBX_TEST_SEED=%u\n", seed);
	return cache_setup(&config, &e);
}

static bool
fill(int tree, const char *gen)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		FD_AUTO fd =
		    openat(tree, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, gen, ULID_SIZE) != ULID_SIZE)
			return false;
	}
	return true;
}

static bool
empty_trash(void)
{
	struct err e = ERR_INIT;
	FD_AUTO trash = tree_open(tree_path("cache/trash"));

	return tree_empty(trash, NULL, &e) == 0;
}

/* One generation's life, its predecessor's end, and sometimes its own. */
static bool
live(bool drops)
{
	struct cache_manifest before, m = {.lock.dir = ".", .entries = FILES};
	struct err e = ERR_INIT;
	int tree, lock;

	if (ulid_new(m.gen, &e) != 0 ||
	    cache_begin(&config, REPO, m.gen, &tree, &e) != 0 ||
	    !fill(tree, m.gen))
		return false;
	(void)close(tree);
	(void)snprintf(m.repo, sizeof(m.repo), "%s", REPO);
	memset(m.lock.hash, 'a', DIGEST_HEX_SIZE - 1);
	if (cache_lock(&config, REPO, PATIENCE_MS, &lock, &e) != 0)
		return false;
	bool had = cache_current(&config, REPO, &before, &e) == 0;
	bool good =
	    cache_publish(&config, &m, &e) == 0 &&
	    (!had || cache_discard(&config, REPO, before.gen, &e) == 0) &&
	    (!drops || cache_drop(&config, REPO, &e) == 0) &&
	    (!drops || cache_discard(&config, REPO, m.gen, &e) == 0);
	if (drops)
		cache_tidy(&config, REPO);
	cache_unlock(lock);
	return good && empty_trash();
}

static void
check_whole(const struct cache_manifest *m)
{
	char path[CACHE_PATH_SIZE], first[ULID_SIZE], is[ULID_SIZE], name[16];

	assert_int_equal(m->entries, FILES);
	cache_tree_path(&config, REPO, m->gen, path);
	FD_AUTO tree = tree_open(path);
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		FD_AUTO fd = openat(tree, name, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(
		    read(fd, i == 0 ? first : is, ULID_SIZE), ULID_SIZE);
		if (i > 0)
			assert_string_equal(first, is);
	}
}

/* A process that does it again and again, until it is killed. */
static void
kill_one(bool drops)
{
	int moment = (int)(rand_r(&seed) % MOMENTS_US);
	const struct timespec t = {0, moment * 1000L};
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (live(drops))
			;
		_exit(1);
	}
	(void)nanosleep(&t, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void
check_left(bool drops)
{
	struct cache_manifest m;
	struct err e = ERR_INIT;
	int lock;

	check_ok(cache_lock(&config, REPO, PATIENCE_MS, &lock, &e), &e);
	if (cache_current(&config, REPO, &m, &e) == 0)
		check_whole(&m);
	else if (!drops || e.kind != ERR_ABSENT)
		fail_msg("kind %d: %s", e.kind, e.text);
	cache_unlock(lock);
}

/* What the reaper does of what nothing pins. */
static void
remove_all(void)
{
	const struct dirent *entry;
	struct err e = ERR_INIT;
	int lock;

	check_ok(cache_lock(&config, REPO, PATIENCE_MS, &lock, &e), &e);
	DIR *d = opendir(tree_path("cache/repos/acme+site"));
	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		const char *gen = strchr(entry->d_name, '-');
		char name[ULID_SIZE];

		if (gen == NULL || !ulid_parse(gen + 1, name))
			continue;
		check_ok(cache_discard(&config, REPO, name, &e), &e);
	}
	(void)closedir(d);
	cache_tidy(&config, REPO);
	cache_unlock(lock);
	assert_true(empty_trash());
	assert_int_equal(rmdir(tree_path("cache/repos")), 0);
}

static void
what_is_current_is_whole_whenever_its_publisher_is_killed(void **state)
{
	(void)state;
	assert_true(live(false));
	for (int i = 0; i < KILLS; i++) {
		kill_one(false);
		check_left(false);
	}
	remove_all();
}

static void
what_was_dropped_is_absent_or_whole(void **state)
{
	(void)state;
	for (int i = 0; i < KILLS; i++) {
		kill_one(true);
		check_left(true);
	}
	remove_all();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, tree_end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_is_current_is_whole_whenever_its_publisher_is_killed),
	    TEST(what_was_dropped_is_absent_or_whole),
	};

	return tree_run("cache_kill", tests);
}
