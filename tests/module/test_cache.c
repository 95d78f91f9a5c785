/* run/cache: generations on disk, and what becomes of them. */
#include "../wait.h"
#include "lib/fd.h"
#include "run/cache.h"
#include "run/cache_manifest.h"
#include "tree_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPO "acme/site"
#define FILES "cache/repos/acme+site"
#define GEN1 "01ARZ3NDEKTSV4RRFFQ69G5FA1"
#define GEN2 "01ARZ3NDEKTSV4RRFFQ69G5FA2"
#define RUN "01ARZ3NDEKTSV4RRFFQ69G5FAR"
#define PATIENCE_MS 30000

static struct config config;
static char root[256];

static void
set_root(const char *path)
{
	(void)snprintf(root, sizeof(root), "%s", path);
	config.cache_root = root;
}

static int
begin(void **state)
{
	struct err e = ERR_INIT;

	if (tree_begin_test(state) != 0)
		return -1;
	tree_in_memory();
	set_root(tree_path("cache"));
	return cache_setup(&config, &e);
}

/* What a generation holds: its own name. */
static void
start_gen(const char *repo, const char *gen)
{
	struct err e = ERR_INIT;
	int tree;

	check_ok(cache_begin(&config, repo, gen, &tree, &e), &e);
	FD_AUTO fd = openat(tree, "name", O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
	assert_int_equal(write(fd, gen, strlen(gen)), strlen(gen));
	(void)close(tree);
}

static struct cache_manifest
manifest_of(const char *repo, const char *gen)
{
	struct cache_manifest m = {
	    .created_ms = 1700000000123, .bytes = 4096, .entries = 1};

	(void)snprintf(m.repo, sizeof(m.repo), "%s", repo);
	(void)snprintf(m.gen, sizeof(m.gen), "%s", gen);
	(void)snprintf(m.lock.dir, sizeof(m.lock.dir), ".");
	memset(m.lock.hash, 'a', DIGEST_HEX_SIZE - 1);
	return m;
}

/* Returns the name that it got. */
static const char *
publish(const char *repo, const char *gen)
{
	static struct cache_manifest m;
	struct err e = ERR_INIT;
	int lock;

	start_gen(repo, gen);
	m = manifest_of(repo, gen);
	check_ok(cache_lock(&config, repo, PATIENCE_MS, &lock, &e), &e);
	check_ok(cache_publish(&config, &m, &e), &e);
	cache_unlock(lock);
	return m.gen;
}

static void
check_current(const char *repo, const char *gen)
{
	struct cache_manifest m;
	struct err e = ERR_INIT;

	if (gen == NULL) {
		check_fails(
		    cache_current(&config, repo, &m, &e), &e, ERR_ABSENT);
		return;
	}
	check_ok(cache_current(&config, repo, &m, &e), &e);
	assert_string_equal(m.gen, gen);
}

static void
what_was_published_is_current(void **state)
{
	struct cache_manifest m;
	struct err e = ERR_INIT;
	char path[CACHE_PATH_SIZE];

	(void)state;
	check_current(REPO, NULL);
	publish(REPO, GEN1);
	check_ok(cache_current(&config, REPO, &m, &e), &e);
	assert_string_equal(m.repo, REPO);
	assert_string_equal(m.gen, GEN1);
	assert_string_equal(m.lock.dir, ".");
	assert_int_equal(strlen(m.lock.hash), 64);
	assert_int_equal(m.created_ms, 1700000000123);
	assert_int_equal(m.bytes, 4096);
	assert_int_equal(m.entries, 1);
	assert_true(m.used_ms > 1700000000123);
	cache_tree_path(&config, REPO, GEN1, path);
	assert_string_equal(path, tree_path(FILES "/g-" GEN1 "/tree"));
	char *text = tree_text(tree_path(FILES "/g-" GEN1 "/tree/name"));
	assert_string_equal(text, GEN1);
	free(text);
	/* The older one stays for whom it may still serve. */
	publish(REPO, GEN2);
	check_current(REPO, GEN2);
	assert_true(tree_there(tree_path(FILES "/g-" GEN1 "/tree/name")));
}

/* One that was begun first may be published last. */
static void
generations_are_in_the_order_of_publishing(void **state)
{
	char second[ULID_SIZE];

	(void)state;
	publish(REPO, GEN2);
	(void)snprintf(second, sizeof(second), "%s", publish(REPO, GEN1));
	assert_true(strcmp(second, GEN2) > 0);
	check_current(REPO, second);
	assert_false(tree_there(tree_path(FILES "/new-" GEN1)));
	assert_false(tree_there(tree_path(FILES "/g-" GEN1)));
	char *text = tree_text(tree_path(FILES "/g-%s/tree/name", second));
	assert_string_equal(text, GEN1);
	free(text);
}

static void
a_copy_that_is_abandoned_leaves_nothing(void **state)
{
	(void)state;
	publish(REPO, GEN1);
	start_gen(REPO, GEN2);
	assert_true(tree_there(tree_path(FILES "/new-" GEN2 "/tree/name")));
	cache_abandon(&config, REPO, GEN2);
	assert_false(tree_there(tree_path(FILES "/new-" GEN2)));
	check_current(REPO, GEN1);
	assert_int_equal(rmdir(tree_path("cache/trash")), 0);
	/* Nor does one that was published, or never begun. */
	cache_abandon(&config, REPO, GEN1);
	cache_abandon(&config, "acme/none", GEN1);
	check_current(REPO, GEN1);
}

static void
what_was_dropped_is_not_current_but_still_there(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	publish(REPO, GEN1);
	check_ok(cache_drop(&config, REPO, &e), &e);
	check_current(REPO, NULL);
	assert_true(tree_there(tree_path(FILES "/g-" GEN1 "/tree/name")));
	check_fails(cache_drop(&config, REPO, &e), &e, ERR_ABSENT);
	check_fails(cache_drop(&config, "acme/none", &e), &e, ERR_ABSENT);
	assert_false(tree_there(tree_path("cache/repos/acme+none")));
}

static void
what_is_discarded_goes_to_the_trash_and_is_current_no_more(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	publish(REPO, GEN1);
	publish(REPO, GEN2);
	check_ok(cache_discard(&config, REPO, GEN1, &e), &e);
	assert_false(tree_there(tree_path(FILES "/g-" GEN1)));
	check_current(REPO, GEN2);
	cache_tidy(&config, REPO);
	check_current(REPO, GEN2);
	check_ok(cache_discard(&config, REPO, GEN2, &e), &e);
	check_ok(cache_discard(&config, REPO, GEN2, &e), &e);
	check_current(REPO, NULL);
	assert_false(tree_there(tree_path(FILES "/manifest.json")));
	cache_tidy(&config, REPO);
	assert_false(tree_there(tree_path(FILES)));
	check_ok(cache_discard(&config, REPO, GEN2, &e), &e);

	start_gen(REPO, GEN1);
	check_ok(cache_discard(&config, REPO, GEN1, &e), &e);
	assert_false(tree_there(tree_path(FILES "/new-" GEN1)));
	tree_dir(tree_path("cache/runs/" RUN), 0700);
	check_ok(cache_discard_run(&config, RUN, &e), &e);
	check_ok(cache_discard_run(&config, RUN, &e), &e);
	assert_false(tree_there(tree_path("cache/runs/" RUN)));
	/* Three generations and a run are to be deleted. */
	assert_int_equal(rmdir(tree_path("cache/trash")), -1);
}

static void
names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const names[] = {"", ".", "..", "../x", "x",
	    "01arz3ndektsv4rrffq69g5fa1", GEN1 "/..", "../../../kept"};
	struct err e = ERR_INIT;
	int tree, lock;

	(void)state;
	tree_dir(tree_path("kept"), 0700);
	publish(REPO, GEN1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		check_fails(cache_discard(&config, REPO, names[i], &e), &e,
		    ERR_INTERNAL);
		check_fails(
		    cache_discard_run(&config, names[i], &e), &e, ERR_INTERNAL);
		check_fails(cache_begin(&config, REPO, names[i], &tree, &e), &e,
		    ERR_INTERNAL);
		check_fails(cache_lock(&config, names[i], 0, &lock, &e), &e,
		    ERR_INTERNAL);
		cache_abandon(&config, REPO, names[i]);
	}
	assert_true(tree_there(tree_path("kept")));
	check_current(REPO, GEN1);
}

static void
all_repositories_are_listed_by_name(void **state)
{
	struct arena a = ARENA_INIT;
	struct cache_list list;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(cache_list(&config, &a, &list, &e), &e);
	assert_int_equal(list.count, 0);
	publish("b/b", GEN1);
	publish("a/z", GEN2);
	publish("a/b/c", GEN1);
	publish("dropped/one", GEN1);
	check_ok(cache_drop(&config, "dropped/one", &e), &e);
	publish("broken/one", GEN1);
	assert_int_equal(
	    truncate(tree_path("cache/repos/broken+one/manifest.json"), 30), 0);
	tree_dir(tree_path("cache/repos/stray"), 0700);
	check_ok(cache_list(&config, &a, &list, &e), &e);
	assert_int_equal(e.kind, ERR_NONE);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.item[0].repo, "a/b/c");
	assert_string_equal(list.item[1].repo, "a/z");
	assert_string_equal(list.item[2].repo, "b/b");
	assert_string_equal(list.item[1].gen, GEN2);
	arena_release(&a);
}

static void
manifests_that_are_not_whole_are_none(void **state)
{
	static const char good[] =
	    "{\"repo\":\"acme/site\",\"gen\":\"" GEN1 "\",\"lockHash\":"
	    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "\",\"repoDir\":\".\",\"createdAt\":1,\"bytes\":1,\"entries\":1}";
	static const struct {
		const char *from, *to; /* in good */
	} spoilt[] = {
	    {"acme/site", "acme/other"},
	    {"acme/site", "ACME/site"},
	    {"acme/site", "acme"},
	    {"\"gen\"", "\"gem\""},
	    {GEN1, "../../../../etc"},
	    {GEN1, "01arz3ndektsv4rrffq69g5fa1"},
	    {GEN1, GEN2}, /* which is not there */
	    {"aaaaaaaa", "AAAAAAAA"},
	    {"aaaaaaaa", ""},
	    {"\":\".\"", "\":\"..\""},
	    {"\":\".\"", "\":\"a/b\""},
	    {"\":\".\"", "\":7"},
	    {"\"bytes\":1", "\"bytes\":-1"},
	    {"\"bytes\":1", "\"bytes\":\"1\""},
	    {"}", ""},
	};
	struct stat st;

	(void)state;
	publish(REPO, GEN1);
	for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
		char text[1024];
		const char *at = strstr(good, spoilt[i].from);
		size_t before = (size_t)(at - good);

		(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)before,
		    good, spoilt[i].to, at + strlen(spoilt[i].from));
		assert_int_equal(unlink(tree_path(FILES "/manifest.json")), 0);
		tree_file(tree_path(FILES "/manifest.json"), 0600, text);
		check_current(REPO, NULL);
	}
	assert_int_equal(unlink(tree_path(FILES "/manifest.json")), 0);
	tree_file(tree_path(FILES "/manifest.json"), 0600, good);
	check_current(REPO, GEN1);
	/* Nor does a link, or a fifo, stand for one, or hold anybody up. */
	assert_int_equal(
	    rename(tree_path(FILES "/manifest.json"), tree_path("elsewhere")),
	    0);
	assert_int_equal(mkfifo(tree_path(FILES "/manifest.json"), 0600), 0);
	check_current(REPO, NULL);
	assert_int_equal(stat(tree_path(FILES "/g-" GEN1), &st), 0);
}

static void
use_is_remembered(void **state)
{
	const struct timespec old[2] = {{1000, 0}, {1000, 5000000}};
	struct cache_manifest m;
	struct err e = ERR_INIT;

	(void)state;
	publish(REPO, GEN1);
	assert_int_equal(
	    utimensat(AT_FDCWD, tree_path(FILES "/manifest.json"), old, 0), 0);
	check_ok(cache_current(&config, REPO, &m, &e), &e);
	assert_int_equal(m.used_ms, 1000005);
	cache_touch(&config, REPO);
	check_ok(cache_current(&config, REPO, &m, &e), &e);
	assert_true(m.used_ms > 1000005);
	cache_touch(&config, "acme/none");
	assert_false(tree_there(tree_path("cache/repos/acme+none")));
}

static void
a_lock_is_one_holders_and_ends_with_its_process(void **state)
{
	struct err e = ERR_INIT;
	int ready[2], lock;
	char byte;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		byte = cache_lock(&config, REPO, 0, &lock, &e) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	check_fails(cache_lock(&config, REPO, 0, &lock, &e), &e, ERR_BUSY);
	check_fails(cache_lock(&config, REPO, 20, &lock, &e), &e, ERR_BUSY);
	/* Others are not held up. */
	check_ok(cache_lock(&config, "acme/other", 0, &lock, &e), &e);
	cache_unlock(lock);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	check_ok(cache_lock(&config, REPO, PATIENCE_MS, &lock, &e), &e);
	cache_unlock(lock);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

/* Those who begin, lock and publish, and one who removes what is bare. */
static void
tidying_up_disturbs_nobody(void **state)
{
	pid_t child[3];
	int status;

	(void)state;
	for (int i = 0; i < 3; i++) {
		child[i] = fork();
		for (int n = 0; child[i] == 0 && n < 60; n++) {
			struct cache_manifest m;
			struct err e = ERR_INIT;
			char gen[ULID_SIZE];
			int tree, lock;

			if (ulid_new(gen, &e) != 0 ||
			    cache_begin(&config, REPO, gen, &tree, &e) != 0 ||
			    close(tree) != 0)
				_exit(1);
			m = manifest_of(REPO, gen);
			if (cache_lock(&config, REPO, PATIENCE_MS, &lock, &e) !=
				0 ||
			    cache_publish(&config, &m, &e) != 0 ||
			    cache_discard(&config, REPO, m.gen, &e) != 0)
				_exit(2);
			cache_tidy(&config, REPO);
			cache_unlock(lock);
		}
		if (child[i] == 0)
			_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_false(tree_there(tree_path(FILES)));
}

static void
a_root_is_made_with_its_parents(void **state)
{
	struct stat st;
	struct err e = ERR_INIT;

	(void)state;
	set_root(tree_path("some/where/cache"));
	check_ok(cache_setup(&config, &e), &e);
	check_ok(cache_setup(&config, &e), &e);
	assert_int_equal(stat(tree_path("some/where/cache"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	publish(REPO, GEN1);
	check_current(REPO, GEN1);
	tree_file(tree_path("file"), 0600, "");
	set_root(tree_path("file"));
	check_fails(cache_setup(&config, &e), &e, ERR_INTERNAL);
	set_root("");
	assert_false(cache_on(&config));
}

static void
a_full_disk_is_told(void **state)
{
	struct err e = ERR_INIT;
	int tree;

	(void)state;
	publish(REPO, GEN1);
	if (!tree_mount(tree_path(FILES), "nr_inodes=4,mode=0700"))
		skip();
	int rc = cache_begin(&config, REPO, GEN2, &tree, &e);
	if (rc == 0)
		rc = cache_begin(&config, REPO, GEN1, &tree, &e);
	tree_unmount(tree_path(FILES));
	check_fails(rc, &e, ERR_FILE_SPACE);
}

static void
one_stack_has_it_and_another_is_refused(void **state)
{
	char blocked[300];
	struct err e = ERR_INIT;

	(void)state;
	check_ok(cache_claim(&config, GEN1, &e), &e);
	check_ok(cache_claim(&config, GEN1, &e), &e);
	assert_int_equal(cache_claim(&config, GEN2, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.text, "SBX_CACHE_ROOT"));
	assert_non_null(strstr(e.text, root));
	/* One that is off, or cannot be, is nobody's. */
	(void)snprintf(blocked, sizeof(blocked), "%s/instance/x", root);
	config.cache_root = blocked;
	check_ok(cache_claim(&config, GEN2, &e), &e);
	config.cache_root = "";
	check_ok(cache_claim(&config, GEN2, &e), &e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, tree_end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_stack_has_it_and_another_is_refused),
	    TEST(what_was_published_is_current),
	    TEST(generations_are_in_the_order_of_publishing),
	    TEST(a_copy_that_is_abandoned_leaves_nothing),
	    TEST(what_was_dropped_is_not_current_but_still_there),
	    TEST(what_is_discarded_goes_to_the_trash_and_is_current_no_more),
	    TEST(names_that_lead_elsewhere_are_refused),
	    TEST(all_repositories_are_listed_by_name),
	    TEST(manifests_that_are_not_whole_are_none),
	    TEST(use_is_remembered),
	    TEST(a_lock_is_one_holders_and_ends_with_its_process),
	    TEST(tidying_up_disturbs_nobody),
	    TEST(a_root_is_made_with_its_parents),
	    TEST(a_full_disk_is_told),
	};

	return tree_run("cache", tests);
}
