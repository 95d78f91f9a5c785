/* Copies of runs, while something is killed. */
#include "kill_copies.h"
#include "../check.h"
#include "lib/fd.h"
#include "lib/str.h"
#include "outside.h"
#include "stack.h"

#include <stdio.h>
#include <stdlib.h>

char kill_kept[ULID_SIZE];
char kill_resident[ULID_SIZE];

/* What copies a run and fails leaves it as it was: held by a worker that died,
 * it is so for 15 s. */
static void
copy_run(struct telling *t, const char *path)
{
	REPLY_AUTO r = http_do("POST", path, "{}", NULL);

	t->status = r.status;
	if (r.status == 201)
		(void)snprintf(t->out, sizeof(t->out), "%s",
		    json_object_get(r.json, "image") != NULL
			? json_string_value(json_object_get(r.json, "image"))
			: "");
	else if (r.status != 409 && !kill_down(t, &r))
		kill_wrong(t, path, &r);
}

void
kill_commit(struct telling *t)
{
	char path[100];

	(void)snprintf(
	    path, sizeof(path), "/v1/runs/%s/warm-commit", kill_kept);
	copy_run(t, path);
}

void
kill_snapshot(struct telling *t)
{
	char path[100];

	(void)snprintf(
	    path, sizeof(path), "/v1/runs/%s/snapshot", kill_resident);
	copy_run(t, path);
}

/* A file of the template: the round that it was written in; 0: none. */
static long
template_round(const char *gen, const char *file)
{
	char path[300];
	struct err e = ERR_INIT;

	(void)snprintf(path, sizeof(path), "%s/repos/kill+web/%s/tree/%s",
	    stack_setting("SBX_CACHE_ROOT"), gen, file);
	char *text = fd_read_file(path, 64, NULL, &e);
	long is = text != NULL ? strtol(text, NULL, 10) : 0;
	free(text);
	return is;
}

void
kill_check_commit(const struct telling *t, int round)
{
	REPLY_AUTO r = http_do("GET", "/v1/warmcache/kill/web", NULL, NULL);

	if (r.status == 404 && t->status != 201)
		return;
	assert_int_equal(r.status, 200);
	const char *gen = json_string_value(json_at(r.json, "warm.gen"));
	assert_true(template_round(gen, "a") > 0);
	assert_int_equal(template_round(gen, "a"), template_round(gen, "b"));
	if (t->status == 201)
		assert_int_equal(template_round(gen, "a"), round + 1);
}

void
kill_check_snapshot(const struct telling *t)
{
	REPLY_AUTO r = http_do("GET", "/v1/snapshots", NULL, NULL);
	bool found = false;
	json_t *one;
	size_t i;

	assert_int_equal(r.status, 200);
	json_array_foreach(json_object_get(r.json, "snapshots"), i, one)
	{
		const char *image = json_string_value(json_at(one, "image"));
		char path[120];

		found |= str_eq(image, t->out);
		(void)snprintf(
		    path, sizeof(path), "/v1/snapshots?image=%s", image);
		REPLY_AUTO gone = http_do("DELETE", path, NULL, NULL);
		assert_int_equal(gone.status, 204);
	}
	assert_true(found || t->status != 201);
}

size_t
kill_images(void)
{
	char path[200];

	(void)snprintf(path, sizeof(path),
	    "/images/json?filters=%%7B%%22label%%22%%3A%%5B%%22"
	    "teploy.sandbox.snapshot.instance%%3D%s%%22%%5D%%7D",
	    stack.instance);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	assert_int_equal(r.status, 200);
	return json_array_size(r.json);
}
