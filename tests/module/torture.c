/* Telling stories. */
#include "torture.h"
#include "../wait.h"
#include "lib/buf.h"
#include "lib/str.h"
#include "torture_client.h"
#include "torture_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISES 8
#define CALLS_MAX 60 /* a story of more calls is none */
#define NOTES_MAX (1u << 16)

static const char *const redis_words[REDIS_FAULTS] = {
    [REDIS_DROP] = "not executed",
    [REDIS_LOSE] = "reply lost",
    [REDIS_LOADING] = "-LOADING",
    [REDIS_FULL] = "-OOM",
    [REDIS_NOSCRIPT] = "-NOSCRIPT",
    [REDIS_DOWN] = "down from here on",
    [REDIS_LATE] = "late",
};

static const char *const model_words[MODEL_FAULTS] = {
    [MODEL_RESET] = "not done",
    [MODEL_LOSE] = "answer lost",
    [MODEL_CUT] = "answer cut",
    [MODEL_REFUSE] = "500",
    [MODEL_LATE] = "late",
    [MODEL_DOWN] = "down from here on",
    [MODEL_HOLD] = "client left",
};

/* Of the telling under way. */
static struct buf notes = BUF_INIT(NOTES_MAX);
static struct {
	char id[ULID_SIZE];
	bool exists;
} promised[PROMISES];
static size_t promises;

static bool brief;
static int told; /* how often, of the story under way */

void
wrong(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	buf_vaddf(&notes, format, ap);
	va_end(ap);
	buf_adds(&notes, "; ");
}

void
promise(const char *id, bool exists)
{
	size_t i = 0;

	while (i < promises && !str_eq(promised[i].id, id))
		i++;
	assert_true(i < PROMISES);
	promises += i == promises;
	(void)snprintf(promised[i].id, sizeof(promised[i].id), "%s", id);
	promised[i].exists = exists;
}

bool
fault_was_brief(void)
{
	return brief;
}

static void
check_promises(void)
{
	for (size_t i = 0; i < promises; i++) {
		SAID_AUTO s =
		    ask_calm("GET", target_of(promised[i].id, ""), NULL, NULL);

		if (!promised[i].exists && s.status != 404)
			wrong("a run that was gone is there: %d", s.status);
		else if (promised[i].exists && !world_runs(promised[i].id))
			wrong("a run that was there is not: %d", s.status);
	}
}

/* Everything of one sort is deleted, as its caller would. */
static void
delete_all(
    const char *list, const char *member, const char *name, const char *where)
{
	SAID_AUTO all = ask_calm("GET", list, NULL, NULL);
	json_t *items = json_object_get(all.json, member);

	for (size_t i = 0; i < json_array_size(items); i++) {
		char target[200];

		(void)snprintf(target, sizeof(target), "%s%s", where,
		    json_string_value(
			json_object_get(json_array_get(items, i), name)));
		SAID_AUTO s = ask_calm("DELETE", target, NULL, NULL);
		if (s.status != 204)
			wrong("%s is not deleted: %d", target, s.status);
	}
}

/* Then nothing is left; bytes in the cache are the reaper's to delete. */
static void
leave(void)
{
	delete_all("/v1/runs", "runs", "id", "/v1/runs/");
	delete_all(
	    "/v1/snapshots", "snapshots", "image", "/v1/snapshots?image=");
	if (world_has_cache()) {
		delete_all(
		    "/v1/warmcache", "templates", "repo", "/v1/warmcache/");
		world_age();
		world_tick(false);
	}
	if (!world_empty())
		wrong("something is left once all is deleted");
}

/* One telling. Returns the call that failed, or NULL. */
static const char *
tell(const struct story *s, size_t n, int redis_how, int model_how)
{
	promises = 0;
	brief = redis_how != REDIS_DOWN && redis_how != REDIS_LATE &&
		model_how != MODEL_DOWN && model_how != MODEL_LATE;
	if (s->prepare != NULL)
		s->prepare();
	if (redis_how >= 0)
		redis_proxy_fail(world.proxy, n, (enum redis_fault)redis_how);
	else
		model_fail(world.model, n, (enum model_fault)model_how);
	s->tell();
	const char *redis_call = redis_proxy_heal(world.proxy);
	const char *model_call = model_heal(world.model);
	if (s->after != NULL)
		s->after();
	world_age();
	world_tick(false);
	world_tick(false);
	world_disagreements(&notes);
	if (s->end != NULL)
		s->end();
	check_promises();
	leave();
	return redis_how >= 0 ? redis_call : model_call;
}

/* Every call of the story in turn. Returns how many tellings went wrong. */
static int
fail_each(const struct story *s, int redis_how, int model_how)
{
	const char *how =
	    redis_how >= 0 ? redis_words[redis_how] : model_words[model_how];
	const char *failed = "";
	int bad = 0;

	for (size_t n = 1; failed != NULL; n++) {
		assert_true(n < CALLS_MAX);
		failed = tell(s, n, redis_how, model_how);
		told++;
		if (notes.size == 0)
			continue;
		bad++;
		fprintf(stderr, "%s, %s call %zu %s (%s): %s\n", s->name,
		    redis_how >= 0 ? "Redis" : "engine", n, how,
		    failed != NULL ? failed : "none failed", notes.data);
		buf_reset(&notes);
	}
	return bad;
}

void
torture(const struct story *s)
{
	int64_t begun = clock_mono_ms();
	int bad = 0;

	told = 0;
	for (int how = 0; how < REDIS_FAULTS; how++)
		if (how != REDIS_LATE || s->late)
			bad += fail_each(s, how, -1);
	for (int how = 0; how < MODEL_FAULTS; how++)
		if (how != MODEL_HOLD || !s->clientless)
			bad += fail_each(s, -1, how);
	buf_release(&notes);
	fprintf(stderr, "%s: told %d times in %lld ms\n", s->name, told,
	    (long long)(clock_mono_ms() - begun));
	assert_int_equal(bad, 0);
}
