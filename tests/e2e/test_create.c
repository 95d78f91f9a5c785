/* Creating runs (CONTRACT 2): what is refused, what a container is like, and
 * that a creation is whole or absent. */
#include "harness.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_MS 20000

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_SHM_MB=77", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	image_need(IMAGE_ENTRY);
	image_need(IMAGE_VOLUME);
	return 0;
}

/* Nothing of a creation is there: container, record, directory. */
static void
check_nothing_made(void)
{
	char path[128];

	assert_int_equal(docker_count(), 0);
	redisReply *records = redis_do("KEYS sbx:run:*");
	assert_int_equal(records->elements, 0);
	freeReplyObject(records);
	/* rmdir takes an empty directory only; made again at once. */
	(void)snprintf(path, sizeof(path), "%s/runs", stack.run_dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

#define IMAGE "\"image\":\"" IMAGE_PLAIN "\""

static const struct {
	const char *body, *says;
	long status; /* 0: 400 */
} bad[] = {
    {"", "image", 0},
    {"{}", "image", 0},
    {"[]", "JSON", 0},
    {"7", "JSON", 0},
    {"{\"image\":", "JSON", 0},
    {"{\"image\":\"a\"} x", "JSON", 0},
    {"{\"image\":\"\xff\"}", "JSON", 0},
    {"{\"image\":\"\"}", "image", 0},
    {"{\"image\":\" \\t\"}", "image", 0},
    {"{\"image\":5}", "image", 0},
    {"{\"image\":{\"name\":\"x\"}}", "image", 0},
    {"{\"image\":\"a\\u0000b\"}", "image", 0},
    {"{\"image\":\"UPPER/Case\"}", NULL, 0},
    {"{\"image\":\"a b\"}", NULL, 0},
    {"{\"image\":\"-x\"}", NULL, 0},
    {"{\"image\":\"../x\"}", NULL, 0},
    {"{\"image\":\"a:b:c\"}", NULL, 0},
    {"{" IMAGE ",\"env\":[\"A=b\"]}", "env", 0},
    {"{" IMAGE ",\"env\":\"A=b\"}", "env", 0},
    {"{" IMAGE ",\"env\":{\"A\":1}}", "env", 0},
    {"{" IMAGE ",\"env\":{\"1A\":\"x\"}}", "env", 0},
    {"{" IMAGE ",\"env\":{\"A B\":\"x\"}}", "env", 0},
    {"{" IMAGE ",\"env\":{\"A\":\"x\\u0000\"}}", "env", 0},
    {"{" IMAGE ",\"ttlSec\":-1}", "ttlSec", 0},
    {"{" IMAGE ",\"ttlSec\":86401}", "ttlSec", 0},
    {"{" IMAGE ",\"ttlSec\":1.5}", "ttlSec", 0},
    {"{" IMAGE ",\"ttlSec\":\"60\"}", "ttlSec", 0},
    {"{" IMAGE ",\"ttlSec\":true}", "ttlSec", 0},
    {"{" IMAGE ",\"network\":\"host\"}", "none, allowlist", 0},
    {"{" IMAGE ",\"network\":\"None\"}", "none, allowlist", 0},
    {"{" IMAGE ",\"network\":\"container:x\"}", "none, allowlist", 0},
    {"{" IMAGE ",\"network\":5}", "network", 0},
    {"{" IMAGE ",\"egressAllow\":[\"a.example\"]}", "egressAllow", 0},
    {"{" IMAGE ",\"network\":\"open\",\"egressAllow\":[\"a.example\"]}",
	"egressAllow", 0},
    {"{" IMAGE ",\"egressAllow\":\"a\"}", "egressAllow", 0},
    {"{" IMAGE ",\"limits\":[]}", NULL, 201}, /* absent */
    {"{" IMAGE ",\"limits\":[1]}", "limits", 0},
    {"{" IMAGE ",\"limits\":{\"memoryMb\":-1}}", "memoryMb", 0},
    {"{" IMAGE ",\"limits\":{\"memoryMb\":5}}", "memoryMb", 0},
    {"{" IMAGE ",\"limits\":{\"memoryMb\":7.5}}", "memoryMb", 0},
    {"{" IMAGE ",\"limits\":{\"memoryMb\":\"64\"}}", "memoryMb", 0},
    {"{" IMAGE ",\"limits\":{\"memoryMb\":9007199254740993}}", "memoryMb", 0},
    {"{" IMAGE ",\"limits\":{\"cpus\":-0.5}}", "cpus", 0},
    {"{" IMAGE ",\"limits\":{\"cpus\":100000}}", "cpus", 0},
    {"{" IMAGE ",\"limits\":{\"cpus\":\"1\"}}", "cpus", 0},
    {"{" IMAGE ",\"limits\":{\"cpus\":1e-9}}", "cpus", 0},
    {"{" IMAGE ",\"limits\":{\"pids\":-1}}", "pids", 0},
    {"{" IMAGE ",\"limits\":{\"pids\":2.5}}", "pids", 0},
    {"{" IMAGE ",\"labels\":[\"a\"]}", "labels", 0},
    {"{" IMAGE ",\"labels\":{\"a\":1}}", "labels", 0},
    {"{" IMAGE ",\"warm\":5}", "warm", 0},
    {"{" IMAGE ",\"init\":\"x\"}", "init", 0},
    {"{" IMAGE ",\"autoExtend\":\"yes\"}", "autoExtend", 0},
};

static void
what_is_wrong_is_named_and_nothing_is_made(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (bad[i].status == 201)
			continue;
		REPLY_AUTO r = http_do("POST", "/v1/runs", bad[i].body, NULL);

		if (r.status != 400)
			fail_msg(
			    "%s: %ld %s", bad[i].body, r.status, r.body.data);
		check_problem(&r, 400, NULL, bad[i].says);
	}
	check_nothing_made();
}

static void
labels_have_ceilings(void **state)
{
	json_t *labels = json_object();
	char name[16];

	(void)state;
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof(name), "l%d", i);
		json_object_set_new(labels, name, json_string("x"));
	}
	REPLY_AUTO r = http_json("POST", "/v1/runs",
	    json_pack("{s:s,s:o}", "image", IMAGE_PLAIN, "labels", labels));
	check_problem(&r, 400, NULL, "labels");
	check_nothing_made();
}

static void
null_and_zero_values_are_the_defaults(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(
	    json_loads("{" IMAGE ",\"env\":{},\"ttlSec\":0,\"network\":\"\","
		       "\"egressAllow\":[],\"limits\":{\"memoryMb\":0,"
		       "\"cpus\":0,\"pids\":null},\"warm\":null,"
		       "\"autoExtend\":false,\"labels\":{},\"init\":{},"
		       "\"unknown\":[1]}",
		0, NULL),
	    id);
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);
	assert_string_equal(
	    json_string_value(json_at(r.json, "network")), "none");
	assert_int_equal(
	    json_integer_value(json_at(r.json, "limits.memoryMb")), 1024);
	assert_true(json_number_value(json_at(r.json, "limits.cpus")) == 1.0);
	assert_int_equal(
	    json_integer_value(json_at(r.json, "limits.pids")), 256);
	redisReply *ttl = redis_do("HGET sbx:run:%s ttlSec", id);
	assert_string_equal(ttl->str, "1800");
	freeReplyObject(ttl);
	run_end(id);
}

static int64_t
number(const json_t *json, const char *path)
{
	return json_integer_value(json_at(json, path));
}

static const char *
text(const json_t *json, const char *path)
{
	const char *value = json_string_value(json_at(json, path));

	if (value == NULL)
		fail_msg("%s is no string", path);
	return value;
}

static const char *
label(const json_t *container, const char *name)
{
	const json_t *labels = json_at(container, "Config.Labels");

	return json_string_value(json_object_get(labels, name));
}

static bool
lists(const json_t *array, const char *word)
{
	const json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (str_eq(json_string_value(item), word))
			return true;
	}
	return false;
}

static void
check_shape(const json_t *c, const char *id)
{
	static const char *const dropped[] = {
	    "NET_RAW", "MKNOD", "AUDIT_WRITE"};
	const json_t *host = json_at(c, "HostConfig");
	const json_t *security = json_object_get(host, "SecurityOpt");

	assert_string_equal(label(c, "teploy.sandbox"), "1");
	assert_string_equal(label(c, "teploy.sandbox.run"), id);
	assert_string_equal(label(c, "teploy.sandbox.server"), "test-box");
	assert_string_equal(
	    label(c, "teploy.sandbox.instance"), stack.instance);
	for (size_t i = 0; i < 3; i++)
		if (!lists(json_at(host, "CapDrop"), dropped[i]))
			fail_msg("%s is not dropped", dropped[i]);
	assert_false(json_is_array(json_object_get(host, "CapAdd")) &&
		     json_array_size(json_object_get(host, "CapAdd")) > 0);
	assert_true(lists(security, "no-new-privileges") ||
		    lists(security, "no-new-privileges:true"));
	assert_int_equal(json_array_size(security), 1); /* default seccomp */
	assert_true(json_is_false(json_at(host, "Privileged")));
	assert_int_equal(number(host, "ShmSize"), 77 << 20);
	assert_string_equal(text(host, "PidMode"), "");
	assert_string_equal(text(host, "UsernsMode"), "");
	assert_true(json_is_false(json_at(host, "PublishAllPorts")));
	assert_string_equal(text(host, "RestartPolicy.Name"), "no");
}

/* Our init, read-only, and its socket's directory; no socket of the engine. */
static void
check_mounts(const json_t *mounts, const char *id)
{
	const json_t *mount;
	size_t i, roots = 0, inits = 0, sockets = 0;

	json_array_foreach(mounts, i, mount)
	{
		const char *at = text(mount, "Destination");

		if (str_eq(at, "/.sbx")) {
			assert_string_equal(text(mount, "Type"), "tmpfs");
			roots++;
		}
		if (str_eq(at, "/.sbx/init")) {
			assert_true(json_is_false(json_at(mount, "RW")));
			inits++;
		}
		sockets += str_eq(at, "/.sbx/run");
	}
	assert_int_equal(roots, 1);
	assert_int_equal(inits, 1);
	assert_int_equal(sockets, run_has_socket(id));
	assert_int_equal(json_array_size(mounts), roots + inits + sockets);
}

static void
the_container_is_as_promised(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(json_loads("{" IMAGE ",\"limits\":{\"memoryMb\":64,"
			    "\"cpus\":0.5,\"pids\":33},\"env\":{\"A\":\"b\"}}",
		     0, NULL),
	    id);
	json_auto_t *c = docker_container(id);
	assert_non_null(c);
	check_shape(c, id);
	assert_string_equal(text(c, "HostConfig.NetworkMode"), "none");
	assert_int_equal(number(c, "HostConfig.Memory"), 64 << 20);
	assert_int_equal(number(c, "HostConfig.MemorySwap"), 64 << 20);
	assert_int_equal(number(c, "HostConfig.NanoCpus"), 500000000);
	assert_int_equal(number(c, "HostConfig.PidsLimit"), 33);
	check_mounts(json_at(c, "Mounts"), id);
	EXECUTED_AUTO x =
	    exec_sh(id, "ls /sys/class/net; df -m /dev/shm | tail -n1; "
			"head -c1 /.sbx/init >/dev/null && echo x 2>/dev/null "
			">/.sbx/init || "
			"echo read-only; ls -ld /work | cut -c1-10");
	assert_true(str_starts(x.out.data, "lo\n"));
	assert_non_null(strstr(x.out.data, " 77 "));
	assert_non_null(strstr(x.out.data, "read-only\n"));
	run_end(id);
}

static void
an_open_run_has_the_default_bridge(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	needs_host_kernel("--network=none");
	run_from(
	    json_pack("{s:s,s:s}", "image", IMAGE_PLAIN, "network", "open"),
	    id);
	json_auto_t *c = docker_container(id);
	check_shape(c, id);
	const json_t *networks = json_at(c, "NetworkSettings.Networks");
	assert_int_equal(json_object_size(networks), 1);
	assert_non_null(json_object_get(networks, "bridge"));
	EXECUTED_AUTO x = exec_sh(id, "ls /sys/class/net; env | grep -i proxy");
	assert_string_equal(x.out.data, "eth0\nlo\n");
	run_end(id);
}

static void
entrypoint_command_and_healthcheck_of_the_image_do_not_run(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_new(IMAGE_ENTRY, id);
	json_auto_t *c = docker_container(id);
	assert_string_equal(text(c, "Config.Entrypoint.0"), "/.sbx/init");
	assert_string_equal(text(c, "Config.Healthcheck.Test.0"), "NONE");
	EXECUTED_AUTO x = exec_sh(id, "echo $FROM_IMAGE; ls /tmp");
	assert_string_equal(x.out.data, "yes\n");
	run_end(id);
}

/* Whether the engine has a volume of that name. */
static bool
is_volume(const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "/volumes/%s", name);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	assert_true(r.status == 200 || r.status == 404);
	return r.status == 200;
}

static void
anonymous_volumes_go_with_their_run(void **state)
{
	char id[ULID_SIZE];
	const json_t *mount, *mounts;
	const char *name = NULL;
	size_t i;

	(void)state;
	run_new(IMAGE_VOLUME, id);
	EXECUTED_AUTO x = exec_sh(id, "echo x >/data/x && cat /data/x");
	assert_string_equal(x.out.data, "x\n");
	json_auto_t *c = docker_container(id);
	mounts = json_at(c, "Mounts");
	assert_int_equal(json_array_size(mounts), run_has_socket(id) ? 4 : 3);
	json_array_foreach(mounts, i, mount)
	{
		if (str_eq(text(mount, "Destination"), "/data"))
			name = text(mount, "Name");
	}
	assert_non_null(name);
	assert_true(is_volume(name));
	run_end(id);
	assert_false(is_volume(name));
}

static void
labels_are_shown_and_filter_the_list(void **state)
{
	char blue[ULID_SIZE], red[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s,s:{s:s,s:s}}", "image", IMAGE_PLAIN, "labels",
		     "team", "blue", "a.b/c", "x:y"),
	    blue);
	run_from(json_pack("{s:s,s:{s:s}}", "image", IMAGE_PLAIN, "labels",
		     "team", "red"),
	    red);
	REPLY_AUTO one = http_do("GET", run_url(blue, ""), NULL, NULL);
	const json_t *labels = json_at(one.json, "labels");
	assert_string_equal(
	    json_string_value(json_object_get(labels, "a.b/c")), "x:y");
	REPLY_AUTO list =
	    http_do("GET", "/v1/runs?label=team:blue", NULL, NULL);
	assert_int_equal(json_array_size(json_at(list.json, "runs")), 1);
	assert_string_equal(text(list.json, "runs.0.id"), blue);
	REPLY_AUTO colon =
	    http_do("GET", "/v1/runs?label=a.b%2Fc:x:y", NULL, NULL);
	assert_int_equal(json_array_size(json_at(colon.json, "runs")), 1);
	REPLY_AUTO none =
	    http_do("GET", "/v1/runs?label=team:green", NULL, NULL);
	assert_int_equal(json_array_size(json_at(none.json, "runs")), 0);
	run_end(blue);
	run_end(red);
}

static void
a_stream_of_progress_ends_with_the_run(void **state)
{
	char id[ULID_SIZE];
	const char *phases[] = {"create", "start"};

	(void)state;
	struct stream *s = stream_open(
	    "/v1/runs", "{" IMAGE "}", "Accept: text/event-stream", NULL);
	assert_int_equal(stream_status(s), 200);
	for (size_t i = 0; i < 2; i++) {
		const struct event *ev = stream_await(s, "progress", END_MS);

		assert_non_null(ev);
		json_auto_t *said = json_loads(ev->data, 0, NULL);
		assert_string_equal(text(said, "phase"), phases[i]);
	}
	const struct event *run = stream_await(s, "run", END_MS);
	assert_non_null(run);
	json_auto_t *said = json_loads(run->data, 0, NULL);
	(void)snprintf(id, sizeof(id), "%s", text(said, "id"));
	assert_string_equal(text(said, "state"), "running");
	assert_string_equal(text(said, "server"), "test-box");
	assert_null(stream_next(s, END_MS));
	stream_close(s);
	run_end(id);

	/* What validation refuses is a plain problem. */
	REPLY_AUTO r = http_do("POST", "/v1/runs", "{\"image\":5}",
	    "Accept: text/event-stream", NULL);
	check_problem(&r, 400, NULL, "image");
}

/* Left at any moment, a creation is undone. */
static void
a_client_that_leaves_undoes_the_creation(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct stream *s = stream_open("/v1/runs", "{" IMAGE "}",
		    "Accept: text/event-stream", NULL);

		/* Gone after none, one or two progress events. */
		for (int k = 0; k < i % 3; k++)
			assert_non_null(stream_await(s, "progress", END_MS));
		stream_close(s);
	}
	wait_until(docker_count() == 0, END_MS);
	wait_until(!redis_has("sbx:run:"), END_MS);
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	assert_int_equal(json_array_size(json_at(list.json, "runs")), 0);
	check_nothing_made();
}

static void
runs_made_at_the_same_time_are_all_there(void **state)
{
	struct stream *s[6];

	(void)state;
	for (int i = 0; i < 6; i++)
		s[i] = stream_open("/v1/runs", "{" IMAGE "}",
		    "Accept: text/event-stream", NULL);
	for (int i = 0; i < 6; i++) {
		const struct event *run = stream_await(s[i], "run", END_MS);

		assert_non_null(run);
		json_auto_t *said = json_loads(run->data, 0, NULL);
		REPLY_AUTO get =
		    http_do("GET", run_url(text(said, "id"), ""), NULL, NULL);
		assert_int_equal(get.status, 200);
		run_end(text(said, "id"));
		stream_close(s[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_wrong_is_named_and_nothing_is_made),
	    cmocka_unit_test(labels_have_ceilings),
	    cmocka_unit_test(null_and_zero_values_are_the_defaults),
	    cmocka_unit_test(the_container_is_as_promised),
	    cmocka_unit_test(an_open_run_has_the_default_bridge),
	    cmocka_unit_test(
		entrypoint_command_and_healthcheck_of_the_image_do_not_run),
	    cmocka_unit_test(anonymous_volumes_go_with_their_run),
	    cmocka_unit_test(labels_are_shown_and_filter_the_list),
	    cmocka_unit_test(a_stream_of_progress_ends_with_the_run),
	    cmocka_unit_test(a_client_that_leaves_undoes_the_creation),
	    cmocka_unit_test(runs_made_at_the_same_time_are_all_there),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
