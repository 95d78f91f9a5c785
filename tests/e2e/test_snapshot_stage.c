/* Snapshots that take a staging container: of runs with a warm volume, and of
 * images near the engine's limit of layers. */
#include "harness.h"
#include "snapshots.h"

#include <stdio.h>
#include <string.h>

#define LAYERS_MAX 120 /* of a snapshot that is not flat */

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	image_need(IMAGE_WORKDIR);
	image_need(IMAGE_VOLUME);
	image_need(IMAGE_DEEP);
	return 0;
}

static void
run_warm(const char *image, const char *path, char id[ULID_SIZE])
{
	run_from(json_pack("{s:s,s:{s:s,s:s}}", "image", image, "warm", "repo",
		     "snap/shots", "path", path),
	    id);
}

static json_int_t
layers(const char *image)
{
	json_auto_t *made = snapshot_inspect(image);

	return (json_int_t)json_array_size(json_at(made, "RootFS.Layers"));
}

/* -- warm ------------------------------------------------------------------ */

/* Without what an overlay (how many links a directory has), or the engine when
 * it fills a volume (the times of directories), has ideas of its own of. */
static const char look[] =
    "cd /work && find . -exec stat -c '%n %F %a %u:%g %s' {} + | sort && "
    "find . ! -type d -exec stat -c '%n %Y' {} + | sort && "
    "find . -type f -exec md5sum {} + | sort && readlink link && "
    "[ d/x -ef d/hard ] && echo linked";

static void
a_warm_volume_is_in_it_as_it_was(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	run_warm(IMAGE_USER, "/work", id);
	run_says(id,
	    "cd /work; mkdir -p .git d/empty; echo ref >.git/HEAD; echo x "
	    ">d/x; "
	    "ln d/x d/hard; ln -s d/x link; chmod 2750 d; chmod 400 d/x; "
	    "touch -d @1000000007 d/x; echo '{}' >package-lock.json; "
	    "dd if=/dev/zero of=holes bs=1 count=0 seek=5000000 2>/dev/null; "
	    "mkdir \"$(printf 'n\\377')\"; echo out >/user/outside",
	    "");
	EXECUTED_AUTO before = exec_sh(id, look);
	assert_non_null(strstr(before.out.data, "linked"));
	REPLY_AUTO r = http_do("POST", run_url(id, "snapshot"), "{}", NULL);
	assert_int_equal(r.status, 201);
	assert_string_equal(
	    json_string_value(json_at(r.json, "warmPath")), "/work");
	assert_true(
	    stack_gvisor() || json_object_get(r.json, "excludes") == NULL);
	(void)snprintf(image, sizeof(image), "%s",
	    json_string_value(json_at(r.json, "image")));
	assert_int_equal(
	    json_integer_value(json_at(r.json, "layers")), layers(image));
	run_says(id, "echo on", "on\n");
	run_end(id);
	/* Without a volume, and with one. */
	run_new(image, id);
	EXECUTED_AUTO plain = exec_sh(id, look);
	assert_string_equal(plain.out.data, before.out.data);
	run_says(id, "cat /user/outside; id -u", "out\n1000\n");
	run_end(id);
	run_warm(image, "/work", id);
	EXECUTED_AUTO warm = exec_sh(id, look);
	assert_string_equal(warm.out.data, before.out.data);
	run_end(id);
	snapshot_end(image);
}

/* Nothing comes back: neither of the image under the volume, nor of an earlier
 * snapshot, nor a working directory that was removed. */
static void
what_the_volume_has_not_is_not_in_it(void **state)
{
	char id[ULID_SIZE], one[SNAPSHOT_SIZE], two[SNAPSHOT_SIZE];
	char spelt[SNAPSHOT_SIZE + 20];

	(void)state;
	run_new(IMAGE_WORKDIR, id);
	run_says(id,
	    "mkdir -p /opt/r; cd /opt/r; echo a >a; mkdir d; echo b >d/b", "");
	snapshot_take(id, one);
	run_end(id);
	run_warm(one, "/opt/r", id);
	run_says(id, "cd /opt/r; cat a d/b; rm -r a d; echo c >c; rm -r /srv",
	    "a\nb\n");
	snapshot_take(id, two);
	run_end(id);
	snapshot_end(one);
	run_new(two, id);
	run_says(id, "find /opt /srv 2>&1; true",
	    "/opt\n/opt/r\n/opt/r/c\nfind: /srv: No such file or directory\n");
	run_end(id);
	/* However its name is spelt, it is what fills a volume. */
	(void)snprintf(spelt, sizeof(spelt), "docker.io/library/%s", two);
	run_warm(spelt, "/opt/r", id);
	run_says(id, "cat /opt/r/c", "c\n");
	run_end(id);
	snapshot_end(two);
}

/* The image's VOLUME is where the warm volume is: a staging container would
 * have a volume there as well. */
static void
a_warm_volume_over_a_volume_of_the_image_is_in_it(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	run_warm(IMAGE_VOLUME, "/data", id);
	run_says(id, "echo x >/data/x; echo y >/work/y", "");
	REPLY_AUTO r = http_do("POST", run_url(id, "snapshot"), NULL, NULL);
	assert_int_equal(r.status, 201);
	assert_true(
	    stack_gvisor() || json_object_get(r.json, "excludes") == NULL);
	(void)snprintf(image, sizeof(image), "%s",
	    json_string_value(json_at(r.json, "image")));
	run_end(id);
	json_auto_t *made = snapshot_inspect(image);
	assert_non_null(
	    json_object_get(json_at(made, "Config.Volumes"), "/data"));
	run_warm(image, "/data", id);
	run_says(id, "cat /data/x /work/y", "x\ny\n");
	run_end(id);
	snapshot_end(image);
}

/* -- layers ---------------------------------------------------------------- */

/* Each of the last: what a run wrote and removed holds in the next. */
static void
snapshots_of_snapshots_do_not_run_out_of_layers(void **state)
{
	static const json_int_t depth[] = {LAYERS_MAX, 1, 2};
	char id[ULID_SIZE], image[SNAPSHOT_SIZE] = IMAGE_DEEP;
	char last[SNAPSHOT_SIZE] = "", cmd[200], want[80];

	(void)state;
	for (int i = 0; i < 3; i++) {
		run_new(image, id);
		(void)snprintf(cmd, sizeof(cmd),
		    "ls /layers | wc -l; cat /work/n; rm /layers/%d; "
		    "echo %d >/work/n",
		    i + 2, i + 1);
		if (i == 0)
			run_says(id, "echo 0 >/work/n", "");
		(void)snprintf(want, sizeof(want), "%d\n%d\n",
		    IMAGE_DEEP_LAYERS - 3 - i, i);
		run_says(id, cmd, want);
		snapshot_take(id, image);
		run_end(id);
		snapshot_end(last);
		(void)snprintf(last, sizeof(last), "%s", image);
		assert_int_equal(layers(image), depth[i]);
	}
	json_auto_t *made = snapshot_inspect(image);
	assert_string_equal(
	    json_string_value(json_at(made, "Config.Cmd.0")), "sh");
	snapshot_end(image);
	assert_int_equal(snapshot_images(), 0);
}

static void
a_flat_one_has_the_warm_volume_too(void **state)
{
	char id[ULID_SIZE], image[SNAPSHOT_SIZE];

	(void)state;
	run_warm(IMAGE_DEEP, "/work", id);
	run_says(id, "echo 1 >/work/1; echo x >/etc/x; rm /layers/2", "");
	snapshot_take(id, image);
	assert_int_equal(layers(image), 2);
	run_end(id);
	run_new(image, id);
	run_says(id, "ls /work; cat /etc/x; ls /layers | wc -l", "1\nx\n115\n");
	run_end(id);
	snapshot_end(image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_warm_volume_is_in_it_as_it_was),
	    cmocka_unit_test(what_the_volume_has_not_is_not_in_it),
	    cmocka_unit_test(a_warm_volume_over_a_volume_of_the_image_is_in_it),
	    cmocka_unit_test(snapshots_of_snapshots_do_not_run_out_of_layers),
	    cmocka_unit_test(a_flat_one_has_the_warm_volume_too),
	};

	return cmocka_run_group_tests_name(
	    "snapshot_stage", tests, setup, stack_stop);
}
