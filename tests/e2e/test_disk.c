/* What runs and templates hold of the disk: told, flagged, limited, evicted. */
#include "harness.h"
#include "templates.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 60000
#define MIB (1LL << 20)

/* SBX_RUN_DISK_WARN_GB and _MAX_GB, below. */
#define FLAGGED "1100"
#define TOO_MUCH "1100" /* once more */

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_DISK_SAMPLE_SEC=1",
	    "SBX_RUN_DISK_WARN_GB=1", "SBX_RUN_DISK_MAX_GB=2", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

static json_int_t
disk_of(const char *id, bool *ret_warned)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);
	const json_t *disk = json_object_get(r.json, "disk");

	*ret_warned = json_is_true(json_object_get(disk, "warning"));
	return json_integer_value(json_object_get(disk, "bytes"));
}

static bool
holds(const char *id, int64_t least, int64_t most, bool warned)
{
	bool is_warned;
	int64_t bytes = disk_of(id, &is_warned);

	return bytes >= least && bytes <= most && is_warned == warned;
}

/* So many MiB, without writing them where the file system can. */
static void
fill(const char *id, const char *file, const char *mib)
{
	char cmd[200];

	(void)snprintf(cmd, sizeof(cmd),
	    "fallocate -l %sM %s || dd if=/dev/zero of=%s bs=1M count=%s", mib,
	    file, file, mib);
	/* It may be stopped at any moment. */
	EXECUTED_AUTO x = exec_sh(id, cmd);
	assert_int_equal(x.status, 200);
}

static json_int_t
usage(const char *path)
{
	REPLY_AUTO r = http_do("GET", "/v1/usage", NULL, NULL);

	assert_int_equal(r.status, 200);
	return json_integer_value(json_at(r.json, path));
}

/* -- runs ------------------------------------------------------------------ */

static bool
has_ended(const char *id)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	return str_eq(json_string_value(json_at(r.json, "state")), "exited");
}

static void
a_run_that_holds_too_much_is_flagged_then_stopped(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	template_says(id, "/work", "echo kept >note", "");
	wait_until(holds(id, 1, 10 * MIB, false), LOOK_MS);
	fill(id, "/one", FLAGGED);
	wait_until(holds(id, 1100 * MIB, 1200 * MIB, true), LOOK_MS);
	wait_until(usage("disk.runsBytes") >= 1100 * MIB, LOOK_MS);
	wait_until(usage("disk.runsFlagged") == 1, LOOK_MS);
	wait_until(stack_logged("\"event\":\"run.disk_flagged\""), LOOK_MS);
	assert_false(has_ended(id));

	fill(id, "/two", TOO_MUCH);
	wait_until(has_ended(id), LOOK_MS);
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);
	assert_string_equal(text_at(&r, "exit.reason"), "disk-limit");
	assert_int_equal(json_integer_value(json_at(r.json, "exit.code")), 137);
	REPLY_AUTO note = http_do("GET", run_url(id, "files/note"), NULL, NULL);
	assert_int_equal(note.status, 200);
	assert_memory_equal(note.body.data, "kept\n", 5);
	REPLY_AUTO exec =
	    http_do("POST", run_url(id, "exec"), "{\"cmd\":\"true\"}", NULL);
	check_problem(&exec, 409, "run_not_running", "disk-limit");
	wait_until(usage("memory.reservedMb") == 0, LOOK_MS);
	run_end(id);
}

/* Of a template only what was changed, of the volume all that is its own. */
static void
a_warm_volume_counts_without_its_template(void **state)
{
	char cold[ULID_SIZE], warm[ULID_SIZE];

	(void)state;
	REPLY_AUTO a = template_run(IMAGE_PLAIN, "disk/web", NULL, cold);
	template_says(cold, "/work",
	    "dd if=/dev/zero of=big bs=1M count=64 2>/dev/null", "");
	wait_until(holds(cold, 64 * MIB, 80 * MIB, false), LOOK_MS);
	template_made(cold, NULL);
	run_end(cold);
	wait_until(usage("disk.cacheBytes") >= 64 * MIB, LOOK_MS);
	assert_int_equal(usage("templates"), 1);
	REPLY_AUTO b = template_run(IMAGE_PLAIN, "disk/web", NULL, warm);
	wait_until(holds(warm, 1, 10 * MIB, false), LOOK_MS);
	template_says(warm, "/work",
	    "dd if=/dev/zero of=more bs=1M count=32 2>/dev/null", "");
	wait_until(holds(warm, 32 * MIB, 48 * MIB, false), LOOK_MS);
	run_end(warm);
	template_drop("disk/web");
}

/* -- templates ------------------------------------------------------------- */

static void
make_template(const char *repo)
{
	char id[ULID_SIZE];
	REPLY_AUTO r = template_run(IMAGE_PLAIN, repo, NULL, id);

	template_says(id, "/work", "echo it >file", "");
	template_made(id, NULL);
	run_end(id);
}

static bool
has_template(const char *repo)
{
	REPLY_AUTO r = template_do("GET", repo);

	return r.status == 200;
}

/* No disk has so much free: all that may go goes. */
static void
templates_make_room_but_for_those_in_use(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	make_template("disk/used");
	make_template("disk/idle");
	REPLY_AUTO r = template_run(IMAGE_PLAIN, "disk/used", NULL, id);
	stack_set("SBX_DISK_MIN_FREE_GB=1048576");
	stack_restart(SIGTERM);
	wait_until(!has_template("disk/idle"), LOOK_MS);
	wait_until(stack_logged("\"evicted\":1"), LOOK_MS);
	assert_true(has_template("disk/used"));
	template_says(id, "/work", "cat file", "it\n");
	run_end(id);
	wait_until(!has_template("disk/used"), LOOK_MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_that_holds_too_much_is_flagged_then_stopped),
	    cmocka_unit_test(a_warm_volume_counts_without_its_template),
	    cmocka_unit_test(templates_make_room_but_for_those_in_use),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
