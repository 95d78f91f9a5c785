/* What a run is made with and how long it lives: idempotency keys, init,
 * extension, pages of the list, usage and metrics, the memory cap. */
#include "harness.h"
#include "lib/fd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BODY "{\"image\":\"" IMAGE_PLAIN "\",\"ttlSec\":600}"

static int
setup(void **state)
{
	static const char *const env[] = {
	    "SBX_MAX_MEMORY_MB=8192", "SBX_AUTO_EXTEND_WINDOW_SEC=60", NULL};

	(void)state;
	stack_start(env);
	image_need(IMAGE_PLAIN);
	return 0;
}

static const char *
id_of(const struct reply *r)
{
	return json_string_value(json_at(r->json, "id"));
}

/* -- idempotency ---------------------------------------------------------- */

static void *
create_with_key(void *arg)
{
	struct reply *r = arg;

	*r = http_do("POST", "/v1/runs", BODY, "Idempotency-Key: many", NULL);
	return NULL;
}

static void
one_key_makes_one_run_however_many_ask(void **state)
{
	struct reply r[6];
	pthread_t thread[6];
	int made = 0;

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_int_equal(
		    pthread_create(&thread[i], NULL, create_with_key, &r[i]),
		    0);
	for (int i = 0; i < 6; i++)
		(void)pthread_join(thread[i], NULL);
	for (int i = 0; i < 6; i++) {
		made += r[i].status == 201;
		assert_true(r[i].status == 201 || r[i].status == 200);
		assert_string_equal(id_of(&r[i]), id_of(&r[0]));
	}
	assert_int_equal(made, 1);
	assert_int_equal(docker_count(), 1);
	run_end(id_of(&r[0]));
	for (int i = 0; i < 6; i++)
		reply_release(&r[i]);
}

static void
a_key_belongs_to_its_body_and_run(void **state)
{
	(void)state;
	REPLY_AUTO first =
	    http_do("POST", "/v1/runs", BODY, "Idempotency-Key: k", NULL);
	assert_int_equal(first.status, 201);
	/* The same JSON in another spelling is the same body. */
	REPLY_AUTO same = http_do("POST", "/v1/runs",
	    "{ \"ttlSec\" : 600, \"image\" : \"" IMAGE_PLAIN "\" }",
	    "Idempotency-Key: k", NULL);
	assert_int_equal(same.status, 200);
	assert_string_equal(id_of(&same), id_of(&first));
	REPLY_AUTO other = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN "\"}", "Idempotency-Key: k", NULL);
	check_problem(&other, 409, "conflict", "another body");
	run_end(id_of(&first));
	REPLY_AUTO gone =
	    http_do("POST", "/v1/runs", BODY, "Idempotency-Key: k", NULL);
	check_problem(&gone, 410, "gone", "use a new key");
}

static void
a_failed_making_frees_its_key(void **state)
{
	static const char bad[] =
	    "{\"image\":\"" IMAGE_PLAIN "\",\"init\":{\"cmd\":\"exit 1\"}}";

	(void)state;
	REPLY_AUTO failed =
	    http_do("POST", "/v1/runs", bad, "Idempotency-Key: f", NULL);
	assert_int_equal(failed.status, 422);
	REPLY_AUTO made =
	    http_do("POST", "/v1/runs", BODY, "Idempotency-Key: f", NULL);
	assert_int_equal(made.status, 201);
	run_end(id_of(&made));
}

static void
a_bad_key_is_refused_and_no_secret_is_kept(void **state)
{
	char key[160] = "Idempotency-Key: ";

	(void)state;
	memset(key + strlen(key), 'k', 129);
	REPLY_AUTO r = http_do("POST", "/v1/runs", BODY, key, NULL);
	check_problem(&r, 400, "invalid_input", "Idempotency-Key");
	REPLY_AUTO made = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN
	    "\",\"env\":{\"TOKEN\":\"s3cr3t-of-a-body\"}}",
	    "Idempotency-Key: s", NULL);
	assert_int_equal(made.status, 201);
	assert_false(redis_has("s3cr3t-of-a-body"));
	run_end(id_of(&made));
}

static bool
listed(size_t count)
{
	REPLY_AUTO r = http_do("GET", "/v1/runs", NULL, NULL);

	return json_array_size(json_at(r.json, "runs")) == count;
}

/* Without a key the creation is undone, with one it is finished. */
static void
a_client_that_leaves_decides_by_its_key(void **state)
{
	static const char *const slow[] = {
	    "{\"image\":\"" IMAGE_PLAIN "\",\"init\":{\"cmd\":\"sleep 100\"}}",
	    "{\"image\":\"" IMAGE_PLAIN "\",\"init\":{\"cmd\":\"sleep 2\"}}"};

	(void)state;
	for (int keyed = 0; keyed < 2; keyed++) {
		struct stream *s = stream_open("/v1/runs", slow[keyed],
		    "Accept: text/event-stream",
		    keyed ? "Idempotency-Key: left" : NULL, NULL);
		assert_int_equal(stream_status(s), 200);
		const struct event *ev;
		do
			ev = stream_await(s, "progress", 30000);
		while (ev != NULL && strstr(ev->data, "init") == NULL);
		assert_non_null(ev);
		stream_close(s);
		if (!keyed)
			wait_until(docker_count() == 0, 20000);
	}
	wait_until(listed(1), 20000);
	REPLY_AUTO again =
	    http_do("POST", "/v1/runs", slow[1], "Idempotency-Key: left", NULL);
	assert_int_equal(again.status, 200);
	run_end(id_of(&again));
}

/* -- init ------------------------------------------------------------------ */

static void
init_runs_before_anybody_else(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(
	    json_pack("{s:s, s:{s:s}, s:{s:s}}", "image", IMAGE_PLAIN, "init",
		"cmd", "pwd >where; echo $WHO >who", "env", "WHO", "anna"),
	    id);
	EXECUTED_AUTO x = exec_sh(id, "cat where who");
	assert_string_equal(x.out.data, "/work\nanna\n");
	run_end(id);
}

static void
a_failed_init_destroys_the_run_and_tells(void **state)
{
	static const char *const rows[][2] = {
	    {"{\"cmd\":\"echo a; echo the end >&2; exit 4\"}",
		"exit code 4. The end of its output: a\nthe end"},
	    {"{\"cmd\":\"sleep 60\",\"timeoutSec\":1}", "in time"},
	    {"{\"cmd\":\"kill -9 $$\"}", "exit code 137"},
	    {"{\"cmd\":\"seq 300000; echo the end; exit 1\"}", "the end"},
	    {"{\"cmd\":\"head -c 9999 /dev/zero; echo the end; exit 1\"}",
		"the end"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char body[256];

		(void)snprintf(body, sizeof(body),
		    "{\"image\":\"" IMAGE_PLAIN "\",\"init\":%s}", rows[i][0]);
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
		check_problem(&r, 422, "init_failed", rows[i][1]);
		assert_int_equal(docker_count(), 0);
	}
}

/* -- time to live ---------------------------------------------------------- */

static void
a_run_is_extended_and_a_day_at_most(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	REPLY_AUTO now = http_do("GET", run_url(id, ""), NULL, NULL);
	REPLY_AUTO shorter =
	    http_do("POST", run_url(id, "extend"), "{\"ttlSec\":1}", NULL);
	assert_int_equal(shorter.status, 200);
	assert_string_equal(json_string_value(json_at(now.json, "expiresAt")),
	    json_string_value(json_at(shorter.json, "expiresAt")));
	REPLY_AUTO longer =
	    http_do("POST", run_url(id, "extend"), "{\"ttlSec\":86400}", NULL);
	REPLY_AUTO again =
	    http_do("POST", run_url(id, "extend"), "{\"ttlSec\":86400}", NULL);
	assert_true(
	    strcmp(json_string_value(json_at(now.json, "expiresAt")),
		json_string_value(json_at(longer.json, "expiresAt"))) < 0);
	/* Both were clamped to the same instant. */
	assert_string_equal(
	    json_string_value(json_at(longer.json, "expiresAt")),
	    json_string_value(json_at(again.json, "expiresAt")));
	run_end(id);
	REPLY_AUTO absent =
	    http_do("POST", run_url(id, "extend"), "{\"ttlSec\":9}", NULL);
	check_problem(&absent, 404, "run_not_found", NULL);
}

static void
work_extends_a_run_that_asked_for_it(void **state)
{
	char plain[ULID_SIZE], automatic[ULID_SIZE];

	(void)state;
	run_from(
	    json_pack("{s:s, s:i}", "image", IMAGE_PLAIN, "ttlSec", 50), plain);
	run_from(json_pack("{s:s, s:i, s:b}", "image", IMAGE_PLAIN, "ttlSec",
		     50, "autoExtend", 1),
	    automatic);
	REPLY_AUTO before = http_do("GET", run_url(automatic, ""), NULL, NULL);
	REPLY_AUTO fixed = http_do("GET", run_url(plain, ""), NULL, NULL);
	EXECUTED_AUTO x = exec_sh(automatic, "true");
	EXECUTED_AUTO y = exec_sh(plain, "true");
	assert_int_equal(exit_code(&x), 0);
	assert_int_equal(exit_code(&y), 0);
	REPLY_AUTO after = http_do("GET", run_url(automatic, ""), NULL, NULL);
	REPLY_AUTO same = http_do("GET", run_url(plain, ""), NULL, NULL);
	assert_true(
	    strcmp(json_string_value(json_at(before.json, "expiresAt")),
		json_string_value(json_at(after.json, "expiresAt"))) < 0);
	assert_string_equal(json_string_value(json_at(fixed.json, "expiresAt")),
	    json_string_value(json_at(same.json, "expiresAt")));
	run_end(plain);
	run_end(automatic);
}

/* -- the list -------------------------------------------------------------- */

static void
the_list_comes_in_pages_and_by_label(void **state)
{
	char id[5][ULID_SIZE];
	size_t seen = 0;
	char path[128] = "/v1/runs?limit=2";

	(void)state;
	for (int i = 0; i < 5; i++)
		run_from(json_pack("{s:s, s:{s:s}}", "image", IMAGE_PLAIN,
			     "labels", "team", i % 2 ? "red" : "blue"),
		    id[i]);
	for (;;) {
		REPLY_AUTO page = http_do("GET", path, NULL, NULL);
		const json_t *runs = json_at(page.json, "runs");
		const json_t *next = json_object_get(page.json, "nextCursor");

		assert_int_equal(page.status, 200);
		for (size_t i = 0; i < json_array_size(runs); i++)
			assert_string_equal(json_string_value(json_object_get(
						json_array_get(runs, i), "id")),
			    id[seen++]);
		if (next == NULL)
			break;
		assert_int_equal(json_array_size(runs), 2);
		(void)snprintf(path, sizeof(path), "/v1/runs?limit=2&cursor=%s",
		    json_string_value(next));
	}
	assert_int_equal(seen, 5);
	REPLY_AUTO red = http_do("GET", "/v1/runs?label=team:red", NULL, NULL);
	assert_int_equal(json_array_size(json_at(red.json, "runs")), 2);
	assert_string_equal(
	    json_string_value(json_at(red.json, "runs.0.labels.team")), "red");
	for (int i = 0; i < 5; i++)
		run_end(id[i]);
}

static void
bad_queries_of_the_list_are_named(void **state)
{
	static const char *const rows[][2] = {{"limit=0", "limit"},
	    {"limit=1001", "limit"}, {"limit=x", "limit"},
	    {"cursor=x", "cursor"}, {"label=x", "label"},
	    {"label=%zz", "label"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/v1/runs?%s", rows[i][0]);
		REPLY_AUTO r = http_do("GET", path, NULL, NULL);
		check_problem(&r, 400, "invalid_input", rows[i][1]);
	}
}

/* -- the box --------------------------------------------------------------- */

static void *
create_large(void *arg)
{
	struct reply *r = arg;

	*r = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN "\",\"limits\":{\"memoryMb\":5000}}",
	    NULL);
	return NULL;
}

static void
two_creates_cannot_both_take_the_last_memory(void **state)
{
	struct reply r[4];
	pthread_t thread[4];
	int made = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
		    pthread_create(&thread[i], NULL, create_large, &r[i]), 0);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++) {
		if (r[i].status == 201)
			made++;
		else
			check_problem(
			    &r[i], 409, "capacity", "SBX_MAX_MEMORY_MB");
	}
	assert_int_equal(made, 1);
	assert_int_equal(docker_count(), 1);
	REPLY_AUTO usage = http_do("GET", "/v1/usage", NULL, NULL);
	assert_int_equal(
	    json_integer_value(json_at(usage.json, "memory.reservedMb")), 5000);
	assert_int_equal(
	    json_integer_value(json_at(usage.json, "memory.limitMb")), 8192);
	assert_int_equal(
	    json_integer_value(json_at(usage.json, "runs.running")), 1);
	assert_true(
	    json_integer_value(json_at(usage.json, "workers.total")) > 0);
	for (int i = 0; i < 4; i++) {
		if (r[i].status == 201)
			run_end(id_of(&r[i]));
		reply_release(&r[i]);
	}
}

static bool
counted(const char *line)
{
	REPLY_AUTO r = http_do("GET", "/metrics", NULL, NULL);

	assert_int_equal(r.status, 200);
	return strstr(r.body.data, line) != NULL;
}

static void
metrics_count_for_the_whole_box(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		REPLY_AUTO r = http_do("GET", "/v1/usage?n=1", NULL, NULL);
		assert_int_equal(r.status, 200);
	}
	/* 21: one was asked for by the test before. */
	wait_until(counted("sbx_requests_total{route=\"GET /v1/usage\","
			   "status=\"200\"} 21\n"),
	    30000);
	assert_true(counted("sbx_runs{state=\"running\"} 0\n"));
	assert_true(counted("sbx_sweeps_total{sweep=\"expire\","));
	REPLY_AUTO bare =
	    http_do("GET", "/metrics", NULL, "Authorization:", NULL);
	assert_int_equal(bare.status, 401);
}

/* Every name that begins with sbx_ in a file of systemd/monitoring. */
static void
names_are_figures(const char *file, const char *metrics)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	struct err e = ERR_INIT;
	char *text = fd_read_file(file, 1 << 20, NULL, &e);
	const char *at = text;
	char name[128];
	int names = 0;

	assert_non_null(text);
	for (; (at = strstr(at, "sbx_")) != NULL; at += strspn(at, letters)) {
		(void)snprintf(
		    name, sizeof(name), "\n%.*s", (int)strspn(at, letters), at);
		if (strstr(metrics, name) == NULL)
			fail_msg("%s: no figure is called%s", file, name);
		names++;
	}
	assert_true(names > 10);
	free(text);
}

static void
dashboard_and_alerts_name_what_there_is(void **state)
{
	(void)state;
	REPLY_AUTO r = http_do("GET", "/metrics", NULL, NULL);
	names_are_figures("systemd/monitoring/alerts.yml", r.body.data);
	names_are_figures("systemd/monitoring/dashboard.json", r.body.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_key_makes_one_run_however_many_ask),
	    cmocka_unit_test(a_key_belongs_to_its_body_and_run),
	    cmocka_unit_test(a_failed_making_frees_its_key),
	    cmocka_unit_test(a_bad_key_is_refused_and_no_secret_is_kept),
	    cmocka_unit_test(a_client_that_leaves_decides_by_its_key),
	    cmocka_unit_test(init_runs_before_anybody_else),
	    cmocka_unit_test(a_failed_init_destroys_the_run_and_tells),
	    cmocka_unit_test(a_run_is_extended_and_a_day_at_most),
	    cmocka_unit_test(work_extends_a_run_that_asked_for_it),
	    cmocka_unit_test(the_list_comes_in_pages_and_by_label),
	    cmocka_unit_test(bad_queries_of_the_list_are_named),
	    cmocka_unit_test(two_creates_cannot_both_take_the_last_memory),
	    cmocka_unit_test(metrics_count_for_the_whole_box),
	    cmocka_unit_test(dashboard_and_alerts_name_what_there_is),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
