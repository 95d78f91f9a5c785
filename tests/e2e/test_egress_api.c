/* The routes about egress: what a run may reach, changing that while it runs,
 * the log of what was decided, and asking beforehand. */
#include "harness.h"
#include "origin.h"
#include "views.h"

#include "lib/allow.h"

#include <stdlib.h>
#include <string.h>

#define END_MS 30000
#define LOG "egress/log"

static char run[ULID_SIZE];
static char www[32], git[32]; /* name:port, of the same server */

/* One that has no entries of its own, or this one. */
static void
new_run(const char *entry, char ret_id[ULID_SIZE])
{
	json_t *body = json_pack(
	    "{s:s,s:s}", "image", IMAGE_PLAIN, "network", "allowlist");

	if (entry != NULL)
		json_object_set_new(
		    body, "egressAllow", json_pack("[s]", entry));
	run_from(body, ret_id);
}

static int
setup(void **state)
{
	(void)state;
	origin_start();
	(void)snprintf(www, sizeof(www), "www.test:%d", origin.http);
	(void)snprintf(git, sizeof(git), "git.test:%d", origin.http);
	const char *const env[] = {origin.resolv, origin.private,
	    "SBX_EGRESS_ALLOW=.Box.example., other.example:8443", NULL};
	stack_start(env);
	image_need(IMAGE_PLAIN);
	new_run(www, run);
	return 0;
}

static int
teardown(void **state)
{
	run_end(run);
	origin_stop();
	return stack_stop(state);
}

/* The status that the run gets of GET http://TO/hello. */
static int
fetch(const char *id, const char *to)
{
	char cmd[256];
	int status = 0;

	(void)snprintf(cmd, sizeof(cmd),
	    "printf 'GET http://%s/hello HTTP/1.1\\r\\nHost: %s\\r\\n"
	    "Connection: close\\r\\n\\r\\n' | nc -w 10 127.0.0.1 3128",
	    to, to);
	EXECUTED_AUTO x = exec_sh(id, cmd);
	if (sscanf(x.out.data, "HTTP/1.1 %d ", &status) != 1)
		fail_msg("no answer: %s%s", x.out.data, x.err.data);
	return status;
}

static struct reply
put(const char *id, json_t *entries)
{
	return http_json("PUT", run_url(id, "egress"),
	    json_pack("{s:o}", "egressAllow", entries));
}

static struct reply
get(const char *id, const char *what)
{
	return http_do("GET", run_url(id, what), NULL, NULL);
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
	REPLY_AUTO r = get(run, "egress");
	assert_int_equal(r.status, 200);
	assert_string_equal(
	    json_string_value(json_at(r.json, "network")), "allowlist");
	for (size_t i = 0; i < allow_builtin_count; i++)
		assert_string_equal(
		    source(&r, allow_builtin[i].entry), "builtin");
	assert_string_equal(source(&r, ".box.example"), "server");
	assert_string_equal(source(&r, "other.example:8443"), "server");
	assert_string_equal(source(&r, www), "run");
	assert_string_equal(
	    json_string_value(json_at(r.json, "server")), "test-box");
}

static json_int_t
counted(const char *id, const char *host, const char *what)
{
	REPLY_AUTO r = get(id, "egress");
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
	new_run(www, id);
	assert_int_equal(counted(id, "www.test", "allowed"), 0);
	assert_int_equal(fetch(id, www), 200);
	assert_int_equal(fetch(id, www), 200);
	assert_int_equal(fetch(id, git), 403);
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
		REPLY_AUTO r = get(id, "egress");
		assert_int_equal(r.status, 200);
		assert_string_equal(
		    json_string_value(json_at(r.json, "network")), networks[i]);
		assert_int_equal(
		    json_array_size(json_at(r.json, "entries")), 0);
		assert_null(json_object_get(r.json, "counters"));
		REPLY_AUTO changed = put(id, json_pack("[s]", www));
		check_problem(&changed, 400, "invalid_input", "\"allowlist\"");
		REPLY_AUTO log = get(id, LOG);
		check_problem(&log, 400, "invalid_input", "\"allowlist\"");
		run_end(id);
	}
}

static void
a_run_that_is_not_there_has_none(void **state)
{
	static const char none[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

	(void)state;
	REPLY_AUTO r = get(none, "egress");
	check_problem(&r, 404, "run_not_found", "");
	REPLY_AUTO log = get(none, LOG);
	check_problem(&log, 404, "run_not_found", "");
	REPLY_AUTO changed = put(none, json_array());
	check_problem(&changed, 404, "run_not_found", "");
}

/* -- changing them --------------------------------------------------------- */

static void
a_change_holds_at_once_and_replaces(void **state)
{
	(void)state;
	assert_int_equal(fetch(run, www), 200);
	assert_int_equal(fetch(run, git), 403);
	REPLY_AUTO r = put(run, json_pack("[s,s]", git, "GIT.test.:80"));
	assert_int_equal(r.status, 200);
	assert_string_equal(source(&r, git), "run");
	assert_string_equal(source(&r, "git.test:80"), "run");
	assert_string_equal(source(&r, www), "");
	assert_string_equal(source(&r, ".box.example"), "server");
	assert_int_equal(fetch(run, git), 200);
	assert_int_equal(fetch(run, www), 403);
	/* None at all. */
	REPLY_AUTO empty = http_do("PUT", run_url(run, "egress"), "{}", NULL);
	assert_int_equal(empty.status, 200);
	assert_int_equal(fetch(run, git), 403);
	REPLY_AUTO back = put(run, json_pack("[s]", www));
	assert_int_equal(back.status, 200);
	assert_int_equal(fetch(run, www), 200);
}

static void
a_bad_change_is_named_and_changes_nothing(void **state)
{
	(void)state;
	REPLY_AUTO url =
	    put(run, json_pack("[s,s]", git, "https://x.example/"));
	check_problem(&url, 400, "invalid_input", "\"https://x.example/\"");
	REPLY_AUTO type = put(run, json_pack("[i]", 1));
	check_problem(&type, 400, "invalid_input", "egressAllow[0]");
	REPLY_AUTO text = put(run, json_string("x.example"));
	check_problem(&text, 400, "invalid_input", "egressAllow");
	assert_int_equal(fetch(run, www), 200);
	assert_int_equal(fetch(run, git), 403);
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
	    www, www);
	json_t *body = json_pack("{s:s}", "cmd", cmd);
	char *text = json_dumps(body, 0);
	json_decref(body);
	struct stream *s = stream_open(run_url(run, "exec"), text, NULL);
	free(text);
	const struct event *ev = stream_await(s, "stdout", END_MS);
	assert_non_null(ev);
	assert_non_null(strstr(ev->data, " 200 "));
	/* One that still admits it leaves it alone. */
	REPLY_AUTO more = put(run, json_pack("[s,s]", git, www));
	assert_int_equal(more.status, 200);
	assert_int_equal(fetch(run, git), 200);
	assert_null(stream_await(s, "exit", 200));
	REPLY_AUTO less = put(run, json_pack("[s]", git));
	assert_int_equal(less.status, 200);
	assert_non_null(stream_await(s, "exit", END_MS));
	stream_close(s);
	REPLY_AUTO back = put(run, json_pack("[s]", www));
	assert_int_equal(back.status, 200);
}

static void
a_lease_of_another_does_not_fence_it(void **state)
{
	(void)state;
	REPLY_AUTO lease = http_do("POST", run_url(run, "lease"),
	    "{\"owner\":\"a person\",\"ttlSec\":60}", NULL);
	assert_int_equal(lease.status, 200);
	REPLY_AUTO r = put(run, json_pack("[s]", www));
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
	new_run(www, id);
	(void)snprintf(name, sizeof(name), "%s", id);
	str_lower(name);
	(void)snprintf(path, sizeof(path),
	    "/containers/teploy-sbx-%s/kill?signal=KILL", name);
	REPLY_AUTO killed = docker_do("POST", path, NULL);
	assert_int_equal(killed.status, 204);
	wait_until(str_eq(views_state(id), "exited"), END_MS);
	REPLY_AUTO r = get(id, "egress");
	assert_int_equal(r.status, 200);
	assert_string_equal(source(&r, www), "run");
	assert_null(json_object_get(r.json, "counters"));
	REPLY_AUTO changed = put(id, json_array());
	check_problem(&changed, 409, "run_not_running", "");
	REPLY_AUTO log = get(id, LOG);
	check_problem(&log, 409, "run_not_running", "");
	run_end(id);
}

/* -- the log --------------------------------------------------------------- */

/* The next decision, which must be of that verdict about that host; its n. */
static json_int_t
decision(struct stream *s, const char *verdict, const char *host)
{
	const struct event *ev = stream_await(s, "decision", END_MS);

	assert_non_null(ev);
	json_t *o = json_loads(ev->data, 0, NULL);
	assert_non_null(o);
	if (!str_eq(json_string_value(json_at(o, "verdict")), verdict) ||
	    !str_eq(json_string_value(json_at(o, "host")), host))
		fail_msg("not %s, %s: %s", verdict, host, ev->data);
	json_int_t n = json_integer_value(json_at(o, "n"));
	json_decref(o);
	return n;
}

static void
decisions_are_told_as_they_are_made(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	new_run(www, id);
	assert_int_equal(fetch(id, git), 403);
	struct stream *s = stream_get(run_url(id, LOG), NULL);
	assert_int_equal(stream_status(s), 200);
	assert_non_null(strstr(stream_headers(s)->data, "text/event-stream"));
	assert_int_equal(decision(s, "denied", "git.test"), 1);
	for (json_int_t n = 2; n < 5; n++) {
		assert_int_equal(fetch(id, www), 200);
		assert_int_equal(decision(s, "allowed", "www.test"), n);
	}
	/* The end of the run is that of its log, and told. */
	run_end(id);
	const struct event *end = stream_await(s, "end", END_MS);
	assert_non_null(end);
	assert_string_equal(end->data, "{\"next\":5}");
	wait_until(stream_ended(s), END_MS);
	stream_close(s);
}

static void
a_log_can_be_read_from_a_position_and_to_its_end(void **state)
{
	char id[ULID_SIZE];

	(void)state;
	new_run(NULL, id);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fetch(id, git), 403);
	struct stream *s =
	    stream_get(run_url(id, LOG "?from=2&follow=0"), NULL);
	assert_int_equal(decision(s, "denied", "git.test"), 2);
	assert_int_equal(decision(s, "denied", "git.test"), 3);
	const struct event *end = stream_next(s, END_MS);
	assert_non_null(end);
	assert_string_equal(end->name, "end");
	assert_string_equal(end->data, "{\"next\":4}");
	wait_until(stream_ended(s), END_MS);
	stream_close(s);
	REPLY_AUTO r = http_do("GET", run_url(id, LOG "?follow=0&from=3"), NULL,
	    "Accept: application/x-ndjson", NULL);
	assert_int_equal(r.status, 200);
	if (!str_starts(r.body.data, "{\"event\":\"ok\"}\n{\"event\":"
				     "\"decision\",\"data\":{\"n\":3,") ||
	    !str_ends(
		r.body.data, "}}\n{\"event\":\"end\",\"data\":{\"next\":4}}\n"))
		fail_msg("%s", r.body.data);
	REPLY_AUTO bad = get(id, LOG "?from=-1");
	check_problem(&bad, 400, "invalid_input", "from");
	REPLY_AUTO odd = get(id, LOG "?follow=maybe");
	check_problem(&odd, 400, "invalid_input", "follow");
	run_end(id);
}

static void
a_reader_that_leaves_ends_its_request(void **state)
{
	(void)state;
	struct stream *s = stream_get(
	    run_url(run, LOG), "X-Request-Id: a-reader-that-leaves", NULL);
	assert_int_equal(stream_status(s), 200);
	assert_false(stack_logged("a-reader-that-leaves"));
	stream_close(s);
	wait_until(stack_logged("a-reader-that-leaves"), END_MS);
	/* Any number of them, one after the other. */
	for (int i = 0; i < 40; i++) {
		s = stream_get(run_url(run, LOG), NULL);
		assert_int_equal(stream_status(s), 200);
		stream_close(s);
	}
}

#define FOLLOWERS 12 /* proxy/control.h */

static bool
may_follow(const char *id)
{
	struct stream *s = stream_get(run_url(id, LOG), NULL);
	const struct event *ok = stream_next(s, END_MS); /* ":" */
	const struct event *ev = ok != NULL ? stream_next(s, END_MS) : NULL;
	bool follows = ev != NULL && str_eq(ev->name, "decision");

	stream_close(s);
	return follows;
}

/* What they hold up is neither each other nor a change. */
static void
so_many_may_follow_and_one_more_is_told(void **state)
{
	struct stream *s[FOLLOWERS];
	char id[ULID_SIZE];

	(void)state;
	new_run(www, id);
	for (int i = 0; i < FOLLOWERS; i++) {
		s[i] = stream_get(run_url(id, LOG), NULL);
		assert_int_equal(stream_status(s[i]), 200);
	}
	assert_int_equal(fetch(id, git), 403);
	for (int i = 0; i < FOLLOWERS; i++)
		assert_int_equal(decision(s[i], "denied", "git.test"), 1);
	struct stream *more = stream_get(run_url(id, LOG), NULL);
	const struct event *error = stream_await(more, "error", END_MS);
	assert_non_null(error);
	assert_non_null(strstr(error->data, "\"code\":\"busy\""));
	wait_until(stream_ended(more), END_MS);
	stream_close(more);
	REPLY_AUTO changed = put(id, json_pack("[s]", git));
	assert_int_equal(changed.status, 200);
	for (int i = 0; i < FOLLOWERS; i++)
		stream_close(s[i]);
	/* Each that left makes room. */
	wait_until(may_follow(id), END_MS);
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
	    cmocka_unit_test(decisions_are_told_as_they_are_made),
	    cmocka_unit_test(a_log_can_be_read_from_a_position_and_to_its_end),
	    cmocka_unit_test(a_reader_that_leaves_ends_its_request),
	    cmocka_unit_test(so_many_may_follow_and_one_more_is_told),
	    cmocka_unit_test(a_dry_run_says_which_entry_or_what_to_add),
	};

	return run_on_host_kernel("egress api", tests, setup, teardown,
	    "their network stack is their own");
}
