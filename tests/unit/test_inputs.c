/* The bodies of create and exec: defaults, bounds, and what is refused. */
#include "api/exec_input.h"
#include "api/run_input.h"
#include "json/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct refusal {
	const char *body, *text; /* a part of the detail */
	enum err_kind kind;
};

static struct arena arena = ARENA_INIT;

static int
release(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static json_t *
parse(const char *text)
{
	struct err e = ERR_INIT;
	json_t *o = read_object(text, strlen(text), &e);

	assert_non_null(o);
	return o;
}

static void
check_refusal(const struct refusal *r, int rc, const struct err *e)
{
	if (rc == 0 || e->kind != r->kind || strstr(e->text, r->text) == NULL)
		fail_msg("%s: rc %d, kind %d, \"%s\"", r->body, rc,
		    (int)e->kind, e->text);
}

static void
a_run_needs_only_an_image(void **state)
{
	struct err e = ERR_INIT;
	struct run_request rq;
	(void)state;

	json_t *o = parse("{\"image\":\"debian:12\",\"network\":\"\","
			  "\"env\":null,\"limits\":{\"pids\":0},\"warm\":{},"
			  "\"egressAllow\":[],\"autoExtend\":false}");
	assert_int_equal(run_input(o, &arena, &rq, &e), 0);
	assert_string_equal(rq.image, "debian:12");
	assert_string_equal(rq.network, "none");
	assert_int_equal(rq.ttl_sec, 1800);
	assert_int_equal(rq.memory_mb, 1024);
	assert_int_equal(rq.pids, 256);
	assert_true(rq.cpus > 0.99 && rq.cpus < 1.01);
	assert_string_equal(rq.labels, "");
	assert_string_equal(rq.warm_repo, "");
	assert_string_equal(rq.warm_path, "");
	assert_null(*rq.env);
	json_decref(o);
}

static void
a_warm_volume_is_of_a_repository_and_at_a_path(void **state)
{
	struct err e = ERR_INIT;
	struct run_request rq;
	(void)state;

	json_t *o =
	    parse("{\"image\":\"a\",\"warm\":{\"repo\":\"Acme/Site\"}}");
	assert_int_equal(run_input(o, &arena, &rq, &e), 0);
	assert_string_equal(rq.warm_repo, "acme/site");
	assert_string_equal(rq.warm_path, "/work");
	json_decref(o);
	o = parse("{\"image\":\"a\",\"warm\":{\"repo\":\"a/b/c\","
		  "\"path\":\"/srv/x/\"}}");
	assert_int_equal(run_input(o, &arena, &rq, &e), 0);
	assert_string_equal(rq.warm_repo, "a/b/c");
	assert_string_equal(rq.warm_path, "/srv/x");
	json_decref(o);
}

static void
check_create(const struct refusal *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct err e = ERR_INIT;
		struct run_request rq;
		json_t *o = parse(table[i].body);

		check_refusal(&table[i], run_input(o, &arena, &rq, &e), &e);
		json_decref(o);
	}
}

/* But nothing that may be a value. */
static void
names_that_are_none_are_quoted(void **state)
{
	static const struct refusal table[] = {
	    {"{\"image\":\"a\",\"env\":{\"A B\":\"\"}}",
		"env has the name \"A B\", which", ERR_INPUT},
	    {"{\"image\":\"a\",\"env\":{\"A=secret\":\"\"}}",
		"env has the name \"A\", which", ERR_INPUT},
	    {"{\"image\":\"a\",\"labels\":{\"a:b\":\"c\"}}",
		"labels has the name \"a:b\", which", ERR_INPUT},
	    {"{\"image\":\"a\",\"labels\":{\"a\":1}}",
		"labels.a must be a string", ERR_INPUT},
	    {"{\"image\":\"a\",\"labels\":{\"a\":\"x\\ny\"}}", "labels.a",
		ERR_INPUT},
	};

	(void)state;
	check_create(table, sizeof(table) / sizeof(table[0]));
}

static void
create_refuses_each_bad_member_by_name(void **state)
{
	static const struct refusal table[] = {
	    {"{}", "image is required", ERR_INPUT},
	    {"{\"image\":\" \\t\"}", "image is required", ERR_INPUT},
	    {"{\"image\":7}", "image must be a string", ERR_INPUT},
	    {"{\"image\":\"a\\u0000b\"}", "image must not", ERR_INPUT},
	    {"{\"image\":\"a\",\"ttlSec\":-1}", "ttlSec is -1", ERR_INPUT},
	    {"{\"image\":\"a\",\"ttlSec\":86401}", "ttlSec", ERR_INPUT},
	    {"{\"image\":\"a\",\"ttlSec\":\"9\"}", "ttlSec must be", ERR_INPUT},
	    {"{\"image\":\"a\",\"ttlSec\":1.5}", "ttlSec must be", ERR_INPUT},
	    {"{\"image\":\"a\",\"network\":\"host\"}",
		"none, allowlist (or its alias egress) or open", ERR_INPUT},
	    {"{\"image\":\"a\",\"network\":\"None\"}", "network", ERR_INPUT},
	    {"{\"image\":\"a\",\"network\":\"egress\","
	     "\"egressAllow\":[\"b.org\",\"*.x.org\"]}",
		"egressAllow: the entry \"*.x.org\"", ERR_INPUT},
	    {"{\"image\":\"a\",\"egressAllow\":[\"x.org\"]}",
		"egressAllow goes with", ERR_INPUT},
	    {"{\"image\":\"a\",\"egressAllow\":\"x.org\"}",
		"egressAllow must be an array", ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":[1]}", "limits must", ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":{\"memoryMb\":5}}",
		"limits: memoryMb is 5", ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":{\"memoryMb\":-1}}", "memoryMb",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":{\"cpus\":100000}}", "cpus",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":{\"cpus\":-0.5}}", "cpus", ERR_INPUT},
	    {"{\"image\":\"a\",\"limits\":{\"pids\":-1}}", "pids", ERR_INPUT},
	    {"{\"image\":\"a\",\"warm\":\"a/b\"}", "warm must be an object",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"warm\":{\"path\":\"/srv\"}}",
		"warm.repo is required", ERR_INPUT},
	    {"{\"image\":\"a\",\"warm\":{\"repo\":7}}", "warm: repo must be",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"warm\":{\"repo\":\"one\"}}", "\"one\"",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"warm\":{\"repo\":\"a/b\",\"path\":\"b\"}}",
		"\"b\"", ERR_INPUT},
	    {"{\"image\":\"a\",\"init\":{\"cmd\":\" \"}}",
		"init.cmd is required", ERR_INPUT},
	    {"{\"image\":\"a\",\"init\":\"x\"}", "init must be an object",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"init\":{\"cmd\":7}}", "init: cmd must be",
		ERR_INPUT},
	    {"{\"image\":\"a\",\"autoExtend\":1}", "autoExtend", ERR_INPUT},
	};

	(void)state;
	check_create(table, sizeof(table) / sizeof(table[0]));
}

static void
too_many_labels_are_refused(void **state)
{
	struct err e = ERR_INIT;
	struct run_request rq;
	json_t *o = parse("{\"image\":\"a\"}"), *labels = json_object();
	(void)state;

	for (int i = 0; i < 17; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "k%d", i);
		json_object_set_new(labels, key, json_string("v"));
	}
	json_object_set_new(o, "labels", labels);
	assert_int_equal(run_input(o, &arena, &rq, &e), -1);
	assert_non_null(strstr(e.text, "16 at most"));
	json_object_del(labels, "k16");
	assert_int_equal(run_input(o, &arena, &rq, &e), 0);
	assert_non_null(strstr(rq.labels, "\"k15\":\"v\""));
	json_decref(o);
}

/* 128 KiB with its name, its "=" and its NUL are the most of execve(2). */
static void
a_variable_that_no_command_could_be_given_is_refused(void **state)
{
	static char value[128 * 1024 - 3];
	struct err e = ERR_INIT;
	struct run_request rq;
	(void)state;

	memset(value, 'x', sizeof(value) - 1);
	json_t *o = json_pack(
	    "{s:s, s:{s:s, s:s}}", "image", "a", "env", "A", "", "BIG", value);
	assert_int_equal(run_input(o, &arena, &rq, &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	assert_string_equal(e.text,
	    "env.BIG has 131072 bytes with its name and the \"=\"; it may "
	    "have 131071 at most.");
	json_decref(o);
	value[sizeof(value) - 2] = '\0';
	o = json_pack("{s:s, s:{s:s}}", "image", "a", "env", "BIG", value);
	assert_int_equal(run_input(o, &arena, &rq, &e), 0);
	assert_int_equal(strlen(rq.env[0]), 131071);
	json_decref(o);
}

static void
an_exec_needs_only_a_command(void **state)
{
	struct err e = ERR_INIT;
	struct exec_request rq;
	(void)state;

	json_t *o = parse("{\"cmd\":\"echo hi\",\"argv\":[],\"owner\":\"x\"}");
	assert_int_equal(exec_input(o, &arena, &rq, &e), 0);
	assert_string_equal(rq.wire.script, "echo hi");
	assert_null(rq.wire.argv);
	assert_string_equal(rq.wire.cwd, "/work");
	assert_string_equal(rq.wire.user, "");
	assert_int_equal(rq.wire.timeout_ms, 120000);
	assert_false(rq.wire.open_stdin);
	assert_int_equal(rq.format, EXEC_TEXT);
	json_decref(o);
}

static void
a_directory_is_taken_below_work(void **state)
{
	static const char *const table[][2] = {{"src", "/work/src"},
	    {"a/b.c/..d", "/work/a/b.c/..d"}, {"/work", "/work"},
	    {"/work/x y", "/work/x y"}};
	(void)state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct err e = ERR_INIT;
		struct exec_request rq;
		json_t *o =
		    json_pack("{s:s, s:s}", "cmd", "x", "cwd", table[i][0]);

		assert_int_equal(exec_input(o, &arena, &rq, &e), 0);
		assert_string_equal(rq.wire.cwd, table[i][1]);
		json_decref(o);
	}
}

static void
exec_refuses_each_bad_member_by_name(void **state)
{
	static const struct refusal table[] = {
	    {"{}", "cmd is required", ERR_INPUT},
	    {"{\"cmd\":\" \\n\"}", "cmd is required", ERR_INPUT},
	    {"{\"cmd\":[\"a\"]}", "cmd must be a string", ERR_INPUT},
	    {"{\"cmd\":\"a\\u0000\"}", "cmd must not contain", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"argv\":[\"b\"]}", "exclude", ERR_INPUT},
	    {"{\"argv\":[\"\"]}", "argv[0]", ERR_INPUT},
	    {"{\"argv\":[\"a\",7]}", "argv[1]", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"/etc\"}", "cwd must be", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"/workshop\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"/work/\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"a//b\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"a/\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"a/../b\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"..\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"cwd\":\"/work/..\"}", "cwd", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"timeoutSec\":-1}", "timeoutSec", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"timeoutSec\":86401}", "timeoutSec", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"env\":{\"A\":\"x\\ny\"}}", "env.A", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"format\":\"xml\"}", "text, json or base64",
		ERR_INPUT},
	    {"{\"cmd\":\"a\",\"stdin\":7}", "stdin must be", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"detach\":1}", "detach must be", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"onDisconnect\":\"x\"}", "onDisconnect",
		ERR_INPUT},
	    {"{\"cmd\":\"a\",\"onDisconnect\":true}", "onDisconnect must be",
		ERR_INPUT},
	    {"{\"cmd\":\"a\",\"tty\":[80,24]}", "tty must be", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"tty\":{\"cols\":1001}}", "tty: cols", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"tty\":{\"rows\":-1}}", "tty: rows", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"tty\":{\"rows\":\"9\"}}", "tty: rows",
		ERR_INPUT},
	    {"{\"cmd\":\"a\",\"user\":7}", "user must be", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"user\":\":\"}", "name[:group]", ERR_INPUT},
	    {"{\"cmd\":\"a\",\"user\":\":0\"}", "name[:group]", ERR_INPUT},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct err e = ERR_INIT;
		struct exec_request rq;
		json_t *o = parse(table[i].body);

		check_refusal(&table[i], exec_input(o, &arena, &rq, &e), &e);
		json_decref(o);
	}
}

static void
standard_input_may_hold_any_text(void **state)
{
	struct err e = ERR_INIT;
	struct exec_request rq;
	(void)state;

	json_t *o = parse("{\"cmd\":\"cat\",\"stdin\":\"a\\u0000b\\n\"}");
	assert_int_equal(exec_input(o, &arena, &rq, &e), 0);
	assert_true(rq.wire.open_stdin);
	assert_int_equal(rq.stdin_size, 4);
	assert_memory_equal(rq.stdin_text, "a\0b\n", 4);
	json_decref(o);
}

static struct exec_request
take(const char *body)
{
	struct err e = ERR_INIT;
	struct exec_request rq;
	json_t *o = parse(body);

	assert_int_equal(exec_input(o, &arena, &rq, &e), 0);
	json_decref(o);
	return rq;
}

static void
what_outlives_its_client_is_kept(void **state)
{
	(void)state;
	struct exec_request plain =
	    take("{\"cmd\":\"a\",\"detach\":false,\"onDisconnect\":\"\"}");
	assert_false(plain.detach || plain.wire.keep || plain.wire.go_on);
	struct exec_request detached = take("{\"cmd\":\"a\",\"detach\":true}");
	assert_true(detached.detach && detached.wire.keep);
	assert_false(detached.wire.go_on || detached.wire.open_stdin);
	struct exec_request going =
	    take("{\"cmd\":\"a\",\"onDisconnect\":\"continue\"}");
	assert_true(going.wire.go_on && going.wire.keep);
	assert_false(going.detach);
	/* Until it is detached somebody has to tell its client of it. */
	struct exec_request both = take(
	    "{\"cmd\":\"a\",\"onDisconnect\":\"continue\",\"detach\":true}");
	assert_true(both.detach && both.wire.keep);
	assert_false(both.wire.go_on);
}

static void
a_terminal_has_a_size_and_an_open_input(void **state)
{
	static const struct {
		const char *tty;
		int cols, rows;
	} table[] = {
	    {"true", 80, 24},
	    {"{\"cols\":1,\"rows\":1000}", 1, 1000},
	    {"{\"cols\":132}", 132, 24},
	    {"{\"rows\":50,\"cols\":0}", 80, 50},
	    {"{}", 0, 0},
	    {"false", 0, 0},
	    {"null", 0, 0},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char body[100];

		(void)snprintf(body, sizeof(body), "{\"cmd\":\"a\",\"tty\":%s}",
		    table[i].tty);
		struct exec_request rq = take(body);
		assert_int_equal(rq.wire.cols, table[i].cols);
		assert_int_equal(rq.wire.rows, table[i].rows);
		assert_int_equal(rq.wire.keep, table[i].cols > 0);
		assert_int_equal(rq.wire.feedable, table[i].cols > 0);
		assert_int_equal(rq.wire.open_stdin, table[i].cols > 0);
		assert_false(rq.wire.go_on);
	}
}

static void
standard_input_stays_open_where_that_is_asked_for(void **state)
{
	(void)state;
	struct exec_request open = take("{\"cmd\":\"a\",\"stdin\":true}");
	assert_true(open.wire.feedable && open.wire.open_stdin);
	assert_false(open.wire.keep);
	assert_null(open.stdin_text);
	struct exec_request shut = take("{\"cmd\":\"a\",\"stdin\":false}");
	assert_false(shut.wire.feedable || shut.wire.open_stdin);
	struct exec_request text = take("{\"cmd\":\"a\",\"stdin\":\"x\"}");
	assert_false(text.wire.feedable);
	assert_true(text.wire.open_stdin);
	struct exec_request typed =
	    take("{\"cmd\":\"a\",\"stdin\":\"x\",\"tty\":true}");
	assert_true(typed.wire.feedable && typed.wire.open_stdin);
	assert_int_equal(typed.stdin_size, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_needs_only_an_image),
	    cmocka_unit_test(a_warm_volume_is_of_a_repository_and_at_a_path),
	    cmocka_unit_test(names_that_are_none_are_quoted),
	    cmocka_unit_test(create_refuses_each_bad_member_by_name),
	    cmocka_unit_test(too_many_labels_are_refused),
	    cmocka_unit_test(
		a_variable_that_no_command_could_be_given_is_refused),
	    cmocka_unit_test(an_exec_needs_only_a_command),
	    cmocka_unit_test(a_directory_is_taken_below_work),
	    cmocka_unit_test(exec_refuses_each_bad_member_by_name),
	    cmocka_unit_test(standard_input_may_hold_any_text),
	    cmocka_unit_test(what_outlives_its_client_is_kept),
	    cmocka_unit_test(a_terminal_has_a_size_and_an_open_input),
	    cmocka_unit_test(standard_input_stays_open_where_that_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
