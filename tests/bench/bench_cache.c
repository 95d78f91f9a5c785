/*
 * The warm cache beside what one would do without it: copies.
 */
#include "../e2e/templates.h"
#include "bulk.h"
#include "spawned.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOTS 15
#define TENTH 30 /* directories: a tenth of the tree */

#define REPO "bench/web"
#define SMALL "bench/small"
#define NONE "bench/none"

/* -- boots ----------------------------------------------------------------- */

/* arg is the repository. */
static double
boot(void *arg)
{
	char id[ULID_SIZE];
	int64_t start = clock_mono_us();
	REPLY_AUTO r = template_run(IMAGE_PLAIN, arg, NULL, id);
	double ms = bulk_since(start);

	assert_int_equal(
	    json_is_true(json_at(r.json, "warm.booted")), !str_eq(arg, NONE));
	run_end(id);
	return ms;
}

/* What it takes a run to get that tree without a template. */
static double
copy_in(void *arg)
{
	char id[ULID_SIZE], place[256];
	REPLY_AUTO r = template_run(IMAGE_PLAIN, NONE, NULL, id);

	(void)arg;
	bulk_volume(id, place);
	bulk_settle(bulk.source);
	double ms = bulk_copy(bulk.source, place);
	bulk_keep_run(id);
	return ms;
}

static void
make_template(const char *repo, const char *tree)
{
	char id[ULID_SIZE];

	bulk_run(repo, tree, id);
	template_made(id, NULL);
}

static void
times_row(const char *measure, double ours, double theirs, const char *name)
{
	struct row row = {"", "", "", "", NO_GOAL};

	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms", ours);
	(void)snprintf(
	    row.beside, sizeof(row.beside), "%s %.0f ms", name, theirs);
	(void)snprintf(
	    row.ratio, sizeof(row.ratio), "%.0f x faster", theirs / ours);
	(void)snprintf(row.goal, sizeof(row.goal), ">= 20 x");
	row.verdict = theirs >= 20 * ours ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
}

/*
 * A boot takes what it takes without a tree, and as long with a tenth of it: so
 * how much faster it is than boot and copy is a question of how large the tree
 * is. What does not depend on that is what the tree adds to a boot, told as 1
 * ms where it is less.
 */
static void
a_warm_boot_costs_what_a_cold_one_does(void **state)
{
	static char warm[] = REPO, small[] = SMALL, cold[] = NONE;
	struct contender c[] = {{.once = boot, .arg = warm},
	    {.once = boot, .arg = cold}, {.once = boot, .arg = small}};
	struct contender copied = {.once = copy_in};
	char tree[160];

	(void)state;
	(void)snprintf(tree, sizeof(tree), "%s/small", bulk.dir);
	bulk_tree(tree, TENTH);
	make_template(REPO, bulk.source);
	make_template(SMALL, tree);
	measure_in_turn(c, 3, BOOTS);
	measure_in_turn(&copied, 1, BULK_COPIES);
	bulk_row(
	    "a boot of 30,000 files, 1 GiB", &c[0], &c[1], 1.15, "cold boot");
	bulk_row("the same beside 3,000 files, 0.1 GiB", &c[0], &c[2], 1.15,
	    "boot of those");
	double with = samples_at(&c[0].ms, 0.5);
	double without = samples_at(&c[1].ms, 0.5);
	double copy = samples_at(&copied.ms, 0.5);
	times_row(
	    "the same beside a copy", with, without + copy, "boot and cp -a");
	times_row("what they add to a boot",
	    with - without > 1 ? with - without : 1, copy, "cp -a");
	contenders_release(c, 3);
	contenders_release(&copied, 1);
	template_drop(REPO);
	template_drop(SMALL);
}

/* -- warm commits ---------------------------------------------------------- */

static double
commit(void *arg)
{
	static int count;
	char repo[64], volume[256];

	bulk_volume(arg, volume);
	bulk_settle(volume);
	int64_t start = clock_mono_us();
	(void)snprintf(repo, sizeof(repo), "bench/copy-%d", count++);
	template_made(arg, repo);
	double ms = bulk_since(start);
	template_drop(repo); /* its bytes are the reaper's, later */
	return ms;
}

/* What is not on the disk yet may be lost: ours is. */
static double
copy_and_flush(void *arg)
{
	static int count;
	char path[200];
	const char *argv[] = {"sync", "-f", path, NULL};

	(void)snprintf(path, sizeof(path), "%s/copy-%d", bulk.dir, count++);
	assert_int_equal(mkdir(path, 0700), 0);
	bulk_settle(bulk.source);
	double ms = bulk_copy(bulk.source, path);
	if (arg != NULL)
		ms += spawned(argv, NULL, 0);
	return ms;
}

static void
a_warm_commit_costs_a_copy(void **state)
{
	static char flush[] = "flush";
	char id[ULID_SIZE];
	struct contender c[] = {{.once = commit, .arg = id},
	    {.once = copy_and_flush}, {.once = copy_and_flush, .arg = flush}};

	(void)state;
	bulk_run("bench/commit", bulk.source, id);
	measure_in_turn(c, 3, BULK_COPIES);
	bulk_row("warm-commit of them", &c[0], &c[1], 1.1, "cp -a");
	bulk_row("the same beside what is on the disk then", &c[0], &c[2], 1.1,
	    "cp -a, sync -f");
	contenders_release(c, 3);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_warm_boot_costs_what_a_cold_one_does),
	    cmocka_unit_test(a_warm_commit_costs_a_copy),
	};

	return cmocka_run_group_tests(benches, bulk_open, bulk_close);
}
