/*
 * What a command costs through the whole stack, beside what it costs without:
 * the same shell in the same container, each contender in turn. And the same
 * of a run: created, first command, beside a container of the same shape.
 */
#include "../e2e/harness.h"
#include "direct.h"
#include "measure.h"
#include "raw.h"
#include "spawned.h"

#include <string.h>

#define ROUNDS 100
#define CREATE_ROUNDS 20
#define ECHO "{\"cmd\":\"echo hi\"}"
#define ECHO_ARGV "[\"/bin/sh\",\"-c\",\"echo hi\"]"

static struct raw kept;
static struct direct direct;
static char run[ULID_SIZE];
static char shape[32768]; /* of a run's container, for /containers/create */

static double
since(int64_t start_us)
{
	return (double)(clock_mono_us() - start_us) / 1000;
}

/* -- a command ----------------------------------------------------------- */

static void
exec_ours(const char *id)
{
	struct stream *s = stream_open(run_url(id, "exec"), ECHO, NULL);

	assert_int_equal(stream_status(s), 200);
	const struct event *ev = stream_await(s, "stdout", 60000);
	assert_non_null(ev);
	assert_string_equal(ev->data, "hi\n");
	ev = stream_await(s, "exit", 60000);
	assert_non_null(ev);
	assert_string_equal(ev->data, "{\"exitCode\":0,\"timedOut\":false}");
	stream_close(s);
}

static double
ours(void *arg)
{
	int64_t start = clock_mono_us();

	(void)arg;
	exec_ours(run);
	return since(start);
}

static void
exec_raw(const char *in)
{
	BUF_AUTO out = BUF_INIT(4096);

	assert_int_equal(raw_exec(&kept, in, ECHO_ARGV, &out), 0);
	assert_string_equal(out.data, "hi\n");
}

static double
raw_api(void *arg)
{
	int64_t start = clock_mono_us();

	(void)arg;
	exec_raw(direct.container);
	return since(start);
}

/* What of ours is neither nginx nor the worker. */
static double
guest_only(void *arg)
{
	struct guest_event ev = {.type = GUEST_NOTHING};
	int64_t start = clock_mono_us();
	struct guest *g = direct_exec(&direct, "echo hi");

	(void)arg;
	while (ev.type != GUEST_EXIT)
		ev = direct_next(g);
	double ms = since(start);
	assert_int_equal(ev.exit.code, 0);
	guest_free(g);
	return ms;
}

static double
docker_cli(void *arg)
{
	static const char *const shell[] = {"/bin/sh", "-c", "echo hi", NULL};
	char said[16];
	double ms =
	    spawned_docker_exec(direct.container, shell, said, sizeof(said));

	(void)arg;
	assert_string_equal(said, "hi\n");
	return ms;
}

/* The physical limit: the same shell on the host, with nothing around it. */
static double
bare(void *arg)
{
	static const char *const shell[] = {
	    "/bin/busybox", "sh", "-c", "echo hi", NULL};
	char said[16];
	double ms = spawned(shell, said, sizeof(said));

	(void)arg;
	assert_string_equal(said, "hi\n");
	return ms;
}

static void
exec_row(
    const char *measure, double share, const struct contender *c, double most)
{
	double mine = samples_at(&c[0].ms, share);
	double cli = samples_at(&c[2].ms, share);
	struct row row = {"", "", "", "", NO_GOAL};

	(void)snprintf(row.ours, sizeof(row.ours), "%.1f ms", mine);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "docker exec %.1f, raw %.1f, guest alone %.1f, bare %.1f ms", cli,
	    samples_at(&c[1].ms, share), samples_at(&c[3].ms, share),
	    samples_at(&c[4].ms, share));
	(void)snprintf(row.ratio, sizeof(row.ratio), "%.1f x faster",
	    mine > 0 ? cli / mine : 0);
	(void)snprintf(row.goal, sizeof(row.goal), "<= %.0f ms%s", most,
	    share < 0.9 ? ", >= 20 x docker exec" : "");
	row.verdict = mine <= most && (share >= 0.9 || cli >= 20 * mine)
			  ? GOAL_MET
			  : GOAL_MISSED;
	row_add(measure, &row);
}

static void
a_command_costs_little_more_than_its_shell(void **state)
{
	struct contender c[] = {
	    {.once = ours},
	    {.once = raw_api},
	    {.once = docker_cli},
	    {.once = guest_only},
	    {.once = bare},
	};

	(void)state;
	measure_in_turn(c, 5, ROUNDS);
	exec_row("exec of `echo hi`, p50", 0.5, c, 4);
	exec_row("exec of `echo hi`, p99", 0.99, c, 12);
	contenders_release(c, 5);
}

/* -- a run and its first command ----------------------------------------- */

static double
create_ours(void *arg)
{
	char id[ULID_SIZE];
	int64_t start = clock_mono_us();

	(void)arg;
	run_new(IMAGE_PLAIN, id);
	exec_ours(id);
	double ms = since(start);
	run_end(id);
	return ms;
}

static double
create_raw(void *arg)
{
	char id[RAW_ID_SIZE], path[160];
	int64_t start = clock_mono_us();

	(void)arg;
	raw_member(&kept, "POST", "/containers/create", shape, 201, "Id", id);
	(void)snprintf(path, sizeof(path), "/containers/%s/start", id);
	assert_int_equal(raw_call(&kept, "POST", path, NULL, NULL), 204);
	exec_raw(id);
	double ms = since(start);
	(void)snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", id);
	assert_int_equal(raw_call(&kept, "DELETE", path, NULL, NULL), 204);
	return ms;
}

static void
a_run_costs_little_more_than_a_container(void **state)
{
	struct contender c[] = {{.once = create_ours}, {.once = create_raw}};
	struct row row = {"", "", "", "", NO_GOAL};

	(void)state;
	measure_in_turn(c, 2, CREATE_ROUNDS);
	double mine = samples_at(&c[0].ms, 0.5);
	double raw = samples_at(&c[1].ms, 0.5);
	(void)snprintf(row.ours, sizeof(row.ours), "%.0f ms", mine);
	(void)snprintf(row.beside, sizeof(row.beside),
	    "raw create + start + exec %.0f ms", raw);
	row_judge(&row, mine, raw, 1.1, "raw");
	row_add("create + first exec, p50", &row);
	contenders_release(c, 2);
}

/* -- the stack ----------------------------------------------------------- */

/* What was asked for a run's container, to be asked for once more. Without the
 * volume of its init's socket, which is that run's and our own expense; of the
 * labels only the one by which the harness finds what is left. */
static void
copy_shape(void)
{
	json_auto_t *found = docker_container(run);
	json_t *body = json_deep_copy(json_at(found, "Config"));
	json_t *host = json_object_get(found, "HostConfig");
	json_t *mounts = json_object_get(host, "Mounts");

	for (size_t i = json_array_size(mounts); i-- > 0;)
		if (str_eq(json_string_value(
			       json_at(json_array_get(mounts, i), "Type")),
			"volume"))
			json_array_remove(mounts, i);
	json_object_del(body, "Hostname");
	json_object_set(body, "HostConfig", host);
	json_object_set_new(body, "Entrypoint",
	    json_pack("[s,s,s,s]", "/.sbx/init", "run", "--user", ""));
	json_object_set_new(body, "Labels",
	    json_pack("{s:s}", "teploy.sandbox.instance", stack.instance));
	size_t size = json_dumpb(body, shape, sizeof(shape) - 1, JSON_COMPACT);
	assert_true(size > 0 && size < sizeof(shape));
	json_decref(body);
}

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	kept = raw_open();
	run_new(IMAGE_PLAIN, run);
	direct_open(&direct, run);
	copy_shape();
	return 0;
}

static int
teardown(void **state)
{
	struct reply r = http_do("DELETE", run_url(run, ""), NULL, NULL);
	reply_release(&r);
	direct_close(&direct);
	raw_close(&kept);
	return stack_stop(state);
}

int
main(void)
{
	const struct CMUnitTest benches[] = {
	    cmocka_unit_test(a_command_costs_little_more_than_its_shell),
	    cmocka_unit_test(a_run_costs_little_more_than_a_container),
	};

	return cmocka_run_group_tests(benches, setup, teardown);
}
