/*
 * A life's work: pages of a long list, the renewal of a lease, and three
 * hundred runs made and destroyed in a row, which leave nothing.
 */
#include "../e2e/harness.h"
#include "measure.h"

#include "store/run.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 10000
#define PAGE 100
#define GOES 3 /* the middle one counts: the machine does other work too */
#define TURNS 3
#define RENEWALS 2000
#define ROUNDS 300
#define WARM_ROUNDS 40 /* until every thread has its connections */
#define PAGE_GOAL_MS 20.0
#define RENEW_GOAL_MS 2.0

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

static void
goal_row(const char *measure, const struct samples *ms, double share,
    double goal_ms, const char *beside)
{
	struct row row = {"", "", "", "", NO_GOAL};
	double took = samples_at(ms, share);

	(void)snprintf(row.ours, sizeof(row.ours), "%.2f ms", took);
	(void)snprintf(row.beside, sizeof(row.beside), "%s", beside);
	(void)snprintf(row.goal, sizeof(row.goal), "<= %.0f ms", goal_ms);
	row.verdict = took <= goal_ms ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
}

/* -- pages ----------------------------------------------------------------- */

/* Records without containers, as create and start would leave them. */
static struct redis *
seed(void)
{
	char url[96];
	struct err e = ERR_INIT;

	(void)snprintf(url, sizeof(url), "unix://%s/redis.sock", stack.run_dir);
	struct redis *redis = redis_new(url, &e);
	if (redis == NULL)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < RECORDS; i++) {
		struct run run = {.image = IMAGE_PLAIN,
		    .network = "none",
		    .container = "",
		    .user = "",
		    .labels = "{\"team\":\"blue\"}",
		    .exit_reason = "",
		    .lease_holder = "",
		    .ttl_sec = 1800,
		    .memory_mb = 1024,
		    .pids = 256,
		    .cpus = 1};

		check_ok(run_create(redis, &run, 0, &e), &e);
		check_ok(run_started(redis, run.id, NULL, &e), &e);
	}
	return redis;
}

/* All pages once; how many runs they had. */
static size_t
turn_pages(struct samples *ms)
{
	char path[128] = "/v1/runs?limit=100";
	size_t seen = 0;

	for (;;) {
		int64_t start = clock_mono_us();
		REPLY_AUTO r = http_do("GET", path, NULL, NULL);
		samples_add(ms, since(start));
		assert_int_equal(r.status, 200);
		seen += json_array_size(json_at(r.json, "runs"));
		const json_t *next = json_object_get(r.json, "nextCursor");
		if (next == NULL)
			return seen;
		(void)snprintf(path, sizeof(path),
		    "/v1/runs?limit=%d&cursor=%s", PAGE,
		    json_string_value(next));
	}
}

static int
by_p99(const void *a, const void *b)
{
	return samples_at(a, 0.99) < samples_at(b, 0.99) ? -1 : 1;
}

static void
ten_thousand_runs_are_listed_in_pages(void **state)
{
	struct samples go[GOES] = {0};
	char beside[64];

	(void)state;
	struct redis *redis = seed();
	for (int i = 0; i < GOES * TURNS; i++)
		assert_int_equal(turn_pages(&go[i / TURNS]), RECORDS);
	qsort(go, GOES, sizeof(go[0]), by_p99);
	(void)snprintf(beside, sizeof(beside),
	    "p50 %.2f ms, with a connection each",
	    samples_at(&go[GOES / 2], 0.5));
	goal_row("a page of 100 of 10,000 runs, p99", &go[GOES / 2], 0.99,
	    PAGE_GOAL_MS, beside);
	for (int i = 0; i < GOES; i++)
		samples_release(&go[i]);
	redis_free(redis);
	freeReplyObject(redis_do("FLUSHALL"));
}

/* -- leases ---------------------------------------------------------------- */

static void
a_lease_is_renewed(void **state)
{
	struct samples ms = {0};
	char id[ULID_SIZE], path[64], beside[64];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	REPLY_AUTO granted = http_do("POST", run_url(id, "lease"),
	    "{\"owner\":\"anna\",\"ttlSec\":600}", NULL);
	assert_int_equal(granted.status, 200);
	(void)snprintf(path, sizeof(path), "%s", run_url(id, "lease/renew"));
	for (int i = 0; i < RENEWALS; i++) {
		int64_t start = clock_mono_us();
		REPLY_AUTO r = http_do("POST", path,
		    "{\"owner\":\"anna\",\"generation\":1,\"ttlSec\":600}",
		    NULL);
		samples_add(&ms, since(start));
		assert_int_equal(r.status, 200);
	}
	(void)snprintf(beside, sizeof(beside),
	    "p99 %.2f ms, with a connection each", samples_at(&ms, 0.99));
	goal_row("a lease renewed, p50", &ms, 0.5, RENEW_GOAL_MS, beside);
	samples_release(&ms);
	run_end(id);
}

/* -- runs in a row --------------------------------------------------------- */

static size_t
entries(const char *path)
{
	size_t count = 0;
	DIR *d = opendir(path);

	if (d == NULL)
		return 0;
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count;
}

struct left {
	size_t processes, files, containers, keys, directories;
};

/* Of the whole stack; a tombstone lapses by itself and does not count. */
static struct left
count_all(void)
{
	struct left left = {.containers = docker_count()};
	char path[128];

	for (int kind = 0; kind < STACK_KINDS; kind++) {
		pid_t pid[64];
		size_t count = stack_pids((enum stack_kind)kind, pid, 64);

		left.processes += count;
		for (size_t i = 0; i < count; i++) {
			(void)snprintf(
			    path, sizeof(path), "/proc/%d/fd", (int)pid[i]);
			left.files += entries(path);
		}
	}
	left.processes +=
	    proc_count("teploy.sandbox") + proc_count(stack.instance);
	redisReply *keys = redis_do("KEYS *");
	for (size_t i = 0; i < keys->elements; i++) {
		redisReply *ttl = redis_do("PTTL %s", keys->element[i]->str);

		left.keys += ttl->integer == -1;
		freeReplyObject(ttl);
	}
	freeReplyObject(keys);
	(void)snprintf(path, sizeof(path), "%s/runs", stack.run_dir);
	left.directories = entries(path);
	return left;
}

static double
make_and_destroy(int rounds)
{
	int64_t start = clock_mono_us();

	for (int i = 0; i < rounds; i++) {
		char id[ULID_SIZE];

		run_new(IMAGE_PLAIN, id);
		run_end(id);
	}
	return since(start) / rounds;
}

static void
three_hundred_runs_in_a_row_leave_nothing(void **state)
{
	struct row row = {"", "", "", "", NO_GOAL};

	(void)state;
	(void)make_and_destroy(WARM_ROUNDS);
	struct left before = count_all();
	double each = make_and_destroy(ROUNDS);
	struct left after = count_all();
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms each", each);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "more processes %zd, containers %zd, keys %zd, dirs %zd, fds %zd",
	    (ssize_t)(after.processes - before.processes),
	    (ssize_t)(after.containers - before.containers),
	    (ssize_t)(after.keys - before.keys),
	    (ssize_t)(after.directories - before.directories),
	    (ssize_t)(after.files - before.files));
	(void)snprintf(row.goal, sizeof(row.goal), "nothing left");
	row.verdict = after.processes <= before.processes &&
			      after.containers <= before.containers &&
			      after.keys <= before.keys &&
			      after.directories <= before.directories &&
			      after.files <= before.files
			  ? GOAL_MET
			  : GOAL_MISSED;
	row_add("300 runs made and destroyed in a row", &row);
}

/* -- the stack ------------------------------------------------------------- */

static int
setup(void **state)
{
	/* The records have no containers, which a reconciliation would mend;
	 * few threads, so that all of them are used. */
	static const char *const env[] = {"SBX_STREAM_THREADS=4",
	    "SBX_CONTROL_THREADS=4", "SBX_REAP_INTERVAL=3600", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(ten_thousand_runs_are_listed_in_pages),
	    cmocka_unit_test(a_lease_is_renewed),
	    cmocka_unit_test(three_hundred_runs_in_a_row_leave_nothing),
	};

	return cmocka_run_group_tests(benches, setup, stack_stop);
}
