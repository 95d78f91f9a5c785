/*
 * What an allowlist run costs over one without a network, and three hundred of
 * them made and destroyed in a row, which leave no process, socket, file or
 * namespace.
 */
#include "../e2e/harness.h"
#include "measure.h"

#include <dirent.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#define ROUNDS 30
#define RUNS 300
#define MORE_GOAL_MS 20.0

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

static void
make_run(const char *network, char ret_id[ULID_SIZE])
{
	run_from(
	    json_pack("{s:s,s:s}", "image", IMAGE_PLAIN, "network", network),
	    ret_id);
}

/* -- beside a run without -------------------------------------------------- */

static double
once_made(void *arg)
{
	char id[ULID_SIZE];
	int64_t start = clock_mono_us();

	make_run(arg, id);
	double took = since(start);
	run_end(id);
	return took;
}

static double
once_ended(void *arg)
{
	char id[ULID_SIZE];

	make_run(arg, id);
	int64_t start = clock_mono_us();
	run_end(id);
	return since(start);
}

static void
compare(const char *measure, double (*once)(void *arg), double goal_ms)
{
	static char allowlist[] = "allowlist", none[] = "none";
	struct contender c[] = {
	    {.once = once, .arg = allowlist}, {.once = once, .arg = none}};
	struct row row = {"", "", "", "", NO_GOAL};

	measure_in_turn(c, 2, ROUNDS);
	double ours = samples_at(&c[0].ms, 0.5);
	double beside = samples_at(&c[1].ms, 0.5);
	(void)snprintf(row.ours, sizeof(row.ours), "%.1f ms", ours);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "%.1f ms without a network", beside);
	(void)snprintf(row.ratio, sizeof(row.ratio), "%+.1f ms", ours - beside);
	(void)snprintf(row.goal, sizeof(row.goal), "<= %.0f ms more", goal_ms);
	row.verdict = ours - beside <= goal_ms ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
	contenders_release(c, 2);
}

static void
a_proxy_costs_little(void **state)
{
	(void)state;
	compare("an allowlist run made, p50", once_made, MORE_GOAL_MS);
	compare("an allowlist run destroyed, p50", once_ended, MORE_GOAL_MS);
}

/* -- runs in a row --------------------------------------------------------- */

static size_t
directories(void)
{
	char path[128];
	size_t count = 0;

	(void)snprintf(path, sizeof(path), "%s/runs", stack.run_dir);
	DIR *d = opendir(path);
	assert_non_null(d);
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count;
}

/* The engine takes the empty file that it was mounted on away later. */
static bool
is_namespace(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

static void
three_hundred_of_them_leave_nothing(void **state)
{
	struct row row = {"", "", "", "", NO_GOAL};
	static char *namespace[RUNS];
	size_t namespaces = 0, seen = 0, before = directories();
	char id[ULID_SIZE], runs[64];

	(void)state;
	int64_t start = clock_mono_us();
	for (size_t i = 0; i < RUNS; i++) {
		make_run("allowlist", id);
		json_auto_t *c = docker_container(id);
		namespace[i] = strdup(json_string_value(
		    json_at(c, "NetworkSettings.SandboxKey")));
		seen += is_namespace(namespace[i]);
		run_end(id);
	}
	double each = since(start) / RUNS;
	for (size_t i = 0; i < RUNS; i++) {
		namespaces += is_namespace(namespace[i]);
		free(namespace[i]);
	}
	(void)snprintf(runs, sizeof(runs), "%s/runs/", stack.run_dir);
	size_t proxies = proc_count(runs); /* they name their files there */
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms each", each);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "left: processes %zu, dirs %zu, namespaces %zu of %zu", proxies,
	    directories() - before, namespaces, seen);
	(void)snprintf(row.goal, sizeof(row.goal), "nothing left");
	row.verdict = proxies == 0 && directories() == before &&
			      namespaces == 0 && seen == RUNS
			  ? GOAL_MET
			  : GOAL_MISSED;
	row_add("300 allowlist runs made and destroyed", &row);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_proxy_costs_little),
	    cmocka_unit_test(three_hundred_of_them_leave_nothing),
	};

	return cmocka_run_group_tests(benches, setup, stack_stop);
}
