/* docker/engine on a scripted engine: answers, and the lack of them. */
#include "docker_fixture.h"
#include "lib/clock.h"
#include "lib/str.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct fake_rule fine = {
    .path = "/x", .status = 200, .body = "{\"a\":1}"};

static void
do_fine(struct engine *en, const char *method)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = docker_call(method, "/x");
	struct err e = ERR_INIT;

	check_ok(engine_do(en, &call, &reply, &e), &e);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.body.data, "{\"a\":1}");
}

static void
do_fails(
    struct engine *en, const char *method, int timeout_ms, enum err_kind kind)
{
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call(method, "/x");
	struct err e = ERR_INIT;

	call.timeout_ms = timeout_ms;
	check_fails(engine_do(en, &call, &reply, &e), &e, kind);
}

/* -- the API's version ---------------------------------------------------- */

static void
version_is_the_newest_that_both_speak(void **state)
{
	static const struct {
		const char *oldest, *newest, *want;
	} rows[] = {{"1.12", "1.41", "1.41"}, {"1.24", "1.47", "1.47"},
	    {"1.44", "1.52", "1.47"}, {"1.50", "1.60", "1.50"}};
	struct docker_fixture *d = *state;

	fake_on(d->fake, fine);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct engine *en = engine_new(fake_socket(d->fake));
		struct err e = ERR_INIT;

		fake_speaks(d->fake, rows[i].oldest, rows[i].newest);
		do_fine(en, "GET");
		assert_string_equal(engine_version(en, 1000, &e), rows[i].want);
		engine_free(en);
	}
}

static void
version_is_asked_for_once(void **state)
{
	struct docker_fixture *d = *state;

	fake_on(d->fake, fine);
	for (int i = 0; i < 5; i++)
		do_fine(d->engine, i % 2 ? "POST" : "GET");
	assert_int_equal(fake_seen(d->fake, "GET", "/version"), 1);
	assert_string_equal(fake_request(d->fake, 1).version, "1.41");
}

static void
version_is_asked_for_again_when_the_engine_was_replaced(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_on(d->fake, fine);
	do_fine(d->engine, "GET");
	/* Behind a kept connection. */
	fake_speaks(d->fake, "1.44", "1.52");
	do_fine(d->engine, "GET");
	assert_string_equal(engine_version(d->engine, 1000, &e), "1.47");
	fake_speaks(d->fake, "1.12", "1.41");
	do_fine(d->engine, "POST");
	assert_string_equal(engine_version(d->engine, 1000, &e), "1.41");
	/* After it was away. */
	fake_down(d->fake);
	do_fails(d->engine, "GET", 30000, ERR_ENGINE_AWAY);
	fake_speaks(d->fake, "1.44", "1.46");
	fake_up(d->fake);
	do_fine(d->engine, "GET");
	assert_string_equal(engine_version(d->engine, 1000, &e), "1.46");
}

static void
a_version_that_makes_no_sense_is_an_error(void **state)
{
	static const char *const bodies[] = {"", "{}", "[]", "no",
	    "{\"ApiVersion\":\"2.0\"}", "{\"ApiVersion\":141}",
	    "{\"ApiVersion\":\"1.x\"}"};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		fake_on(d->fake,
		    (struct fake_rule){
			.path = "/version", .status = 200, .body = bodies[i]});
		do_fails(d->engine, "GET", 30000, ERR_ENGINE);
	}
	fake_on(d->fake, (struct fake_rule){.path = "/version",
			     .status = 500,
			     .body = "{\"message\":\"no\"}"});
	do_fails(d->engine, "GET", 30000, ERR_ENGINE);
}

/* -- connections ---------------------------------------------------------- */

static void
gets_share_one_connection_and_changes_get_their_own(void **state)
{
	struct docker_fixture *d = *state;

	fake_on(d->fake, fine);
	for (int i = 0; i < 10; i++)
		do_fine(d->engine, "GET");
	assert_int_equal(fake_connection_count(d->fake), 1);
	do_fine(d->engine, "POST");
	do_fine(d->engine, "DELETE");
	assert_int_equal(fake_connection_count(d->fake), 3);
}

static void
a_kept_connection_may_die(void **state)
{
	struct docker_fixture *d = *state;

	fake_on(d->fake, fine);
	do_fine(d->engine, "GET");
	fake_cut_all(d->fake); /* before it is used */
	do_fine(d->engine, "GET");
	fake_fail_nth(d->fake, 1, FAKE_CLOSE); /* just when it is used */
	do_fine(d->engine, "GET");
	fake_fail_nth(d->fake, 1, FAKE_RESET);
	do_fine(d->engine, "GET");
	fake_cut_all(d->fake);
	do_fine(d->engine, "POST");
}

static void
what_changes_something_is_never_sent_twice(void **state)
{
	static const enum fake_end ends[] = {FAKE_CLOSE, FAKE_RESET};
	static const char *const methods[] = {"POST", "DELETE"};
	struct docker_fixture *d = *state;
	size_t sent = 0;

	fake_on(d->fake, fine);
	for (size_t i = 0; i < 4; i++) {
		do_fine(d->engine, "GET");
		fake_fail_nth(d->fake, 1, ends[i % 2]);
		do_fails(d->engine, methods[i / 2], 30000, ERR_ENGINE_AWAY);
		sent = fake_seen(d->fake, methods[i / 2], "/x");
		assert_int_equal(sent, i % 2 + 1);
	}
}

static void
a_missing_engine_is_away(void **state)
{
	struct docker_fixture *d = *state;
	struct err e = ERR_INIT;

	fake_down(d->fake);
	do_fails(d->engine, "GET", 30000, ERR_ENGINE_AWAY);
	check_fails(engine_ping(d->engine, 1000, &e), &e, ERR_ENGINE_AWAY);
	fake_up(d->fake);
	check_ok(engine_ping(d->engine, 30000, &e), &e);
	fake_on(d->fake, (struct fake_rule){.path = "/_ping", .status = 500});
	check_fails(engine_ping(d->engine, 30000, &e), &e, ERR_ENGINE);
}

static void
an_answer_cut_anywhere_is_an_error(void **state)
{
	static const char raw[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
				  "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = docker_call("POST", "/x");
	struct err e = ERR_INIT;

	/* All but the very last byte, which says nothing. */
	for (size_t bytes = 1; bytes < sizeof(raw) - 2; bytes++) {
		fake_on(d->fake, (struct fake_rule){.path = "/x",
				     .times = 1,
				     .raw = raw,
				     .end = FAKE_CLOSE,
				     .bytes = bytes});
		if (engine_do(d->engine, &call, &reply, &e) == 0)
			fail_msg("%zu bytes are an answer", bytes);
		/* Less than a status line need not be HTTP. */
		if (bytes >= 15)
			assert_int_equal(e.kind, ERR_ENGINE_AWAY);
	}
	fake_on(d->fake,
	    (struct fake_rule){.path = "/x", .raw = raw, .end = FAKE_CLOSE});
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_string_equal(reply.body.data, "hello");
}

static void
what_is_not_http_is_an_error(void **state)
{
	static const char *const answers[] = {"SSH-2.0-x\r\n", "hello",
	    "HTTP/1.1 what\r\n\r\n",
	    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"};
	struct docker_fixture *d = *state;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		fake_on(d->fake,
		    (struct fake_rule){
			.path = "/x", .raw = answers[i], .end = FAKE_CLOSE});
		do_fails(d->engine, "GET", 30000, ERR_ENGINE);
	}
}

/* -- deadlines ------------------------------------------------------------ */

static void
every_call_ends_at_its_deadline(void **state)
{
	static const size_t sent[] = {0, 10, 60};
	struct docker_fixture *d = *state;

	/* /version first, then the call itself, at three places. */
	fake_fail_nth(d->fake, 1, FAKE_STALL);
	do_fails(d->engine, "GET", 50, ERR_ENGINE_TIMEOUT);
	for (size_t i = 0; i < 3; i++) {
		struct fake_rule rule = fine;

		rule.end = FAKE_STALL;
		rule.bytes = sent[i];
		fake_on(d->fake, rule);
		if (sent[i] == 0)
			fake_fail_nth(d->fake, 2, FAKE_STALL);
		do_fails(d->engine, "GET", 50, ERR_ENGINE_TIMEOUT);
	}
	fake_on(d->fake, fine);
	do_fine(d->engine, "GET");
}

/* docker_call's own deadline is 30 s. */
static void
an_engine_that_hangs_is_away_at_once(void **state)
{
	struct docker_fixture *d = *state;
	int64_t start = clock_mono_ms();

	fake_fail_nth(d->fake, 1, FAKE_STALL);
	do_fails(d->engine, "GET", 30000, ERR_ENGINE_AWAY);
	assert_true(clock_mono_ms() - start < 15000);
	fake_on(d->fake, fine);
	do_fine(d->engine, "GET");
}

static void
silence_ends_a_call_and_slow_words_do_not(void **state)
{
	static const char *const words[] = {
	    "a", "b", "c", "d", "e", "f", "g", "h", NULL};
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call("POST", "/x");
	struct err e = ERR_INIT;

	/* 8 times 300 ms in all, and never 2 s of silence. */
	call.idle_ms = 2000;
	fake_on(d->fake,
	    (struct fake_rule){
		.path = "/x", .status = 200, .chunks = words, .pause_ms = 300});
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_string_equal(reply.body.data, "abcdefgh");
	call.idle_ms = 50;
	fake_on(d->fake, (struct fake_rule){.path = "/x",
			     .status = 200,
			     .body = "abc",
			     .end = FAKE_STALL,
			     .bytes = 20});
	check_fails(
	    engine_do(d->engine, &call, &reply, &e), &e, ERR_ENGINE_TIMEOUT);
}

struct reader {
	int asked, gone_after;
	char bytes[64];
	size_t size, stop_after;
};

static bool
gone(void *arg)
{
	struct reader *r = arg;

	return r->asked++ >= r->gone_after;
}

static int
consume(void *arg, const char *bytes, size_t size)
{
	struct reader *r = arg;

	assert_true(r->size + size < sizeof(r->bytes));
	memcpy(r->bytes + r->size, bytes, size);
	r->size += size;
	return r->size >= r->stop_after ? -1 : 0;
}

static void
a_caller_that_leaves_ends_the_call(void **state)
{
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call("POST", "/x");
	struct reader r = {.gone_after = 3};
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.path = "/x",
			     .status = 200,
			     .body = "abc",
			     .end = FAKE_STALL,
			     .bytes = 20});
	call.gone = gone;
	call.arg = &r;
	check_fails(engine_do(d->engine, &call, &reply, &e), &e, ERR_GONE_AWAY);
	fake_on(d->fake, fine);
	do_fine(d->engine, "GET");
}

/* -- bodies --------------------------------------------------------------- */

static void
a_body_is_consumed_as_it_comes(void **state)
{
	static const char *const words[] = {"ab", "cd", "ef", NULL};
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call("GET", "/x");
	struct reader r = {.stop_after = 100};
	struct err e = ERR_INIT;

	fake_on(d->fake,
	    (struct fake_rule){.path = "/x", .status = 200, .chunks = words});
	call.consume = consume;
	call.arg = &r;
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_string_equal(r.bytes, "abcdef");
	assert_int_equal(reply.body.size, 0);
	r = (struct reader){.stop_after = 1};
	check_fails(engine_do(d->engine, &call, &reply, &e), &e, ERR_GONE_AWAY);
	/* A refusal's body is for the caller of engine_do, not for it. */
	fake_on(d->fake,
	    (struct fake_rule){
		.path = "/x", .status = 500, .body = "{\"message\":\"no\"}"});
	r = (struct reader){.stop_after = 1};
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_int_equal(r.size, 0);
	assert_string_equal(reply.body.data, "{\"message\":\"no\"}");
}

static void
a_body_over_the_ceiling_is_an_error(void **state)
{
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = {0, BUF_INIT(6), BUF_INIT(0)};
	const struct engine_call call = docker_call("GET", "/x");
	struct err e = ERR_INIT;

	fake_on(d->fake, fine); /* 7 bytes */
	check_fails(engine_do(d->engine, &call, &reply, &e), &e, ERR_ENGINE);
	do_fine(d->engine, "GET");
}

static void
request_bodies_and_credentials_arrive(void **state)
{
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call("POST", "/x");
	struct err e = ERR_INIT;

	fake_on(d->fake, fine);
	call.json = "{\"b\":2}";
	call.registry_auth = "c2VjcmV0";
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	struct fake_request r = fake_request(d->fake, 1);
	assert_string_equal(r.body, "{\"b\":2}");
	assert_non_null(
	    strstr(r.head, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(r.head, "\r\nX-Registry-Auth: c2VjcmV0\r\n"));
	assert_null(strstr(r.head, "Expect"));
	/* And neither goes out with the next call. */
	do_fine(d->engine, "POST");
	r = fake_request(d->fake, 2);
	assert_string_equal(r.body, "");
	assert_null(strstr(r.head, "X-Registry-Auth"));
	do_fine(d->engine, "GET");
	assert_null(strstr(fake_request(d->fake, 3).head, "Content-"));
}

static void
any_status_is_an_answer(void **state)
{
	static const int statuses[] = {201, 204, 301, 304, 400, 404, 503};
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = docker_call("GET", "/x");
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		fake_on(d->fake,
		    (struct fake_rule){.path = "/x", .status = statuses[i]});
		check_ok(engine_do(d->engine, &call, &reply, &e), &e);
		assert_int_equal(reply.status, statuses[i]);
	}
}

static void *
use_an_engine(void *arg)
{
	struct engine *en = engine_new(arg);

	for (int i = 0; i < 50; i++)
		do_fine(en, i % 5 ? "GET" : "POST");
	engine_free(en);
	return NULL;
}

static void
threads_with_an_engine_each_do_not_meet(void **state)
{
	struct docker_fixture *d = *state;
	char socket[128];
	pthread_t threads[8];

	fake_on(d->fake, fine);
	(void)snprintf(socket, sizeof(socket), "%s", fake_socket(d->fake));
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, use_an_engine, socket),
		    0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(fake_seen(d->fake, NULL, "/x"), 8 * 50);
	assert_int_equal(fake_connection_count(d->fake), 8 * (1 + 10));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(version_is_the_newest_that_both_speak),
	    docker_test(version_is_asked_for_once),
	    docker_test(
		version_is_asked_for_again_when_the_engine_was_replaced),
	    docker_test(a_version_that_makes_no_sense_is_an_error),
	    docker_test(gets_share_one_connection_and_changes_get_their_own),
	    docker_test(a_kept_connection_may_die),
	    docker_test(what_changes_something_is_never_sent_twice),
	    docker_test(a_missing_engine_is_away),
	    docker_test(threads_with_an_engine_each_do_not_meet),
	    docker_test(an_answer_cut_anywhere_is_an_error),
	    docker_test(what_is_not_http_is_an_error),
	    docker_test(every_call_ends_at_its_deadline),
	    docker_test(an_engine_that_hangs_is_away_at_once),
	    docker_test(silence_ends_a_call_and_slow_words_do_not),
	    docker_test(a_caller_that_leaves_ends_the_call),
	    docker_test(a_body_is_consumed_as_it_comes),
	    docker_test(a_body_over_the_ceiling_is_an_error),
	    docker_test(request_bodies_and_credentials_arrive),
	    docker_test(any_status_is_an_answer),
	};
	struct err e = ERR_INIT;

	if (engine_setup(&e) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
