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

/* Every run is deleted, as its caller would; then nothing is left. */
static void
leave(void)
{
	SAID_AUTO list = ask_calm("GET", "/v1/runs", NULL, NULL);
	json_t *runs = json_object_get(list.json, "runs");

	for (size_t i = 0; i < json_array_size(runs); i++) {
		const char *id = json_string_value(
		    json_object_get(json_array_get(runs, i), "id"));
		SAID_AUTO s = ask_calm("DELETE", target_of(id, ""), NULL, NULL);

		if (s.status != 204)
			wrong("a run is not deleted: %d", s.status);
	}
	if (!world_empty())
		wrong("something is left once all runs are deleted");
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
