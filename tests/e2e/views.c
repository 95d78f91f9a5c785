/* What is listed, what is in Docker, what is in Redis. */
#include "views.h"
#include "../check.h"
#include "../wait.h"
#include "lib/buf.h"
#include "outside.h"
#include "sandbox.h"
#include "stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512

struct view {
	char id[MOST][ULID_SIZE];
	size_t count;
};

static void
add(struct view *v, const char *id)
{
	assert_true(v->count < MOST);
	(void)snprintf(v->id[v->count++], ULID_SIZE, "%s", id ? id : "?");
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
look_at_list(struct view *v)
{
	REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, NULL);
	json_t *run;
	size_t i;

	json_array_foreach(json_object_get(r.json, "runs"), i, run)
	    add(v, json_string_value(json_object_get(run, "id")));
}

static void
look_at_docker(struct view *v)
{
	char path[256];
	json_t *one;
	size_t i;

	(void)snprintf(path, sizeof(path),
	    "/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22"
	    "teploy.sandbox.instance%%3D%s%%22%%5D%%7D",
	    stack.instance);
	REPLY_AUTO r = docker_do("GET", path, NULL);
	json_array_foreach(r.json, i, one)
	{
		const json_t *labels = json_object_get(one, "Labels");
		const char *staging = json_string_value(
		    json_object_get(labels, "teploy.sandbox.staging"));

		/* That one is no run's, and goes by itself. */
		if (staging == NULL || *staging == '\0')
			add(v, json_string_value(json_object_get(
				   labels, "teploy.sandbox.run")));
	}
}

static void
look_at_redis(struct view *v)
{
	redisReply *keys = redis_do("KEYS sbx:run:*");

	for (size_t i = 0; i < keys->elements; i++)
		add(v, keys->element[i]->str + strlen("sbx:run:"));
	freeReplyObject(keys);
}

static bool
same(const struct view *a, const struct view *b)
{
	return a->count == b->count &&
	       memcmp(a->id, b->id, a->count * ULID_SIZE) == 0;
}

static void
look(struct view v[3])
{
	memset(v, 0, 3 * sizeof(*v));
	look_at_list(&v[0]);
	look_at_docker(&v[1]);
	look_at_redis(&v[2]);
	for (int i = 0; i < 3; i++)
		qsort(v[i].id, v[i].count, ULID_SIZE, by_text);
}

bool
views_agree(void)
{
	static struct view v[3];

	look(v);
	return same(&v[0], &v[1]) && same(&v[0], &v[2]);
}

void
views_await(int ms)
{
	static const char *const name[] = {"listed", "in Docker", "in Redis"};
	int64_t deadline = clock_mono_ms() + ms;
	static struct view v[3];
	BUF_AUTO text = BUF_INIT(65536);

	while (!views_agree()) {
		if (clock_mono_ms() < deadline) {
			(void)poll(NULL, 0, 50);
			continue;
		}
		look(v);
		for (int i = 0; i < 3; i++) {
			buf_addf(&text, "\n%s:", name[i]);
			for (size_t k = 0; k < v[i].count; k++)
				buf_addf(&text, " %s", v[i].id[k]);
		}
		fail_msg("the views differ:%s", text.data);
	}
}

const char *
views_state(const char *id)
{
	static char state[32];
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	(void)snprintf(state, sizeof(state), "%s",
	    r.status == 200 ? json_string_value(json_at(r.json, "state")) : "");
	return state;
}
