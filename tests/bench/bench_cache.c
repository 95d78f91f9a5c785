/*
 * The warm cache and snapshots beside what one would do without them: copies,
 * `docker commit`, the engine's archives. The tree is 30,000 files, 1 GiB; all
 * is on the engine's disk.
 *
 * Nothing of that size is deleted amid a measurement: for half a minute
 * afterwards ext4 looks for inodes that were not in use just now, and who
 * creates 30,000 takes up to ten times as long.
 */
#include "../e2e/harness.h"
#include "../e2e/templates.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "measure.h"
#include "spawned.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DIRS 300
#define FILES 100 /* in each */
#define BYTES 35800
#define BOOTS 15
#define COPIES 2
#define KEPT 32 /* runs, images: until all is measured */
#define NEEDS_GIB 28

#define REPO "bench/web"

static char dir[64];	      /* of everything: source, cache, copies */
static char source[128];      /* the tree */
static char host[128];	      /* docker -H */
static char socket_path[128]; /* curl --unix-socket */

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

static void
goal_row(const char *measure, const struct contender *ours,
    const struct contender *beside, double times, const char *name)
{
	struct row row = {"", "", "", "", NO_GOAL};
	double a = samples_at(&ours->ms, 0.5), b = samples_at(&beside->ms, 0.5);

	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms", a);
	(void)snprintf(row.beside, sizeof(row.beside), "%s %.0f ms", name, b);
	row_judge(&row, a, b, times, name);
	row_add(measure, &row);
}

/* -- what is kept ---------------------------------------------------------- */

static struct kept {
	char name[KEPT][80];
	size_t count;
} runs, images;

static void
keep(struct kept *k, const char *name)
{
	assert_true(k->count < KEPT);
	(void)snprintf(k->name[k->count++], sizeof(k->name[0]), "%s", name);
}

static void
drop_all(void)
{
	char path[200];

	while (runs.count > 0)
		run_end(runs.name[--runs.count]);
	while (images.count > 0) {
		(void)snprintf(path, sizeof(path), "/images/%s",
		    images.name[--images.count]);
		REPLY_AUTO r = docker_do("DELETE", path, NULL);
		assert_int_equal(r.status, 200);
	}
}

/* -- the tree -------------------------------------------------------------- */

static void
make_source(void)
{
	char path[200], *bytes = mem_alloc(BYTES);
	struct err e = ERR_INIT;

	assert_int_equal(mkdir(source, 0755), 0);
	memset(bytes, 'x', BYTES);
	for (int d = 0; d < DIRS; d++) {
		(void)snprintf(path, sizeof(path), "%s/%d", source, d);
		assert_int_equal(mkdir(path, 0755), 0);
		for (int f = 0; f < FILES; f++) {
			(void)snprintf(
			    path, sizeof(path), "%s/%d/%d", source, d, f);
			int fd = open(path, O_WRONLY | O_CREAT, 0644);
			assert_true(fd >= 0);
			assert_int_equal(write(fd, bytes, BYTES), BYTES);
			(void)close(fd);
		}
	}
	free(bytes);
	(void)snprintf(path, sizeof(path), "%s/package-lock.json", source);
	check_ok(fd_write_file(path, 0644, "{}", 2, &e), &e);
	sync();
}

/* Where the engine has the warm volume of a run. */
static void
volume_of(const char *id, char to[256])
{
	char path[128], name[ULID_SIZE];

	for (size_t i = 0; i < ULID_SIZE; i++)
		name[i] = (char)(id[i] >= 'A' ? id[i] + 32 : id[i]);
	(void)snprintf(path, sizeof(path), "/volumes/teploy-sbx-%s-warm", name);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	(void)snprintf(
	    to, 256, "%s", json_string_value(json_at(r.json, "Mountpoint")));
}

static double
copy_to(const char *to)
{
	char from[200];
	const char *argv[] = {"cp", "-a", from, to, NULL};

	(void)snprintf(from, sizeof(from), "%s/.", source);
	return spawned(argv, NULL, 0);
}

/* A run without a template, that tree in its volume. */
static void
filled_run(const char *repo, char id[ULID_SIZE])
{
	char place[256];
	REPLY_AUTO r = template_run(IMAGE_PLAIN, repo, NULL, id);

	volume_of(id, place);
	(void)copy_to(place);
	keep(&runs, id);
	sync();
}

/* -- boots ----------------------------------------------------------------- */

/* arg is the repository. */
static double
boot(void *arg)
{
	char id[ULID_SIZE];
	int64_t start = clock_mono_us();
	REPLY_AUTO r = template_run(IMAGE_PLAIN, arg, NULL, id);
	double ms = since(start);

	assert_int_equal(
	    json_is_true(json_at(r.json, "warm.booted")), str_eq(arg, REPO));
	run_end(id);
	return ms;
}

static double
boot_and_copy(void *arg)
{
	char id[ULID_SIZE], place[256];
	int64_t start = clock_mono_us();
	REPLY_AUTO r = template_run(IMAGE_PLAIN, arg, NULL, id);

	volume_of(id, place);
	(void)copy_to(place);
	double ms = since(start);
	keep(&runs, id);
	sync();
	return ms;
}

static void
a_warm_boot_costs_what_a_cold_one_does(void **state)
{
	static char warm[] = REPO, cold[] = "bench/none";
	struct contender c[] = {
	    {.once = boot, .arg = warm}, {.once = boot, .arg = cold}};
	struct contender copied[] = {{.once = boot_and_copy, .arg = cold}};
	struct row row = {"", "", "", "", NO_GOAL};
	char id[ULID_SIZE];

	(void)state;
	filled_run(REPO, id);
	template_made(id, NULL);
	measure_in_turn(c, 2, BOOTS);
	measure_in_turn(copied, 1, COPIES);
	goal_row(
	    "a boot of 30,000 files, 1 GiB", &c[0], &c[1], 1.15, "cold boot");
	double mine = samples_at(&c[0].ms, 0.5);
	double theirs = samples_at(&copied[0].ms, 0.5);
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms", mine);
	(void)snprintf(
	    row.beside, sizeof(row.beside), "boot and cp -a %.0f ms", theirs);
	(void)snprintf(
	    row.ratio, sizeof(row.ratio), "%.0f x faster", theirs / mine);
	(void)snprintf(row.goal, sizeof(row.goal), ">= 20 x");
	row.verdict = theirs >= 20 * mine ? GOAL_MET : GOAL_MISSED;
	row_add("the same beside a copy", &row);
	contenders_release(c, 2);
	contenders_release(copied, 1);
	template_drop(REPO);
}

/* -- warm commits ---------------------------------------------------------- */

static double
commit(void *arg)
{
	static int count;
	char repo[64];
	int64_t start = clock_mono_us();

	(void)snprintf(repo, sizeof(repo), "bench/copy-%d", count++);
	template_made(arg, repo);
	double ms = since(start);
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

	(void)snprintf(path, sizeof(path), "%s/copy-%d", dir, count++);
	assert_int_equal(mkdir(path, 0700), 0);
	double ms = copy_to(path);
	if (arg != NULL)
		ms += spawned(argv, NULL, 0);
	sync();
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
	filled_run("bench/commit", id);
	measure_in_turn(c, 3, COPIES);
	goal_row("warm-commit of them", &c[0], &c[1], 1.1, "cp -a");
	goal_row("the same beside what is on the disk then", &c[0], &c[2], 1.1,
	    "cp -a, sync -f");
	contenders_release(c, 3);
}

/* -- snapshots ------------------------------------------------------------- */

/* A container as an image; that is kept under a name of its own. */
static double
commit_container(const char *container)
{
	static int count;
	char image[64];
	const char *argv[] = {
	    "docker", "-H", host, "commit", container, image, NULL};

	(void)snprintf(
	    image, sizeof(image), "sbx-bench:%d-%d", (int)getpid(), count++);
	double ms = spawned(argv, NULL, 0);
	keep(&images, image);
	return ms;
}

static double
snapshot(void *arg)
{
	int64_t start = clock_mono_us();
	REPLY_AUTO r = http_do("POST", run_url(arg, "snapshot"), "{}", NULL);
	double ms = since(start);

	assert_int_equal(r.status, 201);
	keep(&images, text_at(&r, "image"));
	sync();
	return ms;
}

static double
docker_commit(void *arg)
{
	double ms = commit_container(arg);

	sync();
	return ms;
}

static void
a_snapshot_costs_a_commit(void **state)
{
	char id[ULID_SIZE], name[64];
	struct contender c[] = {{.once = snapshot, .arg = id},
	    {.once = docker_commit, .arg = name}};

	(void)state;
	run_new(IMAGE_PLAIN, id);
	keep(&runs, id);
	json_t *container = docker_container(id);
	(void)snprintf(name, sizeof(name), "%.60s",
	    json_string_value(json_at(container, "Id")));
	json_decref(container);
	EXECUTED_AUTO x = exec_sh(id,
	    "dd if=/dev/urandom of=/big bs=1M count=1024 2>/dev/null && sync");
	assert_int_equal(exit_code(&x), 0);
	measure_in_turn(c, 2, COPIES);
	goal_row("snapshot of a run, 1 GiB written", &c[0], &c[1], 1.15,
	    "docker commit");
	contenders_release(c, 2);
}

/* The volume through the engine's archives into another container, and that
 * committed. arg is the run's container. */
static double
archive_and_commit(void *arg)
{
	char made[80] = "", script[600];
	const char *create[] = {
	    "docker", "-H", host, "create", IMAGE_PLAIN, "true", NULL};
	const char *copy[] = {"sh", "-c", script, NULL};
	const char *drop[] = {"docker", "-H", host, "rm", made, NULL};

	(void)spawned(create, made, sizeof(made));
	made[strcspn(made, "\n")] = '\0';
	(void)snprintf(script, sizeof(script),
	    "curl -sSf --unix-socket %s http://d/containers/%s/archive?path="
	    "/work | curl -sSf --unix-socket %s -T - -H 'Expect:' "
	    "'http://d/containers/%s/archive?path=/'",
	    socket_path, (const char *)arg, socket_path, made);
	double ms = spawned(copy, NULL, 0) + commit_container(made);
	(void)spawned(drop, NULL, 0);
	sync();
	return ms;
}

static void
a_snapshot_with_a_volume_costs_an_archive_and_a_commit(void **state)
{
	char id[ULID_SIZE], name[64];
	struct contender c[] = {{.once = snapshot, .arg = id},
	    {.once = archive_and_commit, .arg = name}};

	(void)state;
	filled_run("bench/snap", id);
	json_t *container = docker_container(id);
	(void)snprintf(name, sizeof(name), "%.60s",
	    json_string_value(json_at(container, "Id")));
	json_decref(container);
	measure_in_turn(c, 2, COPIES);
	goal_row("snapshot with a warm volume of them", &c[0], &c[1], 1.3,
	    "archive and commit");
	contenders_release(c, 2);
}

/* -- the stack ------------------------------------------------------------- */

static int
setup(void **state)
{
	char cache[160];
	struct statvfs st;
	/* Nothing is to be tidied up amid a measurement. */
	const char *env[] = {"SBX_REAP_INTERVAL=3600",
	    "SBX_DISK_SAMPLE_SEC=3600", "SBX_STREAM_THREADS=4",
	    "SBX_CACHE_MAX_GB=0", cache, NULL};

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/var/tmp/sbx-bench-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(statvfs(dir, &st), 0);
	if (st.f_bavail * st.f_frsize >> 30 < NEEDS_GIB)
		fail_msg("%s has not the %d GiB free that this takes", dir,
		    NEEDS_GIB);
	(void)snprintf(source, sizeof(source), "%s/source", dir);
	(void)snprintf(cache, sizeof(cache), "SBX_CACHE_ROOT=%s/cache", dir);
	stack_start(env);
	(void)snprintf(host, sizeof(host), "unix://%s", stack.docker);
	(void)snprintf(socket_path, sizeof(socket_path), "%s", stack.docker);
	image_need(IMAGE_PLAIN);
	make_source();
	return 0;
}

static int
teardown(void **state)
{
	const char *argv[] = {"rm", "-rf", dir, NULL};

	drop_all();
	/* What was left for later. */
	stack_set("SBX_REAP_INTERVAL=1");
	stack_restart(SIGTERM);
	int rc = stack_stop(state);
	assert_true(str_starts(dir, "/var/tmp/sbx-bench-"));
	(void)spawned(argv, NULL, 0);
	return rc;
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_warm_boot_costs_what_a_cold_one_does),
	    cmocka_unit_test(a_warm_commit_costs_a_copy),
	    cmocka_unit_test(a_snapshot_costs_a_commit),
	    cmocka_unit_test(
		a_snapshot_with_a_volume_costs_an_archive_and_a_commit),
	};

	return cmocka_run_group_tests(benches, setup, teardown);
}
