/* What a snapshot's image says of itself. */
#include "../check.h"
#include "run/snapshot_config.h"

#include <jansson.h>
#include <string.h>

static struct arena arena;

static int
release(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const struct label own[] = {
    {"teploy.sandbox.snapshot", "01X"}, {"teploy.sandbox.snapshot.run", "01R"}};
static const struct label inherited[] = {{"teploy.sandbox.run", "01R"},
    {"teploy.sandbox.snapshot", "01OLD"}, {"made.by", "somebody"}};

static json_t *
config_of(const char *base)
{
	const struct snapshot_config c = {base, own, 2, inherited, 3};
	struct err e = ERR_INIT;
	const char *text = NULL;

	check_ok(snapshot_config(&c, &arena, &text, &e), &e);
	json_t *config = json_loads(text, 0, NULL);
	assert_non_null(config);
	return config;
}

static void
check_config(const char *base, const char *want)
{
	json_auto_t *have = config_of(base);
	json_auto_t *should = json_loads(want, 0, NULL);

	if (!json_equal(have, should))
		fail_msg("%s\n, not %s", json_dumps(have, 0), want);
}

#define LABELS                                 \
	"\"teploy.sandbox.snapshot\":\"01X\"," \
	"\"teploy.sandbox.snapshot.run\":\"01R\",\"teploy.sandbox.run\":\"\""

static void
the_base_is_kept_to_the_letter(void **state)
{
	(void)state;
	check_config(
	    "{\"User\":\"app\",\"Env\":[\"A=b\"],\"Entrypoint\":[\"/x\"],"
	    "\"Cmd\":[\"y\"],\"Volumes\":{\"/d\":{}},\"Unknown\":[1,{}],"
	    "\"Labels\":{\"made.by\":\"me\",\"x\":\"y\"}}",
	    "{\"User\":\"app\",\"Env\":[\"A=b\"],\"Entrypoint\":[\"/x\"],"
	    "\"Cmd\":[\"y\"],\"Volumes\":{\"/d\":{}},\"Unknown\":[1,{}],"
	    "\"Labels\":{\"made.by\":\"me\",\"x\":\"y\"," LABELS "}}");
}

/* The engine would put the init in the place of nothing. */
static void
no_entrypoint_is_an_empty_one(void **state)
{
	(void)state;
	check_config("{}", "{\"Entrypoint\":[],\"Labels\":{" LABELS "}}");
	check_config("{\"Entrypoint\":null,\"Labels\":null,\"Cmd\":null}",
	    "{\"Entrypoint\":[],\"Cmd\":null,\"Labels\":{" LABELS "}}");
}

static void
what_is_no_configuration_is_refused(void **state)
{
	static const char *const bad[] = {"", "null", "[]", "{", "\"x\""};
	const char *text = NULL;
	struct snapshot_base about;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct snapshot_config c = {bad[i], own, 2, NULL, 0};
		struct err e = ERR_INIT;

		check_fails(
		    snapshot_config(&c, &arena, &text, &e), &e, ERR_ENGINE);
		check_fails(snapshot_base(bad[i], "", &arena, &about, &e), &e,
		    ERR_ENGINE);
	}
}

/* -- looking at a base ----------------------------------------------------- */

static struct snapshot_base
base_of(const char *json, const char *warm)
{
	struct snapshot_base about;
	struct err e = ERR_INIT;

	check_ok(snapshot_base(json, warm, &arena, &about, &e), &e);
	return about;
}

static void
check_excludes(
    const char *json, const char *warm, const char *more, const char *want)
{
	const struct snapshot_base about = base_of(json, warm);

	assert_string_equal(snapshot_excludes(&about, more, &arena), want);
}

static void
volumes_are_excluded_but_for_the_warm_path(void **state)
{
	static const char base[] =
	    "{\"Volumes\":{\"/z\":{},\"/data\":{},\"/a\\\"b\":{}}}";

	(void)state;
	check_excludes(base, "", NULL, "[\"/a\\\"b\",\"/data\",\"/z\"]");
	check_excludes(base, "/data", "/tmp", "[\"/a\\\"b\",\"/z\",\"/tmp\"]");
	check_excludes("{}", "/data", NULL, "[]");
	check_excludes("{\"Volumes\":null}", "", "/tmp", "[\"/tmp\"]");
}

static void
a_warm_path_at_above_or_below_a_volume_is_told(void **state)
{
	static const struct {
		const char *warm;
		bool in;
	} rows[] = {{"/data", true}, {"/data/x", true}, {"/data/x/y", true},
	    {"/srv", true}, {"/srv/deep/er", true}, {"/srv/deep/vol", false},
	    {"/srv/deep/erx", false}, {"/dat", false}, {"/data2", false},
	    {"/work", false}, {"/srv/deeper", false}, {"", false}};
	static const char base[] =
	    "{\"Volumes\":{\"/data\":{},\"/srv/deep/er\":{}}}";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool in = base_of(base, rows[i].warm).warm_in_volume;

		if (in != rows[i].in)
			fail_msg("%s: %d", rows[i].warm, in);
	}
}

static void
a_user_and_a_working_directory_count_unless_empty(void **state)
{
	(void)state;
	const struct snapshot_base none =
	    base_of("{\"User\":\"\",\"WorkingDir\":null}", "");
	assert_false(none.has_user || none.has_working_dir);
	const struct snapshot_base both =
	    base_of("{\"User\":\"0\",\"WorkingDir\":\"/x\"}", "");
	assert_true(both.has_user && both.has_working_dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_base_is_kept_to_the_letter),
	    cmocka_unit_test(no_entrypoint_is_an_empty_one),
	    cmocka_unit_test(what_is_no_configuration_is_refused),
	    cmocka_unit_test(volumes_are_excluded_but_for_the_warm_path),
	    cmocka_unit_test(a_warm_path_at_above_or_below_a_volume_is_told),
	    cmocka_unit_test(a_user_and_a_working_directory_count_unless_empty),
	};

	return cmocka_run_group_tests_name(
	    "snapshot_config", tests, NULL, release);
}
