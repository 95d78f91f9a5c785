/* The log of what the proxy of a run decided: live, again, and by many. */
#include "egress.h"
#include "harness.h"
#include "origin.h"

#include <string.h>

#define END_MS 30000
#define LOG "egress/log"

static char run[ULID_SIZE];

static int
setup(void **state)
{
	(void)state;
	origin_start();
	const char *const env[] = {origin.resolv, origin.private, NULL};
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
	egress_new(origin.www, id);
	assert_int_equal(egress_fetch(id, origin.git), 403);
	struct stream *s = stream_get(run_url(id, LOG), NULL);
	assert_int_equal(stream_status(s), 200);
	assert_non_null(strstr(stream_headers(s)->data, "text/event-stream"));
	assert_int_equal(decision(s, "denied", "git.test"), 1);
	for (json_int_t n = 2; n < 5; n++) {
		assert_int_equal(egress_fetch(id, origin.www), 200);
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
	egress_new(NULL, id);
	for (int i = 0; i < 3; i++)
		assert_int_equal(egress_fetch(id, origin.git), 403);
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
	REPLY_AUTO bad = egress_get(id, LOG "?from=-1");
	check_problem(&bad, 400, "invalid_input", "from");
	REPLY_AUTO odd = egress_get(id, LOG "?follow=maybe");
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
	egress_new(origin.www, id);
	for (int i = 0; i < FOLLOWERS; i++) {
		s[i] = stream_get(run_url(id, LOG), NULL);
		assert_int_equal(stream_status(s[i]), 200);
	}
	assert_int_equal(egress_fetch(id, origin.git), 403);
	for (int i = 0; i < FOLLOWERS; i++)
		assert_int_equal(decision(s[i], "denied", "git.test"), 1);
	struct stream *more = stream_get(run_url(id, LOG), NULL);
	const struct event *error = stream_await(more, "error", END_MS);
	assert_non_null(error);
	assert_non_null(strstr(error->data, "\"code\":\"busy\""));
	wait_until(stream_ended(more), END_MS);
	stream_close(more);
	REPLY_AUTO changed = egress_put(id, json_pack("[s]", origin.git));
	assert_int_equal(changed.status, 200);
	for (int i = 0; i < FOLLOWERS; i++)
		stream_close(s[i]);
	/* Each that left makes room. */
	wait_until(may_follow(id), END_MS);
	run_end(id);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(decisions_are_told_as_they_are_made),
	    cmocka_unit_test(a_log_can_be_read_from_a_position_and_to_its_end),
	    cmocka_unit_test(a_reader_that_leaves_ends_its_request),
	    cmocka_unit_test(so_many_may_follow_and_one_more_is_told),
	};

	return run_on_host_kernel("egress log", tests, setup, teardown,
	    "their network stack is their own");
}
