/* Idempotency-Key, and the init command of a creation (CONTRACT 2). */
#include "harness.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 30000
#define IMAGE "\"image\":\"" IMAGE_PLAIN "\""

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	return 0;
}

static struct reply
create(const char *key, const char *body)
{
	char line[300];

	(void)snprintf(line, sizeof(line), "Idempotency-Key: %s", key);
	return http_do("POST", "/v1/runs", body, line, NULL);
}

static const char *
id_of(const struct reply *r)
{
	static char id[4][ULID_SIZE];
	static size_t next;
	char *to = id[next++ % 4];

	(void)snprintf(
	    to, ULID_SIZE, "%s", json_string_value(json_at(r->json, "id")));
	return to;
}

static void
the_same_key_answers_the_same_run(void **state)
{
	(void)state;
	REPLY_AUTO first =
	    create("once", "{" IMAGE ",\"env\":{\"S\":\"s3cr3t-0815\"}}");
	assert_int_equal(first.status, 201);
	/* The same JSON in other words. */
	REPLY_AUTO again =
	    create("once", "{ \"env\":{\"S\":\"s3cr3t-0815\"} ," IMAGE " }");
	assert_int_equal(again.status, 200);
	assert_string_equal(id_of(&again), id_of(&first));
	assert_int_equal(docker_count(), 1);
	assert_false(redis_has("s3cr3t-0815"));
	REPLY_AUTO other = create("once", "{" IMAGE "}");
	check_problem(&other, 409, "conflict", NULL);
	run_end(id_of(&first));
	REPLY_AUTO gone =
	    create("once", "{" IMAGE ",\"env\":{\"S\":\"s3cr3t-0815\"}}");
	check_problem(&gone, 410, "gone", NULL);
	assert_int_equal(docker_count(), 0);
}

static void
callers_at_the_same_time_make_one_run(void **state)
{
	pid_t pid[5];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			REPLY_AUTO r = create("together", "{" IMAGE "}");
			_exit(r.status == 201 ? 0 : r.status == 200 ? 1 : 2);
		}
	}
	int made = 0;
	for (size_t i = 0; i < 5; i++) {
		int status = 0;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		made += WEXITSTATUS(status) == 0;
	}
	assert_int_equal(made, 1);
	assert_int_equal(docker_count(), 1);
	REPLY_AUTO r = create("together", "{" IMAGE "}");
	assert_int_equal(r.status, 200);
	run_end(id_of(&r));
}

static void
a_failed_creation_frees_its_key(void **state)
{
	(void)state;
	REPLY_AUTO failed = create("retry",
	    "{\"image\":\"teploy-sbx-snap:01aryz6s41tsv4rrffq69g5fav\"}");
	check_problem(&failed, 404, "image_not_found", NULL);
	REPLY_AUTO r = create("retry", "{" IMAGE "}");
	assert_int_equal(r.status, 201);
	run_end(id_of(&r));
}

static void
a_client_with_a_key_may_leave_and_come_back(void **state)
{
	(void)state;
	struct stream *s = stream_open("/v1/runs", "{" IMAGE "}",
	    "Idempotency-Key: left", "Accept: text/event-stream", NULL);
	assert_non_null(stream_await(s, "progress", END_MS));
	stream_close(s);
	REPLY_AUTO r = create("left", "{" IMAGE "}");
	assert_int_equal(r.status, 200);
	assert_int_equal(docker_count(), 1);
	run_end(id_of(&r));
}

static void
keys_are_printable_and_short(void **state)
{
	char longest[130];

	(void)state;
	memset(longest, 'k', 129);
	longest[129] = '\0';
	REPLY_AUTO over = create(longest, "{" IMAGE "}");
	check_problem(&over, 400, "invalid_input", "Idempotency-Key");
	REPLY_AUTO bytes = create("\xc3\xa9", "{" IMAGE "}");
	check_problem(&bytes, 400, "invalid_input", "Idempotency-Key");
	longest[128] = '\0';
	REPLY_AUTO most = create(longest, "{" IMAGE "}");
	assert_int_equal(most.status, 201);
	run_end(id_of(&most));
}

static void
an_init_command_runs_before_the_answer(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	run_from(
	    json_pack("{s:s,s:{s:s},s:{s:s}}", "image", IMAGE_USER, "env", "A",
		"b", "init", "cmd", "echo $A >made; id -u >>made; pwd"),
	    id);
	EXECUTED_AUTO x = exec_sh(id, "cat made");
	assert_string_equal(x.out.data, "b\n1000\n");
	run_end(id);
}

static void
a_failed_init_command_destroys_the_run(void **state)
{
	static const struct {
		const char *init, *says;
	} rows[] = {
	    {"{\"cmd\":\"echo some words; echo of it >&2; exit 3\"}", "of it"},
	    {"{\"cmd\":\"no-such-program\"}", "no-such-program"},
	    {"{\"cmd\":\"kill -9 $$\"}", NULL},
	    {"{\"cmd\":\"echo slow; sleep 600\",\"timeoutSec\":1}", "slow"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char body[300];

		(void)snprintf(body, sizeof(body), "{" IMAGE ",\"init\":%s}",
		    rows[i].init);
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
		check_problem(&r, 422, "init_failed", rows[i].says);
		assert_int_equal(docker_count(), 0);
	}
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	assert_int_equal(json_array_size(json_at(list.json, "runs")), 0);
}

/* The end of it is what tells why; the bytes may be any. */
static void
the_end_of_a_long_init_output_is_shown(void **state)
{
	static const char *const prints[] = {
	    "seq 1 300000", "head -c 300000 /dev/urandom; echo"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char body[300];

		(void)snprintf(body, sizeof(body),
		    "{" IMAGE ",\"init\":{\"cmd\":\"%s; echo the end; "
		    "exit 1\"}}",
		    prints[i]);
		REPLY_AUTO r = http_do("POST", "/v1/runs", body, NULL);
		check_problem(&r, 422, "init_failed", "the end");
		assert_in_range(r.body.size, 1, 65536);
		assert_int_equal(docker_count(), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_same_key_answers_the_same_run),
	    cmocka_unit_test(callers_at_the_same_time_make_one_run),
	    cmocka_unit_test(a_failed_creation_frees_its_key),
	    cmocka_unit_test(a_client_with_a_key_may_leave_and_come_back),
	    cmocka_unit_test(keys_are_printable_and_short),
	    cmocka_unit_test(an_init_command_runs_before_the_answer),
	    cmocka_unit_test(a_failed_init_command_destroys_the_run),
	    cmocka_unit_test(the_end_of_a_long_init_output_is_shown),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
