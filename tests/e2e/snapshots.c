/* Short cuts for tests of snapshots. */
#include "snapshots.h"
#include "../check.h"
#include "lib/str.h"
#include "outside.h"
#include "sandbox.h"
#include "stack.h"

#include <stdio.h>
#include <string.h>

void
run_says(const char *id, const char *cmd, const char *want)
{
	EXECUTED_AUTO x = exec_sh(id, cmd);

	assert_string_equal(x.err.data, "");
	assert_string_equal(x.out.data, want);
	assert_int_equal(exit_code(&x), 0);
}

void
snapshot_take(const char *id, char ret_image[SNAPSHOT_SIZE])
{
	REPLY_AUTO r = http_do("POST", run_url(id, "snapshot"), NULL, NULL);

	if (r.status != 201)
		fail_msg("snapshot: %ld %s", r.status, r.body.data);
	(void)snprintf(ret_image, SNAPSHOT_SIZE, "%s",
	    json_string_value(json_at(r.json, "image")));
}

struct reply
snapshot_delete(const char *image)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "/v1/snapshots?image=%s", image);
	return http_do("DELETE", path, NULL, NULL);
}

void
snapshot_end(const char *image)
{
	if (*image == '\0')
		return;
	REPLY_AUTO r = snapshot_delete(image);
	if (r.status != 204)
		fail_msg("%s: %ld %s", image, r.status, r.body.data);
}

json_t *
snapshot_inspect(const char *image)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "/images/%s/json", image);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	if (r.status != 200)
		fail_msg("%s: %ld %s", image, r.status, r.body.data);
	return json_incref(r.json);
}

size_t
snapshot_images(void)
{
	char path[256];

	(void)snprintf(path, sizeof(path),
	    "/images/json?filters=%%7B%%22label%%22%%3A%%5B%%22"
	    "teploy.sandbox.snapshot.instance%%3D%s%%22%%5D%%7D",
	    stack.instance);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	assert_int_equal(r.status, 200);
	return json_array_size(r.json);
}
