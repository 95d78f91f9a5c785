/* Snapshots (CONTRACT 7): what is in one, what it says of itself, what comes of
 * it, and taking it away. */
#include "harness.h"
#include "snapshots.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SECRET "s3cr3t-1b7f"

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	image_need(IMAGE_ENTRY);
	image_need(IMAGE_WORKDIR);
	image_need(IMAGE_VOLUME);
	return 0;
}

/* -- what is in it --------------------------------------------------------- */

/* All over the file system, and of every kind. */
static const char fill[] =
    "set -e; umask 022; cd /work; printf hello >a; mkdir -p d/empty; "
    "printf deep >d/x; chmod 4750 d/x; chown 12:34 a; ln a d/hard; ln -s d/x "
    "link; "
    "ln -s /nowhere/\"$(printf %200d 7)\" long; "
    "chmod 000 d/empty; touch -d @1000000007 d/x; "
    "dd if=/dev/zero of=holes bs=1 count=0 seek=9000000 2>/dev/null; "
    "printf end >>holes; mkdir \"$(printf 'n\\377\\n x')\"; "
    "echo all over >/etc/from-run; mkdir -p /srv/made; "
    "rm -r /user; rm /etc/group; echo hosts >>/etc/passwd";

static const char look[] =
    "cd /work && find . /srv /etc/from-run -exec stat -c '%n %F %a %u:%g %s "
    "%h' {} + | sort && stat -c %Y d/x && md5sum a d/x holes /etc/passwd "
    "/etc/from-run && readlink link long; ls -d /user /etc/group 2>&1; "
    "ls -A /.sbx 2>&1";

static void
a_snapshot_has_what_the_run_wrote_and_not_what_it_removed(void **state)
{
	char id[ULID_SIZE], again[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	run_says(id, fill, "");
	EXECUTED_AUTO before = exec_sh(id, look);
	assert_non_null(strstr(before.out.data, "./holes"));
	snapshot_take(id, image);
	/* The run goes on, and the snapshot does not change with it. */
	run_says(id,
	    "echo later >/work/a; rm -r /work/d /srv/made; cat /work/a",
	    "later\n");
	run_end(id);
	run_new(image, again);
	EXECUTED_AUTO after = exec_sh(again, look);
	assert_string_equal(after.out.data, before.out.data);
	assert_string_equal(after.err.data, before.err.data);
	run_end(again);
	snapshot_end(image);
}

/* Of ours there is an empty directory: looked at without a run over it. */
static void
check_ours_is_empty(const char *image)
{
	char body[200], path[200];

	(void)snprintf(body, sizeof(body),
	    "{\"Image\":\"%s\",\"Entrypoint\":[\"x\"]}", image);
	REPLY_AUTO made = docker_do("POST", "/containers/create", body);
	assert_int_equal(made.status, 201);
	const char *id = json_string_value(json_at(made.json, "Id"));
	(void)snprintf(
	    path, sizeof(path), "/containers/%s/archive?path=/.sbx", id);
	REPLY_AUTO tar = docker_do("GET", path, NULL);
	(void)snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", id);
	REPLY_AUTO removed = docker_do("DELETE", path, NULL);
	assert_int_equal(removed.status, 204);
	assert_int_equal(tar.status, 200);
	/* One header, and the end; a gVisor makes what it mounts on besides. */
	assert_int_equal(tar.body.size, stack_gvisor() ? 2048 : 1536);
}

static void
processes_and_secrets_of_the_run_are_not_in_it(void **state)
{
	char id[ULID_SIZE], again[ULID_SIZE], image[SNAPSHOT_SIZE], path[200];

	(void)state;
	run_from(json_pack("{s:s,s:{s:s},s:{s:s}}", "image", IMAGE_PLAIN, "env",
		     "FROM_RUN", SECRET, "labels", "team", "blue"),
	    id);
	EXECUTED_AUTO x =
	    exec_json(id, json_pack("{s:s,s:{s:s}}", "cmd",
			      "sleep 600 & echo $FROM_RUN $FROM_EXEC", "env",
			      "FROM_EXEC", SECRET "-exec"));
	assert_string_equal(x.out.data, SECRET " " SECRET "-exec\n");
	snapshot_take(id, image);
	json_auto_t *made = snapshot_inspect(image);
	char *text = json_dumps(made, 0);
	assert_null(strstr(text, SECRET));
	free(text);
	(void)snprintf(path, sizeof(path), "/images/%s/history", image);
	REPLY_AUTO history = docker_do("GET", path, NULL);
	assert_null(strstr(history.body.data, SECRET));
	assert_null(strstr(history.body.data, "sbx/init"));
	(void)snprintf(path, sizeof(path), "/images/%s/get", image);
	REPLY_AUTO saved = docker_do("GET", path, NULL);
	assert_int_equal(saved.status, 200);
	assert_null(
	    memmem(saved.body.data, saved.body.size, SECRET, strlen(SECRET)));
	run_end(id);
	check_ours_is_empty(image);
	run_new(image, again);
	run_says(
	    again, "ps | grep -c '[s]leep 600'; echo $FROM_RUN; true", "0\n\n");
	run_end(again);
	snapshot_end(image);
}

static void
a_snapshot_of_a_snapshot_has_both(void **state)
{
	char id[ULID_SIZE], one[SNAPSHOT_SIZE], two[SNAPSHOT_SIZE];

	(void)state;
	run_new(IMAGE_USER, id);
	run_says(id, "echo one >/work/1; echo gone >/work/gone", "");
	snapshot_take(id, one);
	run_end(id);
	run_new(one, id);
	run_says(id, "rm /work/gone; echo two >/work/2; id -u", "1000\n");
	snapshot_take(id, two);
	run_end(id);
	/* Each stands by itself. */
	snapshot_end(one);
	run_new(two, id);
	run_says(id, "cd /work; stat -c '%n %u' *; cat *",
	    "1 1000\n2 1000\none\ntwo\n");
	run_end(id);
	snapshot_end(two);
}

static void
a_run_that_has_exited_can_be_snapshotted(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE], name[ULID_SIZE], path[100];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	run_says(id, "echo kept >/work/a; sync", "");
	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(
	    path, sizeof(path), "/containers/teploy-sbx-%s/kill", name);
	REPLY_AUTO killed = docker_do("POST", path, NULL);
	assert_int_equal(killed.status, 204);
	/* Whether or not that was noticed yet. */
	snapshot_take(id, image);
	run_end(id);
	run_new(image, id);
	run_says(id, "cat /work/a", "kept\n");
	run_end(id);
	snapshot_end(image);
}

/* -- what it says of itself ------------------------------------------------ */

static bool
is_nothing(const json_t *v)
{
	return v == NULL || json_is_null(v) ||
	       (json_is_string(v) && json_string_length(v) == 0) ||
	       (json_is_array(v) && json_array_size(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0);
}

/* Its labels, without ours. */
static json_t *
other_labels(const json_t *config)
{
	json_t *labels = json_object();
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(config, "Labels"), key,
	    value) if (!str_starts(key, "teploy.sandbox"))
	    json_object_set(labels, key, value);
	return labels;
}

static void
check_same_config(const char *base, const char *image)
{
	json_auto_t *was = snapshot_inspect(base);
	json_auto_t *is = snapshot_inspect(image);
	json_t *want = json_object_get(was, "Config");
	json_t *have = json_object_get(is, "Config");
	json_auto_t *labels_want = other_labels(want);
	json_auto_t *labels_have = other_labels(have);
	const char *key;
	json_t *value;

	assert_true(json_equal(labels_want, labels_have));
	(void)json_object_del(want, "Labels");
	(void)json_object_del(have, "Labels");
	json_object_foreach(have, key, value) if (is_nothing(value))
	    json_object_set_new(have, key, json_null());
	json_object_foreach(want, key, value) if (is_nothing(value))
	    json_object_set_new(want, key, json_null());
	if (!json_equal(want, have))
		fail_msg("%s: %s\n, not %s", image, json_dumps(have, 0),
		    json_dumps(want, 0));
}

static void
its_configuration_is_that_of_the_image(void **state)
{
	static const char *const images[] = {
	    IMAGE_PLAIN, IMAGE_USER, IMAGE_ENTRY, IMAGE_WORKDIR, IMAGE_VOLUME};
	char id[ULID_SIZE], one[SNAPSHOT_SIZE], two[SNAPSHOT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		run_new(images[i], id);
		snapshot_take(id, one);
		run_end(id);
		check_same_config(images[i], one);
		if (i == 2) { /* it has most to say */
			run_new(one, id);
			snapshot_take(id, two);
			run_end(id);
			check_same_config(images[i], two);
			snapshot_end(two);
		}
		snapshot_end(one);
	}
}

/* So is /tmp of a gVisor: it is a file system of its own there. */
static void
volumes_of_the_image_are_named_and_left_out(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];
	size_t others = stack_gvisor();

	(void)state;
	run_new(IMAGE_VOLUME, id);
	run_says(id, "echo x >/data/x; echo y >/work/y", "");
	REPLY_AUTO r = http_do("POST", run_url(id, "snapshot"), "{}", NULL);
	assert_int_equal(r.status, 201);
	assert_string_equal(
	    json_string_value(json_at(r.json, "excludes.0")), "/data");
	assert_int_equal(
	    json_array_size(json_at(r.json, "excludes")), 1 + others);
	if (others > 0)
		assert_string_equal(
		    json_string_value(json_at(r.json, "excludes.1")), "/tmp");
	assert_string_equal(json_string_value(json_at(r.json, "run")), id);
	assert_string_equal(
	    json_string_value(json_at(r.json, "baseImage")), IMAGE_VOLUME);
	(void)snprintf(image, sizeof(image), "%s",
	    json_string_value(json_at(r.json, "image")));
	run_end(id);
	run_new(image, id);
	run_says(id, "ls /data; cat /work/y", "y\n");
	run_end(id);
	snapshot_end(image);
}

/* -- the list -------------------------------------------------------------- */

static void
the_list_has_them_oldest_first_until_they_are_deleted(void **state)
{
	char id[ULID_SIZE], one[SNAPSHOT_SIZE], two[SNAPSHOT_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	snapshot_take(id, one);
	snapshot_take(id, two);
	run_end(id);
	REPLY_AUTO list = http_do("GET", "/v1/snapshots", NULL, NULL);
	assert_int_equal(list.status, 200);
	assert_int_equal(json_array_size(json_at(list.json, "snapshots")), 2);
	const json_t *first = json_at(list.json, "snapshots.0");
	assert_string_equal(json_string_value(json_at(first, "image")), one);
	assert_string_equal(
	    json_string_value(json_at(list.json, "snapshots.1.image")), two);
	assert_string_equal(json_string_value(json_at(first, "run")), id);
	assert_int_equal(json_integer_value(json_at(first, "layers")), 2);
	assert_true(json_integer_value(json_at(first, "size")) > 1000000);
	json_auto_t *made = snapshot_inspect(one);
	assert_int_equal(json_array_size(json_at(made, "RootFS.Layers")), 2);
	snapshot_end(one);
	REPLY_AUTO less = http_do("GET", "/v1/snapshots", NULL, NULL);
	assert_int_equal(json_array_size(json_at(less.json, "snapshots")), 1);
	snapshot_end(two);
	assert_int_equal(snapshot_images(), 0);
}

static void
what_is_no_snapshot_of_this_box_is_not_deleted(void **state)
{
	static const char absent[] =
	    "teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8";
	static const char *const bad[] = {"", IMAGE_PLAIN, "teploy-sbx-snap",
	    "teploy-sbx-snap:", "teploy-sbx-snap:latest",
	    "docker.io/library/teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8",
	    "teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8%40sha256:00", "%00"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r = snapshot_delete(bad[i]);
		check_problem(&r, 400, NULL, "image");
	}
	REPLY_AUTO none = snapshot_delete(absent);
	check_problem(&none, 404, "image_not_found", absent);
	/* Somebody else's, by its label. */
	REPLY_AUTO tag = docker_do("POST",
	    "/images/" IMAGE_PLAIN
	    "/tag?repo=teploy-sbx-snap&tag=01ktzb5w4zw7a9rt0e4f4rz2s8",
	    NULL);
	assert_int_equal(tag.status, 201);
	REPLY_AUTO others = snapshot_delete(absent);
	REPLY_AUTO untag = docker_do("DELETE",
	    "/images/teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8", NULL);
	assert_int_equal(untag.status, 200);
	check_problem(&others, 404, "image_not_found", absent);
	/* And never pulled. */
	static const char *const spelt[] = {absent, "teploy-sbx-snap",
	    "library/teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8",
	    "docker.io/library/teploy-sbx-snap:01ktzb5w4zw7a9rt0e4f4rz2s8"};
	for (size_t i = 0; i < sizeof(spelt) / sizeof(spelt[0]); i++) {
		REPLY_AUTO run = http_json(
		    "POST", "/v1/runs", json_pack("{s:s}", "image", spelt[i]));
		check_problem(&run, 404, "image_not_found", "snapshot");
	}
}

static void
a_snapshot_that_a_run_was_made_of_is_kept(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	snapshot_take(id, image);
	run_end(id);
	run_new(image, id);
	REPLY_AUTO r = snapshot_delete(image);
	check_problem(&r, 409, "conflict", "delete the run");
	run_says(id, "echo on", "on\n");
	run_end(id);
	snapshot_end(image);
	REPLY_AUTO again = snapshot_delete(image);
	check_problem(&again, 404, "image_not_found", image);
}

static void
what_is_no_run_is_not_snapshotted(void **state)
{
	(void)state;
	REPLY_AUTO none = http_do("POST",
	    run_url("01KTZB5W4ZW7A9RT0E4F4RZ2S8", "snapshot"), NULL, NULL);
	check_problem(
	    &none, 404, "run_not_found", "01KTZB5W4ZW7A9RT0E4F4RZ2S8");
	REPLY_AUTO odd = http_do("POST", run_url("x", "snapshot"), NULL, NULL);
	check_problem(&odd, 404, "run_not_found", NULL);
	REPLY_AUTO body = http_do("POST",
	    run_url("01KTZB5W4ZW7A9RT0E4F4RZ2S8", "snapshot"), "[1]", NULL);
	check_problem(&body, 400, NULL, "JSON");
}

/* -- a gVisor that keeps files --------------------------------------------- */

/* tests/run gives the engine one such runtime. */
static void
what_the_engine_does_not_see_is_not_snapshotted(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	if (!stack_gvisor()) {
		printf("skipped under runc: there the engine sees all\n");
		skip();
	}
	stack_set("SBX_RUNTIME=runsc-overlay");
	stack_restart(SIGTERM);
	run_new(IMAGE_PLAIN, id);
	run_says(id, "echo x >/work/x", "");
	REPLY_AUTO r = http_do("POST", run_url(id, "snapshot"), NULL, NULL);
	check_problem(&r, 409, "conflict", "--overlay2=none");
	assert_int_equal(snapshot_images(), 0);
	run_says(id, "ls -d /.sbx-probe* 2>/dev/null; cat /work/x", "x\n");
	run_end(id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		a_snapshot_has_what_the_run_wrote_and_not_what_it_removed),
	    cmocka_unit_test(processes_and_secrets_of_the_run_are_not_in_it),
	    cmocka_unit_test(a_snapshot_of_a_snapshot_has_both),
	    cmocka_unit_test(a_run_that_has_exited_can_be_snapshotted),
	    cmocka_unit_test(its_configuration_is_that_of_the_image),
	    cmocka_unit_test(volumes_of_the_image_are_named_and_left_out),
	    cmocka_unit_test(
		the_list_has_them_oldest_first_until_they_are_deleted),
	    cmocka_unit_test(what_is_no_snapshot_of_this_box_is_not_deleted),
	    cmocka_unit_test(a_snapshot_that_a_run_was_made_of_is_kept),
	    cmocka_unit_test(what_is_no_run_is_not_snapshotted),
	    /* the last: its stack is another one */
	    cmocka_unit_test(what_the_engine_does_not_see_is_not_snapshotted),
	};

	return cmocka_run_group_tests_name(
	    "snapshot", tests, setup, stack_stop);
}
