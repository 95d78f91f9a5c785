/* The main story: make a run, watch a program print, destroy it, see nothing
 * left. */
#include "harness.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	return 0;
}

static const char *
text(const json_t *json, const char *path)
{
	const char *value = json_string_value(json_at(json, path));

	assert_non_null(value);
	return value;
}

/* "2026-01-31T09:00:00.123Z" */
static bool
is_time(const char *s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
			return false;
	return true;
}

static void
create_answers_201_with_the_run(void **state)
{
	char canonical[ULID_SIZE];

	(void)state;
	REPLY_AUTO r = http_do("POST", "/v1/runs",
	    "{\"image\":\"" IMAGE_PLAIN "\",\"ttlSec\":600}", NULL);
	assert_int_equal(r.status, 201);
	assert_string_equal(
	    http_header(&r.headers, "Content-Type"), "application/json");
	assert_true(ulid_parse(text(r.json, "id"), canonical));
	assert_string_equal(text(r.json, "id"), canonical);
	assert_string_equal(text(r.json, "image"), IMAGE_PLAIN);
	assert_string_equal(text(r.json, "network"), "none");
	assert_string_equal(text(r.json, "state"), "running");
	assert_string_equal(text(r.json, "server"), "test-box");
	assert_true(is_time(text(r.json, "createdAt")));
	assert_true(is_time(text(r.json, "expiresAt")));
	assert_true(
	    strcmp(text(r.json, "createdAt"), text(r.json, "expiresAt")) < 0);
	run_end(text(r.json, "id"));
}

/* The program goes on only once the test has seen its line: one that was held
 * back anywhere would never come. */
static void
each_line_arrives_when_it_is_printed(void **state)
{
	char id[ULID_SIZE], line[16], go[32];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	struct stream *s = stream_open(run_url(id, "exec"),
	    "{\"cmd\":\"for i in 1 2 3; do echo line $i; "
	    "until [ -e go$i ]; do sleep 0.05; done; done; "
	    "echo end >&2; exit 3\"}",
	    "Accept-Encoding: gzip", NULL);
	assert_int_equal(stream_status(s), 200);
	for (int i = 1; i <= 3; i++) {
		const struct event *ev = stream_await(s, "stdout", 30000);

		(void)snprintf(line, sizeof(line), "line %d\n", i);
		assert_non_null(ev);
		assert_string_equal(ev->data, line);
		assert_false(stream_ended(s));
		(void)snprintf(go, sizeof(go), "touch go%d", i);
		EXECUTED_AUTO x = exec_sh(id, go);
		assert_int_equal(exit_code(&x), 0);
	}
	EXECUTED_AUTO rest = exec_finish(s);
	assert_string_equal(rest.frames.data, "stderr exit ");
	assert_string_equal(rest.err.data, "end\n");
	assert_int_equal(exit_code(&rest), 3);
	assert_true(json_is_false(json_at(rest.exit, "timedOut")));
	assert_int_equal(json_object_size(rest.exit), 2);
	stream_close(s);
	run_end(id);
}

static void
runs_are_listed_oldest_first_and_shown(void **state)
{
	char first[ULID_SIZE], second[ULID_SIZE];

	(void)state;
	run_new(IMAGE_PLAIN, first);
	run_new(IMAGE_PLAIN, second);
	REPLY_AUTO list = http_do("GET", "/v1/runs", NULL, NULL);
	assert_int_equal(list.status, 200);
	assert_string_equal(text(list.json, "server"), "test-box");
	assert_int_equal(json_array_size(json_at(list.json, "runs")), 2);
	assert_string_equal(text(list.json, "runs.0.id"), first);
	assert_string_equal(text(list.json, "runs.1.id"), second);

	REPLY_AUTO one = http_do("GET", run_url(first, ""), NULL, NULL);
	assert_int_equal(one.status, 200);
	assert_string_equal(text(one.json, "id"), first);
	assert_string_equal(text(one.json, "state"), "running");
	assert_int_equal(
	    json_integer_value(json_at(one.json, "limits.memoryMb")), 1024);
	assert_int_equal(
	    json_integer_value(json_at(one.json, "limits.pids")), 256);
	assert_string_equal(
	    text(one.json, "createdAt"), text(list.json, "runs.0.createdAt"));

	char lower[ULID_SIZE];
	(void)snprintf(lower, sizeof(lower), "%s", first);
	str_lower(lower);
	REPLY_AUTO same = http_do("GET", run_url(lower, ""), NULL, NULL);
	assert_int_equal(same.status, 200);
	run_end(lower);
	run_end(second);
}

static void
a_destroyed_run_is_gone_everywhere(void **state)
{
	char id[ULID_SIZE], mark[64];

	(void)state;
	run_new(IMAGE_PLAIN, id);
	(void)snprintf(mark, sizeof(mark), "sleep 86399.%s", id + 20);
	EXECUTED_AUTO x = exec_json(id,
	    json_pack("{s:s+++}", "cmd", "(", mark, " >/dev/null 2>&1", ") &"));
	assert_int_equal(exit_code(&x), 0);
	json_auto_t *container = docker_container(id);
	assert_non_null(container);
	pid_t init = (pid_t)json_integer_value(json_at(container, "State.Pid"));
	assert_true(proc_alive(init));
	assert_true(redis_has(id));

	run_end(id);
	assert_null(docker_container(id));
	assert_int_equal(docker_count(), 0);
	assert_false(proc_alive(init));
	assert_int_equal(proc_count(mark), 0);
	redisReply *record = redis_do("EXISTS sbx:run:%s", id);
	assert_int_equal(record->integer, 0);
	freeReplyObject(record);
	REPLY_AUTO get = http_do("GET", run_url(id, ""), NULL, NULL);
	check_problem(&get, 404, "run_not_found", id);
	REPLY_AUTO again = http_do("DELETE", run_url(id, ""), NULL, NULL);
	check_problem(&again, 404, "run_not_found", id);
	REPLY_AUTO exec =
	    http_do("POST", run_url(id, "exec"), "{\"cmd\":\"id\"}", NULL);
	check_problem(&exec, 404, "run_not_found", id);
}

/* A child that deletes the run: exits with 0 for 204, 1 for 404, else 2. */
static pid_t
delete_aside(const char *id)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		REPLY_AUTO r = http_do("DELETE", run_url(id, ""), NULL, NULL);
		_exit(r.status == 204 ? 0 : r.status == 404 ? 1 : 2);
	}
	return pid;
}

static void
many_may_destroy_a_run_at_once(void **state)
{
	char id[ULID_SIZE];
	pid_t pid[6];
	int done = 0;

	(void)state;
	run_new(IMAGE_PLAIN, id);
	for (size_t i = 0; i < 6; i++)
		pid[i] = delete_aside(id);
	for (size_t i = 0; i < 6; i++) {
		int status = 0;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		done += WEXITSTATUS(status) == 0;
	}
	assert_in_range(done, 1, 6);
	assert_null(docker_container(id));
	assert_int_equal(docker_count(), 0);
}

static void
a_client_that_leaves_does_not_stop_a_teardown(void **state)
{
	char id[ULID_SIZE], request[500];
	struct sockaddr_in addr = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)stack.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void)state;
	run_new(IMAGE_PLAIN, id);
	int size = snprintf(request, sizeof(request),
	    "DELETE /v1/runs/%s HTTP/1.1\r\nHost: a\r\n"
	    "Authorization: Bearer %s\r\n\r\n",
	    id, stack.token);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(write(fd, request, (size_t)size), size);
	/* Gone once somebody has begun. */
	wait_until(redis_has("destroying") || !redis_has("running"), 30000);
	(void)close(fd);
	wait_until(docker_container(id) == NULL, 30000);
	wait_until(!redis_has("sbx:run:"), 30000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(create_answers_201_with_the_run),
	    cmocka_unit_test(each_line_arrives_when_it_is_printed),
	    cmocka_unit_test(runs_are_listed_oldest_first_and_shown),
	    cmocka_unit_test(a_destroyed_run_is_gone_everywhere),
	    cmocka_unit_test(many_may_destroy_a_run_at_once),
	    cmocka_unit_test(a_client_that_leaves_does_not_stop_a_teardown),
	};

	return cmocka_run_group_tests(tests, setup, stack_stop);
}
