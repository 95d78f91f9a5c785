/* docker/container on a scripted engine. */
#include "docker/container.h"
#include "docker_fixture.h"

#include <jansson.h>
#include <string.h>

static const char *const entrypoint[] = {"/.sbx/init", "hold", NULL};
static const char *const caps[] = {"NET_RAW", "MKNOD", NULL};
static const struct label labels[] = {
    {"teploy.sandbox", "1"}, {"teploy.sandbox.labels", "{\"a\":\"b\"}"}};
static const struct label annotations[] = {{"dev.gvisor.flag.x", "none"}};
static const struct mount mounts[] = {
    {"tmpfs", NULL, "/.sbx", false, false, 65536, NULL, 0},
    {"bind", "/usr/lib/init", "/.sbx/init", true, false, 0, NULL, 0},
    {"volume", "vol", "/.sbx/run", false, true, 0, labels, 1}};
static const struct container_spec spec = {.name = "box",
    .image = "a/b:c",
    .user = "0:0",
    .entrypoint = entrypoint,
    .no_healthcheck = true,
    .labels = labels,
    .label_count = 2,
    .mounts = mounts,
    .annotations = annotations,
    .annotation_count = 1,
    .working_dir = "/",
    .mount_count = 3,
    .network = "none",
    .runtime = "runsc",
    .memory_bytes = 1 << 30,
    .nano_cpus = 1500000000,
    .pids = 256,
    .shm_bytes = 512 << 20,
    .cap_drop = caps};

/* -- create --------------------------------------------------------------- */

static void
a_container_is_created_in_the_shape_of_the_contract(void **state)
{
	static const char want[] =
	    "{\"Image\":\"a/b:c\",\"User\":\"0:0\","
	    "\"Entrypoint\":[\"/.sbx/init\",\"hold\"],\"Cmd\":[],"
	    "\"WorkingDir\":\"/\","
	    "\"Healthcheck\":{\"Test\":[\"NONE\"]},"
	    "\"Labels\":{\"teploy.sandbox\":\"1\","
	    "\"teploy.sandbox.labels\":\"{\\\"a\\\":\\\"b\\\"}\"},"
	    "\"HostConfig\":{\"NetworkMode\":\"none\",\"Memory\":1073741824,"
	    "\"MemorySwap\":1073741824,\"NanoCpus\":1500000000,"
	    "\"PidsLimit\":256,\"ShmSize\":536870912,"
	    "\"Ulimits\":[{\"Name\":\"core\",\"Soft\":0,\"Hard\":0}],"
	    "\"SecurityOpt\":[\"no-new-privileges\"],"
	    "\"CapDrop\":[\"NET_RAW\",\"MKNOD\"],"
	    "\"Annotations\":{\"dev.gvisor.flag.x\":\"none\"},"
	    "\"Mounts\":[{\"Type\":\"tmpfs\",\"Target\":\"/.sbx\","
	    "\"ReadOnly\":false,"
	    "\"TmpfsOptions\":{\"SizeBytes\":65536,\"Mode\":493}},"
	    "{\"Type\":\"bind\",\"Source\":\"/usr/lib/init\","
	    "\"Target\":\"/.sbx/init\",\"ReadOnly\":true},"
	    "{\"Type\":\"volume\",\"Source\":\"vol\","
	    "\"Target\":\"/.sbx/run\",\"ReadOnly\":false,"
	    "\"VolumeOptions\":{\"NoCopy\":true,\"Labels\":{"
	    "\"teploy.sandbox\":\"1\"}}}],"
	    "\"Runtime\":\"runsc\",\"Init\":false,\"Privileged\":false,"
	    "\"LogConfig\":{\"Type\":\"none\"},"
	    "\"RestartPolicy\":{\"Name\":\"no\"}}}";
	struct docker_fixture *d = *state;
	char id[CONTAINER_ID_SIZE];
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.method = "POST",
			     .path = "/containers/create[?]name=box",
			     .status = 201,
			     .body = "{\"Id\":\"c1\",\"Warnings\":[]}"});
	check_ok(container_create(d->engine, &spec, id, &e), &e);
	assert_string_equal(id, "c1");
	json_auto_t *got = json_loads(fake_request(d->fake, 1).body, 0, NULL);
	json_auto_t *wanted = json_loads(want, 0, NULL);
	assert_non_null(wanted);
	assert_true(json_equal(got, wanted));
}

static void
a_network_by_name_may_have_a_name_server(void **state)
{
	struct docker_fixture *d = *state;
	struct container_spec attached = spec;
	char id[CONTAINER_ID_SIZE];
	struct err e = ERR_INIT;

	attached.network = "net";
	attached.dns = "10.0.0.1";
	fake_on(d->fake, (struct fake_rule){.method = "POST",
			     .path = "/containers/create[?]name=box",
			     .status = 201,
			     .body = "{\"Id\":\"c1\",\"Warnings\":[]}"});
	check_ok(container_create(d->engine, &attached, id, &e), &e);
	const char *body = fake_request(d->fake, 1).body;
	assert_non_null(
	    strstr(body, "\"NetworkMode\":\"net\",\"Dns\":[\"10.0.0.1\"],"
			 "\"DnsOptions\":[\"timeout:1\",\"attempts:1\"]"));
}

static void
no_runtime_and_nothing_to_drop_leave_the_defaults(void **state)
{
	struct docker_fixture *d = *state;
	struct container_spec plain = spec;
	char id[CONTAINER_ID_SIZE];
	struct err e = ERR_INIT;

	plain.runtime = "";
	plain.cap_drop = NULL;
	fake_on(d->fake, (struct fake_rule){.status = 201,
			     .body = "{\"Id\":\"c1\"}",
			     .path = "/containers/create*"});
	check_ok(container_create(d->engine, &plain, id, &e), &e);
	const char *body = fake_request(d->fake, 1).body;
	assert_null(strstr(body, "Runtime"));
	assert_non_null(strstr(body, "\"CapDrop\":[]"));
}

/* The engine's words, as 20.10 says them. */
static void
a_refused_create_is_told_apart(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {404, "{\"message\":\"No such image: a/b:c\"}", ERR_ABSENT},
	    {409,
		"{\"message\":\"Conflict. The container name \\\"/box\\\" is "
		"already in use by container c0.\"}",
		ERR_CONFLICT},
	    {400, "{\"message\":\"Minimum memory limit allowed is 6MB\"}",
		ERR_INPUT},
	    {400,
		"{\"message\":\"Range of CPUs is from 0.01 to 2.00, as there "
		"are only 2 CPUs available\"}",
		ERR_INPUT},
	    {400,
		"{\"message\":\"invalid reference format: repository name "
		"must be lowercase\"}",
		ERR_INPUT},
	    {400, "{\"message\":\"Unknown runtime specified runsc\"}",
		ERR_ENGINE},
	    {400,
		"{\"message\":\"invalid mount config for type \\\"bind\\\": "
		"bind source path does not exist: /usr/lib/init\"}",
		ERR_ENGINE},
	    {500, "{\"message\":\"no\"}", ERR_ENGINE},
	    {201, "{\"Id\":7}", ERR_ENGINE},
	    {201, "", ERR_ENGINE},
	};
	struct docker_fixture *d = *state;
	char id[CONTAINER_ID_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(
		    d->fake, (struct fake_rule){.path = "/containers/create*",
				 .status = rows[i].status,
				 .body = rows[i].body});
		check_fails(container_create(d->engine, &spec, id, &e), &e,
		    rows[i].kind);
	}
}

/* -- start, inspect, list ------------------------------------------------- */

static void
starting_twice_is_fine(void **state)
{
	static const struct {
		int status;
		enum err_kind kind; /* ERR_NONE is success */
	} rows[] = {{204, ERR_NONE}, {304, ERR_NONE}, {404, ERR_ABSENT},
	    {400, ERR_ENGINE}, {500, ERR_ENGINE}};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(d->fake, (struct fake_rule){.method = "POST",
				     .path = "/containers/c1/start",
				     .status = rows[i].status});
		int rc = container_start(d->engine, "c1", NULL, NULL, &e);
		assert_int_equal(rc, rows[i].kind == ERR_NONE ? 0 : -1);
		assert_int_equal(e.kind, rows[i].kind);
	}
}

static void
an_inspected_container_is_read(void **state)
{
	struct docker_fixture *d = *state;
	struct container_info info;
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){.path = "/containers/box/json",
		.status = 200,
		.body = "{\"Id\":\"c1\",\"Name\":\"/box\","
			"\"Created\":\"2026-01-31T09:00:00.123456789Z\","
			"\"State\":{\"Status\":\"exited\",\"Running\":false,"
			"\"OOMKilled\":true,\"ExitCode\":137,\"Pid\":0,"
			"\"FinishedAt\":\"2026-01-31T09:00:01Z\"},"
			"\"Config\":{\"Image\":\"a/b:c\",\"Labels\":"
			"{\"teploy.sandbox\":\"1\",\"x\":\"y=z\"}}}"});
	check_ok(container_inspect(d->engine, "box", &info, &e), &e);
	assert_string_equal(info.id, "c1");
	assert_string_equal(info.name, "box");
	assert_string_equal(info.image, "a/b:c");
	assert_string_equal(info.status, "exited");
	assert_false(info.running);
	assert_true(info.oom_killed);
	assert_int_equal(info.exit_code, 137);
	assert_int_equal(info.created_ms, 1769850000123);
	assert_int_equal(info.finished_ms, 1769850001000);
	assert_string_equal(container_label(&info, "x"), "y=z");
	assert_null(container_label(&info, "nope"));
	container_info_release(&info);

	fake_on(d->fake,
	    (struct fake_rule){.path = "/containers/box/json",
		.status = 200,
		.body = "{\"Id\":\"c1\",\"State\":{\"Status\":\"running\","
			"\"Running\":true,\"Pid\":42,"
			"\"FinishedAt\":\"0001-01-01T00:00:00Z\"},"
			"\"Config\":{\"Labels\":null}}"});
	check_ok(container_inspect(d->engine, "box", &info, &e), &e);
	assert_true(info.running);
	assert_int_equal(info.pid, 42);
	assert_int_equal(info.finished_ms, 0);
	assert_int_equal(info.label_count, 0);
	container_info_release(&info);
}

static void
an_absent_or_senseless_container_is_an_error(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum err_kind kind;
	} rows[] = {
	    {404, "{\"message\":\"No such container: box\"}", ERR_ABSENT},
	    {500, "", ERR_ENGINE},
	    {200, "", ERR_ENGINE},
	    {200, "[]", ERR_ENGINE},
	    {200, "{\"Id\":\"c1\"}", ERR_ENGINE},
	    {200, "{\"Id\":\"\",\"State\":{},\"Config\":{}}", ERR_ENGINE},
	};
	struct docker_fixture *d = *state;
	struct container_info info;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = ERR_INIT;

		fake_on(
		    d->fake, (struct fake_rule){.path = "/containers/box/json",
				 .status = rows[i].status,
				 .body = rows[i].body});
		check_fails(container_inspect(d->engine, "box", &info, &e), &e,
		    rows[i].kind);
	}
}

static void
an_id_cannot_leave_its_place_in_the_path(void **state)
{
	struct docker_fixture *d = *state;
	struct container_info info;
	struct err e = ERR_INIT;

	check_fails(container_inspect(d->engine, "../x?a=b", &info, &e), &e,
	    ERR_ABSENT);
	assert_string_equal(
	    fake_request(d->fake, 1).path, "/containers/..%2Fx%3Fa%3Db/json");
}

static void
containers_are_listed_by_label(void **state)
{
	struct docker_fixture *d = *state;
	struct container_list list;
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){.path = "/containers/json*",
		.status = 200,
		.body = "[{\"Id\":\"c1\",\"Names\":[\"/box\"],"
			"\"Image\":\"a\",\"State\":\"running\","
			"\"Created\":1769850000,\"Labels\":{\"k\":\"v\"}},"
			"{\"Id\":\"c2\",\"Names\":null,\"Image\":\"b\","
			"\"State\":\"exited\",\"Labels\":{}}]"});
	check_ok(container_list(d->engine, "k", "v w", &list, &e), &e);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.item[0].name, "box");
	assert_true(list.item[0].running);
	assert_int_equal(list.item[0].created_ms, 1769850000000);
	assert_string_equal(container_label(&list.item[0], "k"), "v");
	assert_string_equal(list.item[1].name, "");
	assert_false(list.item[1].running);
	container_list_release(&list);
	/* {"label":["k=v w"]} */
	assert_string_equal(fake_request(d->fake, 1).path,
	    "/containers/json?all=1&filters="
	    "%7B%22label%22%3A%5B%22k%3Dv%20w%22%5D%7D");
}

static void
a_list_that_is_none_is_an_error(void **state)
{
	static const char *const bodies[] = {
	    "", "{}", "[{}]", "[{\"Id\":\"c1\"},7]"};
	struct docker_fixture *d = *state;
	struct container_list list;

	fake_on(d->fake,
	    (struct fake_rule){
		.path = "/containers/json*", .status = 200, .body = "[]"});
	struct err e = ERR_INIT;
	check_ok(container_list(d->engine, "k", "v", &list, &e), &e);
	assert_int_equal(list.count, 0);
	container_list_release(&list);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		fake_on(d->fake, (struct fake_rule){.path = "/containers/json*",
				     .status = 200,
				     .body = bodies[i]});
		check_fails(container_list(d->engine, "k", "v", &list, &e), &e,
		    ERR_ENGINE);
	}
}

/* -- remove --------------------------------------------------------------- */

static const struct fake_rule in_progress = {.method = "DELETE",
    .times = 3,
    .status = 409,
    .body = "{\"message\":\"removal of container c1 is already in "
	    "progress\"}"};

static void
removal_is_by_force_with_anonymous_volumes(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.method = "DELETE",
			     .path = "/containers/c1[?]force=1&v=1",
			     .status = 204});
	check_ok(container_remove(d->engine, "c1", &e), &e);
}

static void
a_removal_in_progress_is_waited_for(void **state)
{
	static const int last[] = {204, 404};
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < 2; i++) {
		fake_on(d->fake,
		    (struct fake_rule){.method = "DELETE", .status = last[i]});
		fake_on(d->fake, in_progress);
		check_ok(container_remove(d->engine, "c1", &e), &e);
		assert_int_equal(
		    fake_seen(d->fake, "DELETE", NULL), 4 * (i + 1));
		assert_int_equal(e.kind, ERR_NONE);
	}
}

static void
a_removal_that_fails_is_an_error(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_on(
	    d->fake, (struct fake_rule){.method = "DELETE",
			 .status = 500,
			 .body = "{\"message\":\"driver failed to remove root "
				 "filesystem: device or resource busy\"}"});
	check_fails(container_remove(d->engine, "c1", &e), &e, ERR_ENGINE);
	/* Also when the one that was in progress failed. */
	fake_on(d->fake, in_progress);
	check_fails(container_remove(d->engine, "c1", &e), &e, ERR_ENGINE);
	fake_on(d->fake, (struct fake_rule){.method = "DELETE",
			     .status = 409,
			     .body = "{\"message\":\"something else\"}"});
	check_fails(container_remove(d->engine, "c1", &e), &e, ERR_ENGINE);
}

/* Every call, with every way for an engine to be lost under it. */
static void
a_lost_engine_is_told_apart_from_a_refusal(void **state)
{
	struct docker_fixture *d = *state;
	struct container_info info;
	struct container_list list;
	char id[CONTAINER_ID_SIZE];
	struct err e = ERR_INIT;

	fake_down(d->fake);
	check_fails(
	    container_create(d->engine, &spec, id, &e), &e, ERR_ENGINE_AWAY);
	check_fails(container_start(d->engine, "c1", NULL, NULL, &e), &e,
	    ERR_ENGINE_AWAY);
	check_fails(
	    container_inspect(d->engine, "c1", &info, &e), &e, ERR_ENGINE_AWAY);
	check_fails(container_list(d->engine, "k", "v", &list, &e), &e,
	    ERR_ENGINE_AWAY);
	check_fails(container_remove(d->engine, "c1", &e), &e, ERR_ENGINE_AWAY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(a_container_is_created_in_the_shape_of_the_contract),
	    docker_test(a_network_by_name_may_have_a_name_server),
	    docker_test(no_runtime_and_nothing_to_drop_leave_the_defaults),
	    docker_test(a_refused_create_is_told_apart),
	    docker_test(starting_twice_is_fine),
	    docker_test(an_inspected_container_is_read),
	    docker_test(an_absent_or_senseless_container_is_an_error),
	    docker_test(an_id_cannot_leave_its_place_in_the_path),
	    docker_test(containers_are_listed_by_label),
	    docker_test(a_list_that_is_none_is_an_error),
	    docker_test(removal_is_by_force_with_anonymous_volumes),
	    docker_test(a_removal_in_progress_is_waited_for),
	    docker_test(a_removal_that_fails_is_an_error),
	    docker_test(a_lost_engine_is_told_apart_from_a_refusal),
	};
	struct err e = ERR_INIT;

	if (engine_setup(&e) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
