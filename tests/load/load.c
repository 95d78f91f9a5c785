/*
 * The real stack under LOAD_STREAMS (1000) execs that print a line a second for
 * LOAD_SEC (600) seconds, beside short calls; meanwhile all workers are
 * replaced, and one is added and dropped.
 */
#include "../e2e/files.h"
#include "../e2e/harness.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 2 /* per pool */
#define EXECS 50  /* per run */
#define BURST 10  /* lines of each stream, at the end */
#define LEAST_THREADS 60
#define PAUSE_MS 25 /* between two short calls */
#define SETTLE_MS 60000

struct load {
	struct report report;
	char (*run)[ULID_SIZE];
	struct calls calls;
	struct streams *streams;
	struct watch *watch;
	int64_t start_ms;
	int workers[64]; /* before the restart */
	size_t worker_count;
};

/* -- what an operator does meanwhile --------------------------------------- */

static pid_t
master(void)
{
	static pid_t pid;

	if (pid == 0)
		assert_int_equal(stack_pids(STACK_MASTER, &pid, 1), 1);
	return pid;
}

/* How many workers there are now that were not there before the restart. */
static size_t
fresh(const struct load *l)
{
	int now[64];
	size_t count = watch_children(master(), now, 64), old = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < l->worker_count; k++)
			old += now[i] == l->workers[k];
	return count - old;
}

/* Until there are so many; calls go on. */
static void
await_fresh(struct load *l, size_t count)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;

	while (fresh(l) != count) {
		if (clock_mono_ms() > deadline)
			fail_msg("%zu new workers, not %zu", fresh(l), count);
		calls_next(&l->calls);
	}
}

/* Go on with short calls for so long. */
static void
call_for(struct load *l, int64_t ms)
{
	int64_t end = clock_mono_ms() + ms;

	while (clock_mono_ms() < end) {
		calls_next(&l->calls);
		(void)poll(NULL, 0, PAUSE_MS);
	}
}

static void
restart_workers(struct load *l)
{
	printf("%3.0f s: every worker and the reaper are replaced\n",
	    (double)(clock_mono_ms() - l->start_ms) / 1000);
	l->worker_count = watch_children(master(), l->workers, 64);
	assert_int_equal(l->worker_count, 2 * WORKERS);
	assert_int_equal(stack_tool("workers", "restart", NULL), 0);
	await_fresh(l, 2 * WORKERS);
}

static void
resize_pools(struct load *l)
{
	printf("%3.0f s: a worker more in each pool, and one less\n",
	    (double)(clock_mono_ms() - l->start_ms) / 1000);
	assert_int_equal(stack_tool("workers", "add", NULL), 0);
	await_fresh(l, 2 * (WORKERS + 1));
	call_for(l, 2000);
	assert_int_equal(stack_tool("workers", "drop", NULL), 0);
	await_fresh(l, 2 * WORKERS);
}

/* -- the story ------------------------------------------------------------- */

/* Short calls until that share of the time is over, and a look at both ends. */
static void
tell_phase(struct load *l, int phase, double until)
{
	struct watch_sample *s = l->report.phase[phase];
	int64_t end =
	    l->start_ms + (int64_t)(until * 1000 * (double)l->report.seconds);

	call_for(l, 2000); /* what was just begun or ended does so */
	s[0] = watch_now(l->watch);
	int64_t begun = clock_mono_ms();
	call_for(l, end - begun);
	s[1] = watch_now(l->watch);
	for (int kind = 0; phase == 0 && kind < WATCHED; kind++)
		l->report.cpu[kind] =
		    (double)(s[1].cpu_ms[kind] - s[0].cpu_ms[kind]) /
		    (double)(clock_mono_ms() - begun);
}

static void
tell(struct load *l)
{
	struct report *r = &l->report;
	const struct streams_plan plan = {
	    l->run, r->runs, r->streams, r->seconds, BURST};

	r->idle = watch_now(l->watch);
	l->start_ms = clock_mono_ms();
	l->streams = streams_start(&plan);
	while (streams_began(l->streams) < r->streams)
		call_for(l, PAUSE_MS);
	printf("%3.0f s: all streams run\n",
	    (double)(clock_mono_ms() - l->start_ms) / 1000);
	json_auto_t *container = docker_container(l->run[0]);
	tell_phase(l, 0, 1 / 3.0);
	r->init_kb = watch_pss_kb(
	    (int)json_integer_value(json_at(container, "State.Pid")));
	restart_workers(l);
	tell_phase(l, 1, 2 / 3.0);
	resize_pools(l);
	tell_phase(l, 2, 1);
	while (streams_ended(l->streams) < r->streams)
		call_for(l, PAUSE_MS);
	r->lines = streams_finish(l->streams);
	for (int kind = 0; kind < WATCHED; kind++)
		r->most_kb[kind] = watch_most_kb(l->watch, (enum watched)kind);
}

/* -- begin and end --------------------------------------------------------- */

static long
setting(const char *name, long otherwise)
{
	const char *text = getenv(name);
	char *end;

	if (text == NULL || *text == '\0')
		return otherwise;
	long value = strtol(text, &end, 10);
	if (*end != '\0' || value < 1 || value > 86400) {
		fprintf(stderr, "%s is \"%s\": a number from 1\n", name, text);
		exit(2);
	}
	return value;
}

static void
start_stack(const struct report *r)
{
	char threads[64], workers[64], drain[64];
	const char *const env[] = {threads, workers, drain,
	    "SBX_CONTROL_THREADS=32", "SBX_REAP_INTERVAL=30", NULL};

	(void)snprintf(threads, sizeof(threads), "SBX_STREAM_THREADS=%d",
	    r->stream_threads);
	(void)snprintf(workers, sizeof(workers), "SBX_WORKERS=%d", r->workers);
	/* Whoever drains lets all streams end by themselves. */
	(void)snprintf(
	    drain, sizeof(drain), "SBX_DRAIN_SEC=%ld", r->seconds + 60);
	stack_start(env);
	image_need(IMAGE_PLAIN);
}

static void
make_runs(struct load *l)
{
	struct err e = ERR_INIT;
	char path[512];
	size_t size;

	(void)snprintf(path, sizeof(path), "%s/tests/load/ticker",
	    getenv("SBX_TEST_BUILD"));
	char *ticker = fd_read_file(path, 1 << 20, &size, &e);
	check_ok(ticker != NULL ? 0 : -1, &e);
	l->run = mem_zalloc(mem_array(l->report.runs, sizeof(*l->run)));
	for (size_t i = 0; i < l->report.runs; i++) {
		run_from(json_pack("{s:s,s:i}", "image", IMAGE_PLAIN, "ttlSec",
			     86400),
		    l->run[i]);
		REPLY_AUTO put = file_send(l->run[i], "ticker", ticker, size);
		assert_int_equal(put.status, 204);
		EXECUTED_AUTO x = exec_sh(l->run[i], "chmod 755 /work/ticker");
		assert_int_equal(exit_code(&x), 0);
	}
	l->calls.busy = l->run[0];
	free(ticker);
}

static struct load load;
static int missed = -1; /* it did not come to its end */

static int
setup(void **state)
{
	struct load *l = *state = &load;
	struct report *r = &l->report;

	r->streams = (size_t)setting("LOAD_STREAMS", 1000);
	r->seconds = setting("LOAD_SEC", 600);
	r->runs = (r->streams + EXECS - 1) / EXECS;
	r->workers = WORKERS;
	r->stream_threads = (int)(r->streams * 6 / 10);
	if (r->stream_threads < LEAST_THREADS)
		r->stream_threads = LEAST_THREADS;
	r->calls = &l->calls;
	start_stack(r);
	make_runs(l);
	l->watch = watch_start();
	return 0;
}

static void
streams_bear_a_change_of_workers(void **state)
{
	struct load *l = *state;

	tell(l);
	missed = report_goals(&l->report);
	report_sizes(&l->report);
	if (missed > 0)
		fail_msg("%d goals are missed", missed);
}

static int
teardown(void **state)
{
	struct load *l = *state;

	watch_stop(l->watch);
	calls_end(&l->calls);
	for (size_t i = 0; i < l->report.runs; i++)
		run_end(l->run[i]);
	free(l->run);
	samples_release(&l->report.lines.late);
	samples_release(&l->report.lines.burst);
	return stack_stop(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_bear_a_change_of_workers),
	};

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	int failed =
	    cmocka_run_group_tests_name("load", tests, setup, teardown);
	if (missed < 0)
		puts("load: it broke off");
	else
		printf("load: %zu streams, a line a second each, for %ld s: "
		       "%s\n",
		    load.report.streams, load.report.seconds,
		    missed == 0 ? "every goal is met" : "goals are MISSED");
	return failed == 0 && missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
