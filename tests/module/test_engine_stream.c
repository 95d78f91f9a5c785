/* docker/engine's streams: answers that are taken piece by piece. */
#include "../wait.h"
#include "docker_fixture.h"
#include "lib/buf.h"
#include "lib/str.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD "HTTP/1.1 200 OK\r\n"
#define BLOCK (16u * 1024)

/* Sends blocks of letters, "aaa...bbb...", and counts them. */
struct letters {
	int count; /* of blocks; -1: until nobody reads */
	atomic_int sent;
	atomic_bool ended;
};

static void
send_letters(void *arg, int fd)
{
	struct letters *l = arg;
	char block[BLOCK];

	for (int i = 0; l->count < 0 || i < l->count; i++) {
		memset(block, 'a' + i % 26, sizeof(block));
		if (send(fd, block, sizeof(block), MSG_NOSIGNAL) <
		    (ssize_t)sizeof(block))
			break;
		atomic_fetch_add(&l->sent, 1);
	}
	atomic_store(&l->ended, true);
}

static struct fake_rule
letters_rule(struct letters *l)
{
	return (struct fake_rule){
	    .path = "/x", .raw = HEAD "\r\n", .stream = send_letters, .arg = l};
}

static struct engine_stream *
open_well(struct engine *en, const struct engine_call *call)
{
	struct err e = ERR_INIT;
	struct engine_stream *s = engine_stream_open(en, call, &e);

	if (s == NULL)
		fail_msg("kind %d: %s", e.kind, e.text);
	assert_int_equal(engine_stream_reply(s)->status, 200);
	return s;
}

/* All of it; in order, as send_letters sends it. */
static uint64_t
take_letters(struct engine_stream *s)
{
	uint64_t total = 0;
	const char *bytes;
	size_t size;
	struct err e = ERR_INIT;
	int rc;

	while ((rc = engine_stream_next(s, &bytes, &size, &e)) > 0) {
		for (size_t i = 0; i < size; i++)
			if (bytes[i] != (char)('a' + (total + i) / BLOCK % 26))
				fail_msg(
				    "byte %zu is wrong", (size_t)total + i);
		total += size;
	}
	check_ok(rc, &e);
	return total;
}

static void
a_stream_gives_every_byte_in_order(void **state)
{
	struct docker_fixture *d = *state;
	const struct engine_call call = docker_call("GET", "/x");

	for (int count = 0; count < 600; count = count * 7 + 1) {
		struct letters l = {.count = count};

		fake_on(d->fake, letters_rule(&l));
		struct engine_stream *s = open_well(d->engine, &call);
		assert_int_equal(take_letters(s), (size_t)count * BLOCK);
		engine_stream_free(s);
	}
}

/* The sender comes to a stop, far from its end. */
static void
a_taker_that_does_not_take_stops_the_sender(void **state)
{
	struct docker_fixture *d = *state;
	const struct engine_call call = docker_call("GET", "/x");
	struct letters l = {.count = 4096}; /* 64 MiB */
	const char *bytes;
	size_t size;
	struct err e = ERR_INIT;

	fake_on(d->fake, letters_rule(&l));
	struct engine_stream *s = open_well(d->engine, &call);
	int before = -1;
	wait_until((before == atomic_load(&l.sent) && before > 0) ||
		       ((before = atomic_load(&l.sent)), false),
	    10000);
	assert_true(before < 256);
	assert_int_equal(engine_stream_next(s, &bytes, &size, &e), 1);
	assert_true(size <= 512u * 1024);
	engine_stream_free(s);
	/* And is told that nobody will read on. */
	wait_until(atomic_load(&l.ended), 30000);
	assert_true(atomic_load(&l.sent) < 512);
}

static void
other_calls_go_on_beside_a_stream(void **state)
{
	struct docker_fixture *d = *state;
	const struct engine_call call = docker_call("GET", "/x");
	const struct engine_call other = docker_call("GET", "/y");
	struct letters l = {.count = 100};

	fake_on(d->fake, letters_rule(&l));
	fake_on(d->fake,
	    (struct fake_rule){.path = "/y", .status = 200, .body = "{}"});
	struct engine_stream *s = open_well(d->engine, &call);
	for (int i = 0; i < 3; i++) {
		ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
		struct err e = ERR_INIT;

		check_ok(engine_do(d->engine, &other, &reply, &e), &e);
		assert_int_equal(reply.status, 200);
	}
	assert_int_equal(take_letters(s), 100 * BLOCK);
	engine_stream_free(s);
}

static void
a_refusal_has_its_status_and_words(void **state)
{
	struct docker_fixture *d = *state;
	const struct engine_call call = docker_call("GET", "/x");
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.path = "/x",
			     .status = 404,
			     .body = "{\"message\":\"no such thing\"}"});
	struct engine_stream *s = engine_stream_open(d->engine, &call, &e);
	assert_non_null(s);
	assert_int_equal(engine_stream_reply(s)->status, 404);
	check_fails(engine_refused(engine_stream_reply(s), "cannot", &e), &e,
	    ERR_ABSENT);
	assert_string_equal(e.text, "cannot: no such thing");
	engine_stream_free(s);
}

static void
a_stream_that_is_cut_fails_after_what_came(void **state)
{
	static const char raw[] =
	    HEAD "Content-Length: 100\r\n\r\nno more than this";
	struct docker_fixture *d = *state;
	const struct engine_call call = docker_call("GET", "/x");
	const char *bytes;
	size_t size, total = 0;
	struct err e = ERR_INIT;
	int rc;

	/* In its head; in its body. */
	for (size_t cut = 5; cut < strlen(HEAD); cut += 5) {
		fake_on(d->fake, (struct fake_rule){.path = "/x",
				     .raw = raw,
				     .end = FAKE_CLOSE,
				     .bytes = cut});
		assert_null(engine_stream_open(d->engine, &call, &e));
		assert_true(e.kind == ERR_ENGINE_AWAY || e.kind == ERR_ENGINE);
	}
	fake_on(d->fake,
	    (struct fake_rule){.path = "/x", .raw = raw, .end = FAKE_CLOSE});
	struct engine_stream *s = open_well(d->engine, &call);
	while ((rc = engine_stream_next(s, &bytes, &size, &e)) > 0)
		total += size;
	check_fails(rc, &e, ERR_ENGINE_AWAY);
	assert_int_equal(total, strlen("no more than this"));
	check_fails(
	    engine_stream_next(s, &bytes, &size, &e), &e, ERR_ENGINE_AWAY);
	engine_stream_free(s);
}

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

static void
a_stream_that_stalls_ends_by_silence_deadline_or_a_caller_that_left(
    void **state)
{
	static const char raw[] = HEAD "Content-Length: 100\r\n\r\nhalf";
	struct docker_fixture *d = *state;
	struct engine_call calls[3];
	static const enum err_kind kinds[] = {
	    ERR_ENGINE_TIMEOUT, ERR_ENGINE_TIMEOUT, ERR_GONE_AWAY};

	for (size_t i = 0; i < 3; i++)
		calls[i] = docker_call("GET", "/x");
	calls[0].idle_ms = 200;
	calls[1].timeout_ms = 300;
	fake_on(d->fake,
	    (struct fake_rule){.path = "/x", .raw = raw, .end = FAKE_STALL});
	for (size_t i = 0; i < 3; i++) {
		const char *bytes;
		size_t size;
		struct err e = ERR_INIT;
		int rc;

		/* Who left is noticed in the first wait already. */
		calls[i].gone = i == 2 ? at_once : NULL;
		struct engine_stream *s =
		    engine_stream_open(d->engine, &calls[i], &e);
		if (s == NULL) {
			assert_int_equal(e.kind, kinds[i]);
			continue;
		}
		while ((rc = engine_stream_next(s, &bytes, &size, &e)) > 0)
			;
		check_fails(rc, &e, kinds[i]);
		engine_stream_free(s);
	}
}

/* What the taker does between two pieces is not the engine's silence. */
static void
a_slow_taker_is_no_silence_of_the_engine(void **state)
{
	struct docker_fixture *d = *state;
	struct engine_call call = docker_call("GET", "/x");
	struct letters l = {.count = 300};

	call.idle_ms = 1500;
	fake_on(d->fake, letters_rule(&l));
	struct engine_stream *s = open_well(d->engine, &call);
	int64_t until = clock_mono_ms() + 1700;
	wait_until(clock_mono_ms() >= until, 10000);
	assert_int_equal(take_letters(s), 300 * BLOCK);
	engine_stream_free(s);
}

static void
a_head_is_asked_for_and_a_field_of_it_given(void **state)
{
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	struct engine_call call = docker_call("HEAD", "/x");
	struct err e = ERR_INIT;

	call.field = "X-Wanted";
	fake_on(d->fake, (struct fake_rule){.path = "/x",
			     .method = "HEAD",
			     .raw = HEAD "X-Wanted2: no\r\nx-wanted:  a b \r\n"
					 "Content-Length: 1000\r\n\r\n"});
	for (int i = 0; i < 2; i++) {
		check_ok(engine_do(d->engine, &call, &reply, &e), &e);
		assert_int_equal(reply.status, 200);
		assert_string_equal(reply.field.data, "a b");
		assert_int_equal(reply.body.size, 0);
	}
	/* A stale one of an earlier call is not given. */
	call.path = "/y";
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_int_equal(reply.field.size, 0);
}

static void
a_head_finds_an_engine_that_was_replaced(void **state)
{
	struct docker_fixture *d = *state;
	ENGINE_REPLY_AUTO reply = ENGINE_REPLY_INIT;
	const struct engine_call call = docker_call("HEAD", "/x");
	struct err e = ERR_INIT;

	fake_on(d->fake, (struct fake_rule){.path = "/x", .raw = HEAD "\r\n"});
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	fake_speaks(d->fake, "1.44", "1.52");
	check_ok(engine_do(d->engine, &call, &reply, &e), &e);
	assert_int_equal(reply.status, 200);
	assert_string_equal(engine_version(d->engine, 1000, &e), "1.47");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    docker_test(a_stream_gives_every_byte_in_order),
	    docker_test(a_taker_that_does_not_take_stops_the_sender),
	    docker_test(other_calls_go_on_beside_a_stream),
	    docker_test(a_refusal_has_its_status_and_words),
	    docker_test(a_stream_that_is_cut_fails_after_what_came),
	    docker_test(
		a_stream_that_stalls_ends_by_silence_deadline_or_a_caller_that_left),
	    docker_test(a_slow_taker_is_no_silence_of_the_engine),
	    docker_test(a_head_is_asked_for_and_a_field_of_it_given),
	    docker_test(a_head_finds_an_engine_that_was_replaced),
	};
	struct err e = ERR_INIT;

	check_ok(engine_setup(&e), &e);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
