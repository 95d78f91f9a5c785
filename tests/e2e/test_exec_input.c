/* Exec: what a command is given (CONTRACT 3): standard input, environment,
 * directory, user; and what of a request is refused. */
#include "harness.h"
#include "lib/mem.h"

#include <string.h>

static char id[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	stack_start(NULL);
	image_need(IMAGE_PLAIN);
	image_need(IMAGE_USER);
	image_need(IMAGE_SCRATCH);
	image_need(IMAGE_WORKDIR);
	run_from(json_pack("{s:s,s:{s:s,s:s}}", "image", IMAGE_PLAIN, "env",
		     "OF_RUN", "run", "BOTH", "run"),
	    id);
	return 0;
}

static int
teardown(void **state)
{
	run_end(id);
	return stack_stop(state);
}

static void
standard_input_is_at_its_end(void **state)
{
	(void)state;
	EXECUTED_AUTO cat = exec_sh(id, "cat; echo $?");
	assert_string_equal(cat.out.data, "0\n");
	EXECUTED_AUTO read = exec_sh(id, "read x; echo got=$x");
	assert_string_equal(read.out.data, "got=\n");
	EXECUTED_AUTO here = exec_sh(id, "cat <<END\nx\nEND");
	assert_string_equal(here.out.data, "x\n");
	EXECUTED_AUTO empty = exec_json(
	    id, json_pack("{s:s,s:s}", "cmd", "cat; echo end", "stdin", ""));
	assert_string_equal(empty.out.data, "end\n");
}

static void
text_for_standard_input_arrives_whole(void **state)
{
	size_t size = 900000;
	char *text = mem_alloc(size + 1);

	(void)state;
	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + i % 26);
	text[size] = '\0';
	EXECUTED_AUTO all = exec_json(
	    id, json_pack("{s:s,s:s}", "cmd", "wc -c; wc -c", "stdin", text));
	assert_string_equal(all.out.data, "900000\n0\n");
	EXECUTED_AUTO same =
	    exec_json(id, json_pack("{s:s,s:s}", "cmd", "cat", "stdin", text));
	assert_int_equal(same.out.size, size);
	assert_memory_equal(same.out.data, text, size);
	/* A command that does not read it all is no error. */
	EXECUTED_AUTO some = exec_json(
	    id, json_pack("{s:s,s:s}", "cmd", "head -c 1", "stdin", text));
	assert_string_equal(some.out.data, "a");
	assert_int_equal(exit_code(&some), 0);
	EXECUTED_AUTO none = exec_json(
	    id, json_pack("{s:s,s:s}", "cmd", "exit 5", "stdin", text));
	assert_int_equal(exit_code(&none), 5);
	free(text);
}

static void
environments_are_laid_over_each_other(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_json(
	    id, json_pack("{s:s,s:{s:s,s:s}}", "cmd",
		    "echo $OF_RUN $OF_EXEC $BOTH; echo ${PATH:+path}", "env",
		    "OF_EXEC", "it's \"$HOME\" `x`", "BOTH", "exec"));
	assert_string_equal(x.out.data, "run it's \"$HOME\" `x` exec\npath\n");
	/* For this command only. */
	EXECUTED_AUTO y = exec_sh(id, "echo $BOTH ${OF_EXEC-unset}");
	assert_string_equal(y.out.data, "run unset\n");
}

/* A secret value is in the command's own environment and nowhere else. */
static void
values_are_seen_by_the_command_alone(void **state)
{
	char secret_run[] = "r-s3cr3t-4711", secret_exec[] = "e-s3cr3t-4711";
	char other[ULID_SIZE];

	(void)state;
	run_from(json_pack("{s:s,s:{s:s}}", "image", IMAGE_PLAIN, "env",
		     "TOKEN", secret_run),
	    other);
	char *body = json_dumps(
	    json_pack("{s:s,s:{s:s}}", "cmd",
		"echo $TOKEN $EXEC; until [ -e seen ]; do sleep 0.05; done",
		"env", "EXEC", secret_exec),
	    JSON_COMPACT);
	struct stream *s = stream_open(run_url(other, "exec"), body, NULL);
	free(body);
	const struct event *ev = stream_await(s, "stdout", 30000);
	assert_non_null(ev);
	assert_string_equal(ev->data, "r-s3cr3t-4711 e-s3cr3t-4711\n");

	json_auto_t *container = docker_container(other);
	char *dump = json_dumps(container, JSON_COMPACT);
	assert_null(strstr(dump, "s3cr3t-4711"));
	free(dump);
	assert_false(redis_has("s3cr3t-4711"));
	assert_false(stack_logged("s3cr3t-4711"));
	assert_int_equal(proc_count("s3cr3t-4711"), 0);
	/* PID 1 of the run, and who supervises the command. */
	EXECUTED_AUTO inside = exec_sh(other,
	    "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done; "
	    "tr '\\0' ' ' </proc/1/environ");
	assert_null(strstr(inside.out.data, "s3cr3t-4711"));
	EXECUTED_AUTO go = exec_sh(other, "touch seen");
	assert_int_equal(exit_code(&go), 0);
	EXECUTED_AUTO rest = exec_finish(s);
	assert_int_equal(exit_code(&rest), 0);
	stream_close(s);
	run_end(other);
}

static void
directories_are_below_work(void **state)
{
	(void)state;
	EXECUTED_AUTO made =
	    exec_sh(id, "pwd; mkdir -p src/lib 'a b'; ln -s /tmp out");
	assert_string_equal(made.out.data, "/work\n");
	static const struct {
		const char *cwd, *pwd;
	} good[] = {{"src/lib", "/work/src/lib\n"}, {"a b", "/work/a b\n"},
	    {"/work", "/work\n"}, {"/work/src", "/work/src\n"},
	    {"", "/work\n"}};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXECUTED_AUTO x = exec_json(id,
		    json_pack("{s:s,s:s}", "cmd", "pwd", "cwd", good[i].cwd));

		assert_string_equal(x.out.data, good[i].pwd);
	}
}

static void
a_directory_that_is_not_there_is_refused_before_the_stream(void **state)
{
	static const char *const bad[] = {"nope", "src/nope", "/work/nope",
	    "a-file", "/", "/etc", "..", "src/../..", "src//lib", "src/",
	    "/work/../etc", "/workshop"};

	(void)state;
	EXECUTED_AUTO made = exec_sh(id, "touch a-file");
	assert_int_equal(exit_code(&made), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r = http_json("POST", run_url(id, "exec"),
		    json_pack("{s:s,s:s}", "cmd", "pwd", "cwd", bad[i]));

		if (r.status != 400)
			fail_msg("cwd \"%s\": %ld", bad[i], r.status);
		check_problem(&r, 400, "invalid_input", NULL);
	}
}

static void
long_commands_run_and_longer_ones_are_refused(void **state)
{
	static const size_t sizes[] = {200 * 1024, 1000 * 1000};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *cmd = mem_alloc(sizes[i] + 100);

		(void)memcpy(cmd, "echo start #", 12);
		memset(cmd + 12, 'x', sizes[i]);
		(void)memcpy(cmd + 12 + sizes[i], "\necho end\n", 11);
		EXECUTED_AUTO x = exec_sh(id, cmd);
		assert_int_equal(exit_code(&x), 0);
		assert_string_equal(x.out.data, "start\nend\n");
		free(cmd);
	}
	char *cmd = mem_zalloc(3 << 20);
	memset(cmd, 'x', (3 << 20) - 1);
	REPLY_AUTO r = http_json(
	    "POST", run_url(id, "exec"), json_pack("{s:s}", "cmd", cmd));
	check_problem(&r, 413, NULL, NULL);
	free(cmd);
}

static void
a_program_can_be_run_without_a_shell(void **state)
{
	(void)state;
	EXECUTED_AUTO x = exec_json(id, json_pack("{s:[s,s,s,s]}", "argv",
					    "printf", "<%s>", "a b", "$HOME"));
	assert_string_equal(x.out.data, "<a b><$HOME>");
	EXECUTED_AUTO none =
	    exec_json(id, json_pack("{s:[s]}", "argv", "no-such-program"));
	assert_int_equal(exit_code(&none), 127);
	assert_non_null(strstr(none.err.data, "no-such-program"));
	EXECUTED_AUTO plain =
	    exec_json(id, json_pack("{s:[s]}", "argv", "/etc/passwd"));
	assert_int_equal(exit_code(&plain), 126);
	assert_non_null(strstr(plain.err.data, "/etc/passwd"));
}

static void
an_image_without_a_shell_has_runs_too(void **state)
{
	char bare[ULID_SIZE];

	(void)state;
	run_new(IMAGE_SCRATCH, bare);
	EXECUTED_AUTO x = exec_sh(bare, "echo hi");
	assert_int_equal(exit_code(&x), 127);
	assert_true(x.err.size > 0);
	assert_string_equal(x.out.data, "");
	EXECUTED_AUTO direct =
	    exec_json(bare, json_pack("{s:[s]}", "argv", "/bin/true"));
	assert_int_equal(exit_code(&direct), 0);
	run_end(bare);
}

static void
commands_run_as_the_user_of_the_image(void **state)
{
	char user[ULID_SIZE];

	(void)state;
	run_new(IMAGE_USER, user);
	EXECUTED_AUTO x =
	    exec_sh(user, "id -u; id -g; id -G; echo $HOME; pwd; touch mine && "
			  "stat -c %u mine; stat -c %u /work");
	assert_string_equal(
	    x.out.data, "1000\n1000\n1000 2000\n/user\n/work\n1000\n1000\n");
	EXECUTED_AUTO root = exec_json(
	    user, json_pack("{s:s,s:s}", "cmd", "id -u", "user", "0"));
	assert_string_equal(root.out.data, "0\n");
	EXECUTED_AUTO nobody =
	    exec_json(user, json_pack("{s:s,s:s}", "cmd", "id -u; id -g",
				"user", "nobody:user"));
	assert_string_equal(nobody.out.data, "65534\n1000\n");
	/* No way up: no-new-privileges. */
	EXECUTED_AUTO up = exec_sh(user, "grep NoNewPrivs /proc/self/status");
	if (stack_gvisor())
		printf("not looked at on gVisor: it tells no NoNewPrivs\n");
	else
		assert_string_equal(up.out.data, "NoNewPrivs:\t1\n");
	REPLY_AUTO unknown = http_json("POST", run_url(user, "exec"),
	    json_pack("{s:s,s:s}", "cmd", "id", "user", "stranger"));
	check_problem(&unknown, 400, "invalid_input", "stranger");
	run_end(user);

	EXECUTED_AUTO plain = exec_sh(id, "id -u; echo $HOME");
	assert_string_equal(plain.out.data, "0\n/root\n");
}

static void
work_is_the_directory_whatever_the_image_says(void **state)
{
	char run[ULID_SIZE];

	(void)state;
	run_new(IMAGE_WORKDIR, run);
	EXECUTED_AUTO x = exec_sh(run, "pwd; ls -d /srv/app");
	assert_string_equal(x.out.data, "/work\n/srv/app\n");
	run_end(run);
}

static void
a_run_whose_tmp_is_gone_still_executes(void **state)
{
	(void)state;
	needs_host_kernel("its /tmp is a mount");
	EXECUTED_AUTO gone = exec_sh(id, "rm -rf /tmp");
	assert_int_equal(exit_code(&gone), 0);
	EXECUTED_AUTO x = exec_sh(id, "echo hi");
	assert_string_equal(x.out.data, "hi\n");
}

static const struct {
	const char *body, *says;
} bad[] = {
    {"", "cmd"},
    {"{}", "cmd"},
    {"[]", "JSON"},
    {"{\"cmd\":", "JSON"},
    {"\"id\"", "JSON"},
    {"{\"cmd\":\"\"}", "cmd"},
    {"{\"cmd\":\" \\n\"}", "cmd"},
    {"{\"cmd\":7}", "cmd"},
    {"{\"cmd\":[\"id\"]}", "cmd"},
    {"{\"cmd\":\"a\\u0000b\"}", "cmd"},
    {"{\"argv\":\"id\"}", "argv"},
    {"{\"argv\":[1]}", "argv"},
    {"{\"argv\":[\"\"]}", "argv"},
    {"{\"cmd\":\"id\",\"argv\":[\"id\"]}", "argv"},
    {"{\"cmd\":\"id\",\"cwd\":5}", "cwd"},
    {"{\"cmd\":\"id\",\"timeoutSec\":-1}", "timeoutSec"},
    {"{\"cmd\":\"id\",\"timeoutSec\":86401}", "timeoutSec"},
    {"{\"cmd\":\"id\",\"timeoutSec\":1.5}", "timeoutSec"},
    {"{\"cmd\":\"id\",\"timeoutSec\":\"5\"}", "timeoutSec"},
    {"{\"cmd\":\"id\",\"timeoutSec\":1e300}", "timeoutSec"},
    {"{\"cmd\":\"id\",\"timeoutSec\":99999999999999999999}", NULL},
    {"{\"cmd\":\"id\",\"env\":[]}", NULL}, /* a zero value: absent */
    {"{\"cmd\":\"id\",\"env\":[\"A=b\"]}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A\":1}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"1A\":\"x\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A-B\":\"x\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"\":\"x\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A=B\":\"x\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A\":\"x\\ny\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A\":\"x\\ry\"}}", "env"},
    {"{\"cmd\":\"id\",\"env\":{\"A\":\"x\\u0000y\"}}", "env"},
    {"{\"cmd\":\"id\",\"format\":\"xml\"}", "format"},
    {"{\"cmd\":\"id\",\"user\":5}", "user"},
    {"{\"cmd\":\"id\",\"stdin\":5}", "stdin"},
};

static void
what_is_wrong_with_a_request_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		REPLY_AUTO r =
		    http_do("POST", run_url(id, "exec"), bad[i].body, NULL);

		if (bad[i].says == NULL)
			continue;
		if (r.status != 400)
			fail_msg(
			    "%s: %ld %s", bad[i].body, r.status, r.body.data);
		check_problem(&r, 400, NULL, bad[i].says);
		/* A value may be a secret: it is not repeated. */
		if (strstr(bad[i].body, "env") != NULL)
			assert_null(strstr(r.body.data, "x\\n"));
	}
}

static void
an_environment_has_ceilings(void **state)
{
	json_t *many = json_object(), *fits = json_object();
	char name[16];
	char *big = mem_zalloc(65536);

	(void)state;
	for (int i = 0; i < 65; i++) {
		(void)snprintf(name, sizeof(name), "V%d", i);
		json_object_set_new(many, name, json_string("x"));
		if (i < 64)
			json_object_set_new(fits, name, json_string("x"));
	}
	REPLY_AUTO r = http_json("POST", run_url(id, "exec"),
	    json_pack("{s:s,s:o}", "cmd", "id", "env", many));
	check_problem(&r, 400, "invalid_input", "env");
	EXECUTED_AUTO x = exec_json(
	    id, json_pack("{s:s,s:o}", "cmd", "echo $V63", "env", fits));
	assert_string_equal(x.out.data, "x\n");

	memset(big, 'x', 65535);
	EXECUTED_AUTO most = exec_json(id,
	    json_pack("{s:s,s:{s:s}}", "cmd", "echo ${#A}", "env", "A", big));
	assert_string_equal(most.out.data, "65535\n");
	REPLY_AUTO over = http_json("POST", run_url(id, "exec"),
	    json_pack("{s:s,s:{s:s}}", "cmd", "id", "env", "AB", big));
	check_problem(&over, 400, "invalid_input", "env");
	free(big);
}

static void
null_and_zero_values_count_as_absent(void **state)
{
	(void)state;
	REPLY_AUTO r = http_do("POST", run_url(id, "exec"),
	    "{\"cmd\":\"echo hi\",\"argv\":[],\"cwd\":\"\",\"timeoutSec\":0,"
	    "\"env\":{},\"user\":\"\",\"stdin\":\"\",\"format\":\"\","
	    "\"detach\":false,\"tty\":null,\"owner\":\"\",\"generation\":0,"
	    "\"somethingElse\":{\"x\":1}}",
	    NULL);
	assert_int_equal(r.status, 200);
	assert_non_null(
	    strstr(r.body.data, "event: stdout\ndata: hi\ndata: \n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(standard_input_is_at_its_end),
	    cmocka_unit_test(text_for_standard_input_arrives_whole),
	    cmocka_unit_test(environments_are_laid_over_each_other),
	    cmocka_unit_test(values_are_seen_by_the_command_alone),
	    cmocka_unit_test(directories_are_below_work),
	    cmocka_unit_test(
		a_directory_that_is_not_there_is_refused_before_the_stream),
	    cmocka_unit_test(long_commands_run_and_longer_ones_are_refused),
	    cmocka_unit_test(a_program_can_be_run_without_a_shell),
	    cmocka_unit_test(an_image_without_a_shell_has_runs_too),
	    cmocka_unit_test(commands_run_as_the_user_of_the_image),
	    cmocka_unit_test(work_is_the_directory_whatever_the_image_says),
	    cmocka_unit_test(a_run_whose_tmp_is_gone_still_executes),
	    cmocka_unit_test(what_is_wrong_with_a_request_is_named),
	    cmocka_unit_test(an_environment_has_ceilings),
	    cmocka_unit_test(null_and_zero_values_count_as_absent),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
