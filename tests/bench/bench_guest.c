/*
 * Many commands, much output, and a bomb: what the run's own init does under
 * load, beside `docker exec` in the same container.
 */
#include "../e2e/harness.h"
#include "direct.h"
#include "measure.h"
#include "raw.h"
#include "spawned.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 32
#define OURS_EACH 20
#define OTHERS_EACH 2
#define OUTPUT_ROUNDS 3
#define SILENT 1000
#define SILENT_RUNS 4
#define BOMB_ROUNDS 10
#define ECHO "{\"cmd\":\"echo hi\"}"

static struct direct direct;
static char run[ULID_SIZE];

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

/* -- many at once ---------------------------------------------------------- */

static void
exec_ours(void)
{
	struct stream *s = stream_open(run_url(run, "exec"), ECHO, NULL);
	const struct event *ev = stream_await(s, "exit", 60000);

	assert_non_null(ev);
	assert_string_equal(ev->data, "{\"exitCode\":0,\"timedOut\":false}");
	stream_close(s);
}

static void
exec_docker(void)
{
	static const char *const shell[] = {"/bin/sh", "-c", "echo hi", NULL};
	char said[16];

	(void)spawned_docker_exec(direct.container, shell, said, sizeof(said));
	assert_string_equal(said, "hi\n");
}

static void
exec_raw(void)
{
	struct raw kept = raw_open();
	BUF_AUTO out = BUF_INIT(4096);

	assert_int_equal(raw_exec(&kept, direct.container,
			     "[\"/bin/sh\",\"-c\",\"echo hi\"]", &out),
	    0);
	raw_close(&kept);
}

/* So many processes, each so many times, one after the other: a second's. */
static double
per_second(void (*once)(void), int each)
{
	int64_t start = clock_mono_us();
	pid_t child[AT_ONCE];

	for (int i = 0; i < AT_ONCE; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] > 0)
			continue;
		for (int k = 0; k < each; k++)
			once();
		_exit(0);
	}
	for (int i = 0; i < AT_ONCE; i++) {
		int status = 1;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	return AT_ONCE * each / (since(start) / 1000);
}

static void
many_commands_run_at_once(void **state)
{
	struct row row = {"", "", "", ">= 10 x docker exec", NO_GOAL};

	(void)state;
	double mine = per_second(exec_ours, OURS_EACH);
	double cli = per_second(exec_docker, OTHERS_EACH);
	double raw = per_second(exec_raw, OTHERS_EACH);
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f /s", mine);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "docker exec %.1f, raw %.1f /s", cli, raw);
	(void)snprintf(row.ratio, sizeof(row.ratio), "%.1f x", mine / cli);
	row.verdict = mine >= 10 * cli ? GOAL_MET : GOAL_MISSED;
	row_add("32 execs at once", &row);
}

/* -- a GiB of output ------------------------------------------------------- */

static double
cat_ours(void *arg)
{
	char url[200], auth[300], said[32];
	const char *const argv[] = {"curl", "-sSf", "-o", "/dev/null", "-w",
	    "%{size_download}", "-H", auth, "-d", "{\"cmd\":\"cat /work/gib\"}",
	    url, NULL};

	(void)arg;
	(void)snprintf(
	    url, sizeof(url), "%s%s", stack.url, run_url(run, "exec"));
	(void)snprintf(
	    auth, sizeof(auth), "Authorization: Bearer %s", stack.token);
	double ms = spawned(argv, said, sizeof(said));
	assert_true(strtoll(said, NULL, 10) > INT64_C(1) << 30);
	return ms;
}

static double
cat_docker(void *arg)
{
	static const char *const cat[] = {"cat", "/work/gib", NULL};

	(void)arg;
	return spawned_docker_exec(direct.container, cat, NULL, 0);
}

/* The most private memory of a stream worker, in KiB. */
static int64_t
worker_kb(void)
{
	pid_t pid[16];
	size_t count = stack_pids(STACK_STREAM, pid, 16);
	int64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t kb = proc_private_kb(pid[i]);

		most = kb > most ? kb : most;
	}
	return most;
}

static void
output_flows_at_full_speed(void **state)
{
	struct contender c[] = {{.once = cat_ours}, {.once = cat_docker}};
	struct row row = {"", "", "", ">= 2 x docker exec", NO_GOAL};

	(void)state;
	EXECUTED_AUTO made = exec_sh(run,
	    "yes 'a line of output, as long as lines of output mostly are' | "
	    "head -c 1073741824 >/work/gib");
	assert_int_equal(exit_code(&made), 0);
	int64_t before = worker_kb();
	measure_in_turn(c, 2, OUTPUT_ROUNDS);
	int64_t grown = worker_kb() - before;
	double mine = samples_at(&c[0].ms, 0.5),
	       cli = samples_at(&c[1].ms, 0.5);
	(void)snprintf(row.ours, sizeof(row.ours),
	    "%.0f MiB/s, workers %+lld KiB", 1024 / (mine / 1000),
	    (long long)grown);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "docker exec cat %.0f MiB/s", 1024 / (cli / 1000));
	(void)snprintf(row.ratio, sizeof(row.ratio), "%.1f x", cli / mine);
	row.verdict = cli >= 2 * mine ? GOAL_MET : GOAL_MISSED;
	row_add("1 GiB of output", &row);
	contenders_release(c, 2);
	EXECUTED_AUTO gone = exec_sh(run, "rm /work/gib");
	assert_int_equal(exit_code(&gone), 0);
}

/* -- a thousand that say nothing ------------------------------------------- */

static void
a_thousand_commands_wait(void **state)
{
	static struct stream *s[SILENT];
	char id[SILENT_RUNS][ULID_SIZE], gate[64];
	int fd[SILENT_RUNS];
	struct row row = {"", "", "", "all of them", NO_GOAL};
	int ended = 0;

	(void)state;
	for (int i = 0; i < SILENT_RUNS; i++) {
		run_from(json_pack("{s:s,s:{s:i}}", "image", IMAGE_PLAIN,
			     "limits", "pids", 2000),
		    id[i]);
		EXECUTED_AUTO made = exec_sh(id[i], "mkfifo /tmp/gate");
		assert_int_equal(exit_code(&made), 0);
		json_auto_t *c = docker_container(id[i]);
		(void)snprintf(gate, sizeof(gate), "/proc/%d/root/tmp/gate",
		    (int)json_integer_value(json_at(c, "State.Pid")));
		fd[i] = open(gate, O_RDWR | O_CLOEXEC);
		assert_true(fd[i] >= 0);
	}
	int64_t before = worker_kb(), start = clock_mono_us();
	for (int i = 0; i < SILENT; i++) {
		s[i] = stream_open(run_url(id[i % SILENT_RUNS], "exec"),
		    "{\"cmd\":\"cat /tmp/gate\"}", NULL);
		assert_int_equal(stream_status(s[i]), 200);
	}
	double started = since(start);
	int64_t kb = worker_kb() - before;
	for (int i = 0; i < SILENT_RUNS; i++)
		(void)close(fd[i]);
	for (int i = 0; i < SILENT; i++) {
		ended += stream_await(s[i], "exit", 60000) != NULL;
		stream_close(s[i]);
	}
	for (int i = 0; i < SILENT_RUNS; i++)
		run_end(id[i]);
	(void)snprintf(row.ours, sizeof(row.ours), "%d of %d, worker %+lld KiB",
	    ended, SILENT, (long long)kb);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "%.1f ms each to start, one after the other", started / SILENT);
	row.verdict = ended == SILENT ? GOAL_MET : GOAL_MISSED;
	row_add("1,000 silent execs at once", &row);
}

/* -- a bomb ---------------------------------------------------------------- */

/* As fast as shells can: each forks on, half of them into new sessions. */
#define BOMB                                                              \
	"trap '' TERM; echo 'b() { setsid sh /tmp/b & sh /tmp/b & }; b' " \
	">/tmp/b; . /tmp/b; sleep 600"

/* It has used up the run's pids: nothing more starts. */
static bool
is_full(const char *path)
{
	char now[16] = "";
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	size_t n = fread(now, 1, sizeof(now) - 1, f);
	(void)fclose(f);
	return n > 0 && strtol(now, NULL, 10) >= 250;
}

/* The pids cgroup of that process: version 1 or 2. */
static void
find_pids_current(pid_t pid, char *to, size_t size)
{
	char line[512];
	FILE *f;

	(void)snprintf(line, sizeof(line), "/proc/%d/cgroup", (int)pid);
	f = fopen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *at = strstr(line, ":pids:");
		bool v2 = strncmp(line, "0::", 3) == 0;

		line[strcspn(line, "\n")] = '\0';
		if (at != NULL)
			(void)snprintf(to, size,
			    "/sys/fs/cgroup/pids%s/pids.current", at + 6);
		else if (v2)
			(void)snprintf(to, size,
			    "/sys/fs/cgroup%s/pids.current", line + 3);
		if (at != NULL)
			break;
	}
	(void)fclose(f);
}

/* From the grant of the run to somebody else until nothing is left. */
static double
end_bomb(struct direct *d, char *pids)
{
	const struct guest_place at = direct_place(d);
	struct err e = ERR_INIT;
	uint64_t known;
	bool done = false;
	struct guest *g = direct_exec(d, BOMB);

	wait_until(is_full(pids), 30000);
	int64_t start = clock_mono_us();
	check_ok(
	    guest_fence(d->engine, &at, ++d->generation, &done, &known, &e),
	    &e);
	double ms = since(start);
	assert_true(done);
	guest_free(g);
	return ms;
}

static void
a_bomb_is_ended_at_once(void **state)
{
	struct row row = {"", "", "", "<= 200 ms", NO_GOAL};
	struct samples ms = {NULL, 0, 0};
	struct direct d;
	char id[ULID_SIZE], pids[600] = "";

	(void)state;
	run_new(IMAGE_PLAIN, id);
	direct_open(&d, id);
	find_pids_current((pid_t)d.pid, pids, sizeof(pids));
	for (int i = 0; i < BOMB_ROUNDS; i++)
		samples_add(&ms, end_bomb(&d, pids));
	double middle = samples_at(&ms, 0.5), worst = samples_at(&ms, 1);
	(void)snprintf(
	    row.ours, sizeof(row.ours), "%.0f ms, worst %.0f", middle, worst);
	row.verdict = middle <= 200 ? GOAL_MET : GOAL_MISSED;
	row_add("fork-and-setsid bomb at 256 pids, ended", &row);
	samples_release(&ms);
	direct_close(&d);
	run_end(id);
}

/* -- the stack ------------------------------------------------------------- */

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_STREAM_THREADS=600", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	run_from(json_pack("{s:s,s:{s:i}}", "image", IMAGE_PLAIN, "limits",
		     "memoryMb", 4096),
	    run);
	direct_open(&direct, run);
	return 0;
}

static int
teardown(void **state)
{
	struct reply r = http_do("DELETE", run_url(run, ""), NULL, NULL);
	reply_release(&r);
	direct_close(&direct);
	return stack_stop(state);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(many_commands_run_at_once),
	    cmocka_unit_test(output_flows_at_full_speed),
	    cmocka_unit_test(a_thousand_commands_wait),
	    cmocka_unit_test(a_bomb_is_ended_at_once),
	};

	return cmocka_run_group_tests(benches, setup, teardown);
}
