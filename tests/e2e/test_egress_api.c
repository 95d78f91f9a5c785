/* The routes about egress: what a run may reach, changing that while it runs,
 * and asking beforehand. */
#include "egress.h"
#include "harness.h"
#include "origin.h"
#include "views.h"

#include "lib/allow.h"

#include <stdlib.h>
#include <string.h>

#define END_MS 30000

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	origin_start();
	const char *const env[] = {origin.resolv, origin.private,
	    "SBX_EGRESS_ALLOW=.Box.example., other.example:8443", NULL};
	stack_start(env);
	image_need(IMAGE_PLAIN);
	egress_new(origin.www, run);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	origin_stop();
	return stack_stop(state);
}

/* The source of that entry; "" where it is not there. */
static const char *
source(const struct reply *r, const char *entry)
{
	const json_t *list = json_at(r->json, "entries"), *e;
	size_t i;

	json_array_foreach(list, i, e)
	{
		if (str_eq(json_string_value(json_at(e, "entry")), entry))
			return json_string_value(json_at(e, "source"));
	}
	return "";
}

/* -- entries and counters -------------------------------------------------- */

static void
entries_tell_where_they_come_from(void **state)
{
	(void)state;
	REPLY_AUTO r = egress_get(run, "egress");
	assert_int_equal(r.status, 200);
	assert_string_equal(
	    json_string_value(json_at(r.json, "network")), "allowlist");
	for (size_t i = 0; i < allow_builtin_count; i++)
		assert_string_equal(
		    source(&r, allow_builtin[i].entry), "builtin");
	assert_string_equal(source(&r, ".box.example"), "server");
	assert_string_equal(source(&r, "other.example:8443"), "server");
	assert_string_equal(source(&r, origin.www), "run");
	assert_string_equal(
	    json_string_value(json_at(r.json, "server")), "test-box");
}

static json_int_t
counted(const char *id, const char *host, const char *what)
{
	REPLY_AUTO r = egress_get(id, "egress");
	const json_t *list = json_at(r.json, "counters.hosts"), *h;
	size_t i;

	json_array_foreach(list, i, h)
	{
		if (str_eq(json_string_value(json_at(h, "host")), host))
			return json_integer_value(json_at(h, what));
	}
	return 0;
}

static void
what_was_decided_is_counted_by_host(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	egress_new(origin.www, id);
	assert_int_equal(counted(id, "www.test", "allowed"), 0);
	assert_int_equal(egress_fetch(id, origin.www), 200);
	assert_int_equal(egress_fetch(id, origin.www), 200);
	assert_int_equal(egress_fetch(id, origin.git), 403);
	wait_until(counted(id, "www.test", "allowed") == 2, END_MS);
	assert_int_equal(counted(id, "www.test", "down"), 2 * 6);
	assert_int_equal(counted(id, "git.test", "denied"), 1);
	run_end(id);
}

static void
runs_without_a_proxy_have_no_entries(void **state)
{
	static const char *const networks[] = {"none", "open"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char id[ULID_SIZE];

		run_from(json_pack("{s:s,s:s}", "image", IMAGE_PLAIN, "network",
			     networks[i]),
		    id);
		REPLY_AUTO r = egress_get(id, "egress");
		assert_int_equal(r.status, 200);
		assert_string_equal(
		    json_string_value(json_at(r.json, "network")), networks[i]);
		assert_int_equal(
		    json_array_size(json_at(r.json, "entries")), 0);
		assert_null(json_object_get(r.json, "counters"));
		REPLY_AUTO changed =
		    egress_put(id, json_pack("[s]", origin.www));
		check_problem(&changed, 400, "invalid_input", "\"allowlist\"");
		REPLY_AUTO log = egress_get(id, "egress/log");
		check_problem(&log, 400, "invalid_input", "\"allowlist\"");
		run_end(id);
	}
}

static void
a_run_that_is_not_there_has_none(void **state)
{
	static const char none[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

	(void)state;
	REPLY_AUTO r = egress_get(none, "egress");
	check_problem(&r, 404, "run_not_found", "");
	REPLY_AUTO log = egress_get(none, "egress/log");
	check_problem(&log, 404, "run_not_found", "");
	REPLY_AUTO changed = egress_put(none, json_array());
	check_problem(&changed, 404, "run_not_found", "");
}

/* -- changing them --------------------------------------------------------- */

static void
a_change_holds_at_once_and_replaces(void **state)
{
	(void)state;
	assert_int_equal(egress_fetch(run, origin.www), 200);
	assert_int_equal(egress_fetch(run, origin.git), 403);
	REPLY_AUTO r =
	    egress_put(run, json_pack("[s,s]", origin.git, "GIT.test.:80"));
	assert_int_equal(r.status, 200);
	assert_string_equal(source(&r, origin.git), "run");
	assert_string_equal(source(&r, "git.test:80"), "run");
	assert_string_equal(source(&r, origin.www), "");
	assert_string_equal(source(&r, ".box.example"), "server");
	assert_int_equal(egress_fetch(run, origin.git), 200);
	assert_int_equal(egress_fetch(run, origin.www), 403);
	/* None at all. */
	REPLY_AUTO empty = http_do("PUT", run_url(run, "egress"), "{}", NULL);
	assert_int_equal(empty.status, 200);
	assert_int_equal(egress_fetch(run, origin.git), 403);
	REPLY_AUTO back = egress_put(run, json_pack("[s]", origin.www));
	assert_int_equal(back.status, 200);
	assert_int_equal(egress_fetch(run, origin.www), 200);
}

static void
a_bad_change_is_named_and_changes_nothing(void **state)
{
	(void)state;
	REPLY_AUTO url = egress_put(
	    run, json_pack("[s,s]", origin.git, "https://x.example/"));
	check_problem(&url, 400, "invalid_input", "\"https://x.example/\"");
	REPLY_AUTO type = egress_put(run, json_pack("[i]", 1));
	check_problem(&type, 400, "invalid_input", "egressAllow[0]");
	REPLY_AUTO text = egress_put(run, json_string("x.example"));
	check_problem(&text, 400, "invalid_input", "egressAllow");
	assert_int_equal(egress_fetch(run, origin.www), 200);
	assert_int_equal(egress_fetch(run, origin.git), 403);
}

static void
a_change_ends_what_it_does_not_admit(void **state)
{
	char cmd[400];

	(void)state;
	/* The tunnel's input stays open as long as it does. */
	(void)snprintf(cmd, sizeof(cmd),
	    "mkfifo f; { printf 'CONNECT %s HTTP/1.1\\r\\nHost: "
	    "%s\\r\\n\\r\\n';"
	    " exec sleep 60; } >f & nc 127.0.0.1 3128 <f; kill $!; rm f",
	    origin.www, origin.www);
	json_t *body = json_pack("{s:s}", "cmd", cmd);
	char *text = json_dumps(body, 0);
	json_decref(body);
	struct stream *s = stream_open(run_url(run, "exec"), text, NULL);
	free(text);
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_non_null(strstr(ev->data, " 200 "));
	/* One that still admits it leaves it alone. */
	REPLY_AUTO more =
	    egress_put(run, json_pack("[s,s]", origin.git, origin.www));
	assert_int_equal(more.status, 200);
	assert_int_equal(egress_fetch(run, origin.git), 200);
	assert_null(stream_await(s, "exit", 200));
	REPLY_AUTO less = egress_put(run, json_pack("[s]", origin.git));
	assert_int_equal(less.status, 200);
	assert_non_null(stream_await(s, "exit", END_MS));
	stream_close(s);
	REPLY_AUTO back = egress_put(run, json_pack("[s]", origin.www));
	assert_int_equal(back.status, 200);
}

static void
a_lease_of_another_does_not_fence_it(void **state)
{
	(void)state;
	REPLY_AUTO lease = http_do("POST", run_url(run, "lease"),
	    "{\"owner\":\"a person\",\"ttlSec\":60}", NULL);
	assert_int_equal(lease.status, 200);
	REPLY_AUTO r = egress_put(run, json_pack("[s]", origin.www));
	assert_int_equal(r.status, 200);
	REPLY_AUTO release = http_do("POST", run_url(run, "lease/release"),
	    "{\"owner\":\"a person\",\"generation\":1}", NULL);
	assert_int_equal(release.status, 204);
}

static void
an_exited_run_keeps_its_entries_and_takes_no_others(void **state)
{
	char id[ULID_SIZE], path[128], name[ULID_SIZE];

	(void)state;
	egress_new(origin.www, id);
	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(path, sizeof(path),
	    "/containers/teploy-sbx-%s/kill?signal=KILL", name);
	REPLY_AUTO killed = docker_do("POST", path, NULL);
	assert_int_equal(killed.status, 204);
	wait_until(str_eq(views_state(id), "exited"), END_MS);
	REPLY_AUTO r = egress_get(id, "egress");
	assert_int_equal(r.status, 200);
	assert_string_equal(source(&r, origin.www), "run");
	assert_null(json_object_get(r.json, "counters"));
	REPLY_AUTO changed = egress_put(id, json_array());
	check_problem(&changed, 409, "run_not_running", "");
	REPLY_AUTO log = egress_get(id, "egress/log");
	check_problem(&log, 409, "run_not_running", "");
	run_end(id);
}

/* -- asking beforehand ----------------------------------------------------- */

static void
a_dry_run_says_which_entry_or_what_to_add(void **state)
{
	char body[200];

	(void)state;
	(void)snprintf(body, sizeof(body), "{\"host\":\"%s\"}",
	    allow_builtin[0].entry + (allow_builtin[0].entry[0] == '.'));
	REPLY_AUTO builtin = http_do("POST", "/v1/egress/check", body, NULL);
	assert_int_equal(builtin.status, 200);
	assert_true(json_is_true(json_at(builtin.json, "allowed")));
	assert_string_equal(
	    json_string_value(json_at(builtin.json, "source")), "builtin");
	assert_int_equal(
	    json_integer_value(json_at(builtin.json, "port")), 443);
	REPLY_AUTO box = http_do("POST", "/v1/egress/check",
	    "{\"host\":\"A.box.example\",\"port\":80}", NULL);
	assert_string_equal(
	    json_string_value(json_at(box.json, "source")), "server");
	assert_string_equal(
	    json_string_value(json_at(box.json, "entry")), ".box.example");
	REPLY_AUTO given = http_do("POST", "/v1/egress/check",
	    "{\"host\":\"x.example:99\",\"egressAllow\":[\"x.example:99\"]}",
	    NULL);
	assert_string_equal(
	    json_string_value(json_at(given.json, "source")), "run");
	REPLY_AUTO no = http_do(
	    "POST", "/v1/egress/check", "{\"host\":\"x.example:99\"}", NULL);
	assert_int_equal(no.status, 200);
	assert_true(json_is_false(json_at(no.json, "allowed")));
	assert_string_equal(
	    json_string_value(json_at(no.json, "suggestion")), "x.example:99");
	assert_non_null(strstr(json_string_value(json_at(no.json, "reason")),
	    "SBX_EGRESS_ALLOW=x.example:99"));
	REPLY_AUTO bad = http_do("POST", "/v1/egress/check",
	    "{\"host\":\"http://x.example\"}", NULL);
	check_problem(&bad, 400, "invalid_input", "\"http://x.example\"");
	assert_false(origin_asked("x.example"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_tell_where_they_come_from),
	    cmocka_unit_test(what_was_decided_is_counted_by_host),
	    cmocka_unit_test(runs_without_a_proxy_have_no_entries),
	    cmocka_unit_test(a_run_that_is_not_there_has_none),
	    cmocka_unit_test(a_change_holds_at_once_and_replaces),
	    cmocka_unit_test(a_bad_change_is_named_and_changes_nothing),
	    cmocka_unit_test(a_change_ends_what_it_does_not_admit),
	    cmocka_unit_test(a_lease_of_another_does_not_fence_it),
	    cmocka_unit_test(
		an_exited_run_keeps_its_entries_and_takes_no_others),
	    cmocka_unit_test(a_dry_run_says_which_entry_or_what_to_add),
	};

	return run_on_host_kernel("egress api", tests, setup, teardown,
	    "their network stack is their own");
}
