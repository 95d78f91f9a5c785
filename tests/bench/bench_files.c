/*
 * Files in and out of a run: a large one through the whole stack beside `docker
 * cp` and plain cp on the host, which is as fast as the disk lets anybody be; a
 * small one beside the engine's archive API.
 */
#include "../e2e/harness.h"
#include "lib/mem.h"
#include "lib/tar.h"
#include "measure.h"
#include "raw.h"
#include "spawned.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIG ((off_t)1 << 30)
#define BLOCK ((size_t)1 << 20)
#define BIG_ROUNDS 3
#define GOAL 3 /* times faster than docker cp */
#define SMALL 4096
#define SMALL_ROUNDS 200

enum way { OURS, DOCKER, PLAIN, WAYS };

static char run[ULID_SIZE], container[64];
static char source[100], got[100]; /* files of the host */
static char work[100];		   /* the run's /work, seen from the host */
static char host[128], bearer[300];
static char small[SMALL + 1];
static struct raw kept;

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

static void
check_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, BIG);
}

/* -- a large file ---------------------------------------------------------- */

/* One way of moving it, up or down. Each has a name of its own in the run. */
struct move {
	enum way way;
	bool up;
};

static double
by_curl(bool up, const char *inside)
{
	char url[256];
	const char *argv[] = {"curl", "-sSf", "-H", bearer, "-H",
	    "Expect:", up ? "-T" : "-o", up ? source : got, url, NULL};

	(void)inside;
	(void)snprintf(
	    url, sizeof(url), "%s%s", stack.url, run_url(run, "files/big-0"));
	return spawned(argv, NULL, 0);
}

static double
by_docker(bool up, const char *inside)
{
	char there[128];
	const char *argv[] = {"docker", "-H", host, "cp", "-q",
	    up ? source : there, up ? there : got, NULL};

	(void)inside;
	(void)snprintf(there, sizeof(there), "%s:/work/big-1", container);
	return spawned(argv, NULL, 0);
}

static double
by_cp(bool up, const char *inside)
{
	const char *argv[] = {
	    "cp", up ? source : inside, up ? inside : got, NULL};

	return spawned(argv, NULL, 0);
}

static double
move_big(void *arg)
{
	static double (*const ways[WAYS])(bool up, const char *inside) = {
	    [OURS] = by_curl, [DOCKER] = by_docker, [PLAIN] = by_cp};
	const struct move *m = arg;
	char inside[128];

	(void)snprintf(inside, sizeof(inside), "%s/big-%d", work, m->way);
	(void)unlink(got);
	if (m->up)
		(void)unlink(inside);
	double ms = ways[m->way](m->up, inside);
	check_size(m->up ? inside : got);
	/* What one leaves to be written is not the next one's burden. */
	sync();
	return ms;
}

static void
big_row(const char *measure, struct contender *c)
{
	double mine = samples_at(&c[OURS].ms, 0.5);
	double docker = samples_at(&c[DOCKER].ms, 0.5);
	double plain = samples_at(&c[PLAIN].ms, 0.5);
	struct row row = {"", "", "", "", NO_GOAL};

	(void)snprintf(row.ours, sizeof(row.ours), "%.2f s, %.0f MiB/s",
	    mine / 1000, 1024 / mine * 1000);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "docker cp %.2f s, plain cp %.2f s", docker / 1000, plain / 1000);
	(void)snprintf(
	    row.ratio, sizeof(row.ratio), "%.1f x faster", docker / mine);
	(void)snprintf(row.goal, sizeof(row.goal), ">= %d x docker cp", GOAL);
	row.verdict = docker >= GOAL * mine ? GOAL_MET : GOAL_MISSED;
	row_add(measure, &row);
	contenders_release(c, WAYS);
}

static int64_t
workers_kb(void)
{
	pid_t pids[16];
	size_t count = stack_pids(STACK_STREAM, pids, 16);
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += proc_private_kb(pids[i]);
	return sum;
}

static void
a_large_file_moves_at_the_disk_s_pace(void **state)
{
	struct move moves[2][WAYS];
	struct row row = {"", "", "", "", NO_GOAL};
	int64_t before = workers_kb();

	(void)state;
	for (int up = 1; up >= 0; up--) {
		struct contender c[WAYS] = {
		    {.once = move_big}, {.once = move_big}, {.once = move_big}};

		for (int way = 0; way < WAYS; way++) {
			moves[up][way] = (struct move){(enum way)way, up != 0};
			c[way].arg = &moves[up][way];
		}
		measure_in_turn(c, WAYS, BIG_ROUNDS);
		big_row(
		    up ? "a file of 1 GiB, up" : "a file of 1 GiB, down", c);
	}
	(void)snprintf(row.ours, sizeof(row.ours),
	    "%.1f MiB before, %.1f after", (double)before / 1024,
	    (double)workers_kb() / 1024);
	row_add("private memory of the workers for it", &row);
}

/* -- a small one ----------------------------------------------------------- */

static double
small_ours(void *arg)
{
	const char *url = run_url(run, "files/small-0");
	int64_t start = clock_mono_us();

	(void)arg;
	REPLY_AUTO put = http_do("PUT", url, small, NULL);
	REPLY_AUTO get = http_do("GET", url, NULL, NULL);
	double ms = since(start);
	assert_int_equal(put.status, 204);
	assert_int_equal(get.body.size, SMALL);
	assert_memory_equal(get.body.data, small, SMALL);
	return ms;
}

static double
small_raw(void *arg)
{
	BUF_AUTO tar = BUF_INIT(TAR_PUT_MAX + 2 * SMALL);
	BUF_AUTO answer = BUF_INIT(64u * 1024);
	const struct tar_entry entry = {.type = TAR_FILE,
	    .name = "small-1",
	    .link = "",
	    .mode = 0644,
	    .size = SMALL};
	char path[160];
	int64_t start = clock_mono_us();

	(void)arg;
	tar_put(&tar, &entry);
	buf_add(&tar, small, SMALL);
	tar_put_end(&tar);
	(void)snprintf(
	    path, sizeof(path), "/containers/%s/archive?path=/work", container);
	assert_int_equal(raw_put(&kept, path, tar.data, tar.size), 200);
	(void)snprintf(path, sizeof(path),
	    "/containers/%s/archive?path=/work/small-1", container);
	assert_int_equal(raw_call(&kept, "GET", path, NULL, &answer), 200);
	double ms = since(start);
	assert_true(answer.size >= TAR_BLOCK + SMALL);
	return ms;
}

static void
a_small_file_is_there_and_back_at_once(void **state)
{
	struct contender c[] = {{.once = small_ours}, {.once = small_raw}};

	(void)state;
	measure_in_turn(c, 2, SMALL_ROUNDS);
	for (int i = 0; i < 2; i++) {
		double share = i == 0 ? 0.5 : 0.99;
		double mine = samples_at(&c[0].ms, share);
		double raw = samples_at(&c[1].ms, share);
		struct row row = {"", "", "", "", NO_GOAL};

		(void)snprintf(row.ours, sizeof(row.ours), "%.1f ms", mine);
		(void)snprintf(row.beside, sizeof(row.beside),
		    "engine's archive API %.1f ms", raw);
		(void)snprintf(
		    row.ratio, sizeof(row.ratio), "%.1f x faster", raw / mine);
		row_add(i == 0 ? "4 KiB put and got, p50"
			       : "4 KiB put and got, p99",
		    &row);
	}
	contenders_release(c, 2);
}

/* -- around them ----------------------------------------------------------- */

static void
make_source(void)
{
	int fd = open(source, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *block = mem_alloc(BLOCK);

	assert_true(fd >= 0);
	srand(1);
	for (size_t i = 0; i < BLOCK; i++)
		block[i] = (char)rand();
	for (off_t at = 0; at < BIG; at += (off_t)BLOCK)
		assert_int_equal(write(fd, block, BLOCK), BLOCK);
	free(block);
	(void)close(fd);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, run);
	json_auto_t *c = docker_container(run);
	(void)snprintf(container, sizeof(container), "%s",
	    json_string_value(json_at(c, "Id")));
	(void)snprintf(work, sizeof(work), "/proc/%d/root/work",
	    (int)json_integer_value(json_at(c, "State.Pid")));
	(void)snprintf(source, sizeof(source), "%s/source", stack.base);
	(void)snprintf(got, sizeof(got), "%s/got", stack.base);
	(void)snprintf(host, sizeof(host), "unix://%s", stack.docker);
	(void)snprintf(
	    bearer, sizeof(bearer), "Authorization: Bearer %s", stack.token);
	memset(small, 's', SMALL);
	make_source();
	kept = raw_open();
	return 0;
}

static int
teardown(void **state)
{
	raw_close(&kept);
	(void)unlink(source);
	(void)unlink(got);
	struct reply r = http_do("DELETE", run_url(run, ""), NULL, NULL);
	reply_release(&r);
	return stack_stop(state);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_large_file_moves_at_the_disk_s_pace),
	    cmocka_unit_test(a_small_file_is_there_and_back_at_once),
	};

	return cmocka_run_group_tests(benches, setup, teardown);
}
