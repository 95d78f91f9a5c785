/*
 * SIGKILL to the workers, the reaper or Redis at random moments of eight
 * stories that go on side by side; then every story is as its client was told,
 * and in the end nothing is left. The moments are of a seed: SBX_TEST_SEED=N.
 */
#include "harness.h"
#include "kill_copies.h"
#include "kill_story.h"
#include "templates.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 21
#define WORKERS 2 /* in each pool */
#define STORIES 8
#define SNAPSHOTS 12 /* rounds that have one; what is left goes in a minute */
#define START_MS 250 /* within which a round's stories begin */
#define KILL_MS 900  /* within which the kill comes */
#define RETRY_MS 60000
#define END_MS 60000

static char fought[ULID_SIZE]; /* a run that is taken by force */
static json_int_t generation;  /* of its last lease */
static unsigned seed;
static pid_t old[16]; /* of the kind that is killed */
static size_t old_count;

/* -- asking --------------------------------------------------------------- */

static void
take_id(struct telling *t, const struct reply *r)
{
	const char *id = json_string_value(json_object_get(r->json, "id"));

	(void)snprintf(t->id, sizeof(t->id), "%s", id != NULL ? id : "");
}

/* -- the stories ---------------------------------------------------------- */

static void
create(struct telling *t, const char *more)
{
	char body[300];

	(void)snprintf(body, sizeof(body),
	    "{\"image\":\"" IMAGE_PLAIN "\",\"labels\":{\"mark\":\"%s\"}%s}",
	    t->mark, more);
	REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
	t->status = r.status;
	if (r.status == 201)
		take_id(t, &r);
	else if (!kill_down(t, &r))
		kill_wrong(t, "create", &r);
}

static void
tell_create(struct telling *t)
{
	/* It has the most parts: a network, a proxy. */
	create(t, ",\"network\":\"allowlist\"");
}

static void
tell_init(struct telling *t)
{
	create(t, ",\"init\":{\"cmd\":\"sleep 0.1; echo made >made\"}");
}

/* Again and again until there is an answer: there is one run. */
static void
tell_key(struct telling *t)
{
	int64_t deadline = clock_mono_ms() + RETRY_MS;
	char key[80], body[200];

	(void)snprintf(key, sizeof(key), "Idempotency-Key: %s", t->mark);
	(void)snprintf(body, sizeof(body),
	    "{\"image\":\"" IMAGE_PLAIN "\",\"labels\":{\"mark\":\"%s\"}}",
	    t->mark);
	do {
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, key, NULL);

		t->status = r.status;
		if (r.status == 200 || r.status == 201)
			take_id(t, &r);
		else if (!kill_down(t, &r))
			kill_wrong(t, "create with a key", &r);
		else
			(void)poll(NULL, 0, 50);
	} while (t->id[0] == '\0' && t->fault[0] == '\0' &&
		 clock_mono_ms() < deadline);
}

static void
tell_exec(struct telling *t)
{
	char body[200], path[100];
	const struct event *ev;

	(void)snprintf(body, sizeof(body),
	    "{\"cmd\":\"echo a; sleep 0.3; echo b; exit 3 # %s\"}", t->mark);
	(void)snprintf(path, sizeof(path), "/v1/runs/%s/exec", kill_resident);
	struct stream *s = stream_open(path, body, NULL);
	t->status = stream_status(s);
	while (t->status == 200 && (ev = stream_next(s, END_MS)) != NULL) {
		if (str_eq(ev->name, "stdout"))
			(void)strncat(t->out, ev->data,
			    sizeof(t->out) - strlen(t->out) - 1);
		if (!str_eq(ev->name, "exit"))
			continue;
		json_t *end = json_loads(ev->data, 0, NULL);
		t->code = json_integer_value(json_object_get(end, "exitCode"));
		json_decref(end);
	}
	stream_close(s);
}

static void
tell_delete(struct telling *t)
{
	int64_t deadline = clock_mono_ms() + RETRY_MS;
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/runs/%s", t->id);
	do {
		REPLY_AUTO r = http_do("DELETE", path, NULL, NULL);

		t->status = r.status;
		if (r.status == 204 || r.status == 404)
			return;
		if (!kill_down(t, &r))
			kill_wrong(t, "delete", &r);
		(void)poll(NULL, 0, 50);
	} while (t->fault[0] == '\0' && clock_mono_ms() < deadline);
}

/* Busy for good is no answer; what another try of ours left (its worker was
 * killed as it waited) passes. */
static void
tell_force(struct telling *t)
{
	int64_t deadline = clock_mono_ms() + RETRY_MS;
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/runs/%s/lease", fought);
	do {
		REPLY_AUTO r = http_do("POST", path,
		    "{\"owner\":\"me\",\"ttlSec\":600,\"force\":true}", NULL);

		t->status = r.status;
		if (r.status == 200) {
			t->grant = json_integer_value(json_object_get(
			    json_object_get(r.json, "lease"), "generation"));
			return;
		}
		if (r.status != 409 && !kill_down(t, &r))
			kill_wrong(t, "force", &r);
		(void)poll(NULL, 0, 50);
	} while (t->fault[0] == '\0' && clock_mono_ms() < deadline);
}

static void *
tell(void *arg)
{
	struct telling *t = arg;

	(void)poll(NULL, 0, t->start_ms);
	t->tell(t);
	return NULL;
}

/* -- killing -------------------------------------------------------------- */

/* The marks of dead workers lapse within 15 s, the keys that they made as well.
 * With no worker alive all of them are theirs: 15 s pass at once. */
static void
pass_marks(void)
{
	static const char script[] =
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:inflight:*')) do "
	    "redis.call('DEL', k) end "
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:idem:*')) do "
	    "if string.find(redis.call('GET', k), '^making') then "
	    "redis.call('DEL', k) end end "
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:run:*')) do "
	    "if redis.call('HEXISTS', k, 'holdUntil') == 1 then "
	    "redis.call('HSET', k, 'holdUntil', 1) end end return 0";

	freeReplyObject(redis_do("EVAL %s 0", script));
}

static void
kill_workers(void)
{
	pid_t master;

	assert_int_equal(stack_pids(STACK_MASTER, &master, 1), 1);
	assert_int_equal(kill(master, SIGSTOP), 0);
	old_count = stack_pids(STACK_STREAM, old, 16);
	stack_kill(STACK_STREAM);
	stack_kill(STACK_CONTROL);
	pass_marks();
	assert_int_equal(kill(master, SIGCONT), 0);
	wait_until(stack_new(STACK_STREAM, old, old_count) == WORKERS, END_MS);
}

static void
kill_reaper(void)
{
	old_count = stack_pids(STACK_REAPER, old, 16);
	stack_kill(STACK_REAPER);
	wait_until(stack_new(STACK_REAPER, old, old_count) == 1, END_MS);
}

static void
kill_redis(void)
{
	old_count = stack_pids(STACK_REDIS, old, 16);
	stack_kill(STACK_REDIS);
	wait_until(stack_new(STACK_REDIS, old, old_count) == 1, END_MS);
}

/* In turn: what dies again within 10 s is started the later. */
static const struct {
	const char *name;
	void (*kill)(void);
} victims[] = {
    {"the workers", kill_workers},
    {"Redis", kill_redis},
    {"the reaper", kill_reaper},
};

#define VICTIMS (sizeof(victims) / sizeof(victims[0]))

/* -- looking -------------------------------------------------------------- */

static void
check_run(const char *id, const char *command)
{
	REPLY_AUTO r = http_do("GET", run_url(id, ""), NULL, NULL);

	if (r.status != 200 ||
	    !str_eq(json_string_value(json_at(r.json, "state")), "running"))
		fail_msg("a run that was made: %ld %s", r.status, r.body.data);
	EXECUTED_AUTO x = exec_sh(id, command);
	assert_int_equal(exit_code(&x), 0);
}

/* How many runs have that label. */
static size_t
marked_runs(const char *mark)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/runs?label=mark:%s", mark);
	REPLY_AUTO r = http_do("GET", path, NULL, NULL);
	assert_int_equal(r.status, 200);
	return json_array_size(json_at(r.json, "runs"));
}

static void
check_exec(const struct telling *t, bool cut)
{
	if (t->code == -99 && (cut || t->status != 200))
		return;
	assert_int_equal(t->code, 3);
	assert_string_equal(t->out, "a\nb\n");
}

static void
check_force(const struct telling *t)
{
	assert_true(t->grant > generation);
	generation = t->grant;
	REPLY_AUTO r = http_json("POST", run_url(fought, "lease/release"),
	    json_pack("{s:s,s:I}", "owner", "me", "generation", generation));
	assert_int_equal(r.status, 204);
}

/* Every run but those that stay is deleted, known or not: who was told
 * nothing may have one all the same. */
static void
delete_others(void)
{
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	json_t *one;
	size_t i;

	assert_int_equal(list.status, 200);
	json_array_foreach(json_object_get(list.json, "runs"), i, one)
	{
		const char *id = json_string_value(json_at(one, "id"));

		if (str_eq(id, kill_resident) || str_eq(id, fought) ||
		    str_eq(id, kill_kept))
			continue;
		REPLY_AUTO r = http_do("DELETE", run_url(id, ""), NULL, NULL);
		if (r.status != 204 && r.status != 404)
			fail_msg("delete: %ld %s", r.status, r.body.data);
	}
}

/* -- rounds --------------------------------------------------------------- */

enum { CREATE, INIT, KEY, EXEC, DELETE, FORCE, COMMIT, SNAPSHOT };

static void (*const stories[STORIES])(struct telling *t) = {tell_create,
    tell_init, tell_key, tell_exec, tell_delete, tell_force, kill_commit,
    kill_snapshot};

static void
check_round(const struct telling *t, int round, bool workers)
{
	for (int i = 0; i < STORIES; i++)
		if (t[i].fault[0] != '\0')
			fail_msg("%s", t[i].fault);
	if (t[CREATE].id[0] != '\0')
		check_run(t[CREATE].id, "true");
	if (t[INIT].id[0] != '\0')
		check_run(t[INIT].id, "grep -q made made");
	assert_true(t[KEY].id[0] != '\0');
	check_run(t[KEY].id, "true");
	assert_int_equal(marked_runs(t[KEY].mark), 1);
	check_exec(&t[EXEC], workers);
	assert_true(t[DELETE].status == 204 || t[DELETE].status == 404);
	assert_null(docker_container(t[DELETE].id));
	assert_int_equal(t[FORCE].status, 200);
	check_force(&t[FORCE]);
	kill_check_commit(&t[COMMIT], round);
	kill_check_snapshot(&t[SNAPSHOT]);
	wait_until(proc_count(t[EXEC].mark) == 0, END_MS);
	wait_until(proc_count(t[FORCE].mark) == 0, END_MS);
	delete_others();
}

static void
tell_round(int round)
{
	struct telling t[STORIES];
	size_t victim = (size_t)round % VICTIMS;
	char body[100];

	memset(t, 0, sizeof(t));
	for (int i = 0; i < STORIES; i++) {
		t[i].tell = stories[i];
		t[i].start_ms = rand_r(&seed) % START_MS;
		t[i].code = -99;
		(void)snprintf(t[i].mark, sizeof(t[i].mark), "7%d%d.%d", round,
		    i, (int)getpid());
	}
	run_new(IMAGE_PLAIN, t[DELETE].id);
	(void)snprintf(body, sizeof(body), "echo %d >a; cp a b", round + 1);
	EXECUTED_AUTO x = exec_sh(kill_kept, body);
	assert_int_equal(exit_code(&x), 0);
	(void)snprintf(
	    body, sizeof(body), "{\"cmd\":\"sleep %s\"}", t[FORCE].mark);
	struct stream *s = stream_open(run_url(fought, "exec"), body, NULL);
	assert_int_equal(stream_status(s), 200);
	int kill_ms = rand_r(&seed) % KILL_MS;
	fprintf(stderr, "round %d: %s killed after %d ms\n", round,
	    victims[victim].name, kill_ms);
	int count = round < SNAPSHOTS ? STORIES : SNAPSHOT;
	for (int i = 0; i < count; i++)
		assert_int_equal(
		    pthread_create(&t[i].thread, NULL, tell, &t[i]), 0);
	(void)poll(NULL, 0, kill_ms);
	victims[victim].kill();
	for (int i = 0; i < count; i++)
		(void)pthread_join(t[i].thread, NULL);
	stream_close(s);
	wait_until(stack_ready(), END_MS);
	check_round(t, round, victims[victim].kill == kill_workers);
}

static int
setup(void **state)
{
	static const char *const env[] = {"SBX_EGRESS_MODE=bridge", NULL};
	const char *chosen = getenv("SBX_TEST_SEED");

	(void)state;
	seed = chosen != NULL ? (unsigned)strtoul(chosen, NULL, 10) : 20;
	fprintf(stderr, "seed %u\n", seed);
	stack_start(env);
	image_need(IMAGE_PLAIN);
	run_new(IMAGE_PLAIN, kill_resident);
	run_new(IMAGE_PLAIN, fought);
	REPLY_AUTO r = template_run(IMAGE_PLAIN, "kill/web", NULL, kill_kept);
	return 0;
}

static void
what_clients_were_told_is_so_whoever_is_killed(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++)
		tell_round(round);
}

/* As many containers as records, and the records of runs that live. */
static bool
agrees(void)
{
	return docker_count() == 3 && kill_images() == 0 &&
	       !redis_has("creating") && !redis_has("destroying");
}

/* A minute passes for what is half-made. */
static void
what_was_left_half_made_is_removed(void **state)
{
	static const char script[] =
	    "for _, k in ipairs(redis.call('KEYS', 'sbx:run:*')) do "
	    "local s = redis.call('HGET', k, 'state') "
	    "if s == 'creating' or s == 'destroying' then "
	    "redis.call('ZADD', 'sbx:runs', 1, string.sub(k, 9)) end end "
	    "return 0";

	(void)state;
	freeReplyObject(redis_do("EVAL %s 0", script));
	wait_until(agrees(), 2 * END_MS);
	run_end(kill_resident);
	run_end(fought);
	run_end(kill_kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_clients_were_told_is_so_whoever_is_killed),
	    cmocka_unit_test(what_was_left_half_made_is_removed),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
