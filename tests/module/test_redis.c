/* store/redis: a connection that is lost, stalls, or is refused. */
#include "../port.h"
#include "../wait.h"
#include "lib/mem.h"
#include "lib/str.h"
#include "redis_fixture.h"
#include "store/script.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* CONTRACT: 503 within 1 s. The rest is room for a busy machine. */
#define CALL_BOUND_MS 10000 /* of 1000 and a busy box */

static struct redis_fixture fixture;

static int
group_open(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_DFL); /* nothing here may raise it */
	redis_fixture_open(&fixture);
	return 0;
}

static int
group_close(void **state)
{
	(void)state;
	redis_fixture_close(&fixture);
	return 0;
}

static struct redis *
new_connection(const char *url)
{
	struct err e = ERR_INIT;
	struct redis *r = redis_new(url, &e);

	if (r == NULL)
		fail_msg("%s", e.text);
	return r;
}

static bool
pings(struct redis *r)
{
	struct err e = ERR_INIT;

	return redis_ping(r, &e) == 0;
}

static int64_t
clients(void)
{
	const char *info = redis_fixture_say(&fixture, "INFO clients");
	int64_t count = -1;

	(void)sscanf(strstr(info, "connected_clients:"),
	    "connected_clients:%ld", &count);
	return count;
}

/* A port that nobody listens on. */
static void
a_command_is_binary_safe(void **state)
{
	struct err e = ERR_INIT;
	struct redis *r = new_connection(fixture.url);
	const char *set[] = {"SET", "bin", "a\0b\r\n$"};
	const size_t size[] = {3, 3, 6};
	const char *get[] = {"STRLEN", "bin"};

	(void)state;
	struct redisReply *reply = redis_command(r, 3, set, size, &e);
	assert_string_equal(reply_text(reply), "OK");
	redis_reply_free(reply);
	reply = redis_command(r, 2, get, NULL, &e);
	assert_int_equal(reply_int(reply), 6);
	redis_reply_free(reply);
	redis_free(r);
}

static void
replies_of_the_wrong_type_read_as_nothing(void **state)
{
	struct err e = ERR_INIT;
	struct redis *r = new_connection(fixture.url);
	const char *get[] = {"GET", "no-such-key"};

	(void)state;
	struct redisReply *reply = redis_command(r, 2, get, NULL, &e);
	assert_non_null(reply);
	assert_null(reply_text(reply));
	assert_int_equal(reply_int(reply), 0);
	assert_int_equal(reply_count(reply), 0);
	assert_null(reply_at(reply, 0));
	redis_reply_free(reply);
	assert_null(reply_text(NULL));
	redis_free(r);
}

static void
an_error_reply_is_an_error_and_keeps_the_connection(void **state)
{
	struct err e = ERR_INIT;
	struct redis *r = new_connection(fixture.url);
	const char *bad[] = {"NO-SUCH-COMMAND"};

	(void)state;
	assert_true(pings(r));
	int64_t before = clients();
	assert_null(redis_command(r, 1, bad, NULL, &e));
	assert_int_equal(e.kind, ERR_STORE);
	assert_true(str_starts(e.text, "ERR unknown command"));
	assert_true(pings(r));
	assert_int_equal(clients(), before);
	redis_free(r);
}

static void
a_restart_is_not_seen_by_the_next_command(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;

	(void)state;
	assert_true(pings(r));
	redis_fixture_kill(&fixture);
	redis_fixture_start(&fixture);
	check_ok(redis_ping(r, &e), &e);
	redis_free(r);
}

static void
while_redis_is_away_calls_fail_at_once(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;

	(void)state;
	assert_true(pings(r));
	redis_fixture_kill(&fixture);
	int64_t start = clock_mono_ms();
	for (int i = 0; i < 100; i++)
		check_fails(redis_ping(r, &e), &e, ERR_STORE_AWAY);
	assert_true(clock_mono_ms() - start < CALL_BOUND_MS);
	redis_fixture_start(&fixture);
	wait_until(pings(r), 30000);
	redis_free(r);
}

static void
a_stalled_redis_is_an_error_in_time(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;

	(void)state;
	assert_true(pings(r));
	redis_fixture_pause(&fixture);
	int64_t start = clock_mono_ms();
	int rc = redis_ping(r, &e);
	int64_t took = clock_mono_ms() - start;
	redis_fixture_resume(&fixture);
	check_fails(rc, &e, ERR_STORE_AWAY);
	assert_in_range(took, REDIS_CALL_MS - 1, CALL_BOUND_MS);
	wait_until(pings(r), 30000);
	redis_free(r);
}

static void
a_late_reply_never_answers_the_next_command(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;
	const char *echo[] = {"ECHO", "late"}, *get[] = {"ECHO", "next"};
	struct redisReply *reply = NULL;

	(void)state;
	assert_true(pings(r));
	redis_fixture_pause(&fixture);
	assert_null(redis_command(r, 2, echo, NULL, &e));
	redis_fixture_resume(&fixture);
	wait_until((reply = redis_command(r, 2, get, NULL, &e)) != NULL, 30000);
	assert_string_equal(reply_text(reply), "next");
	redis_reply_free(reply);
	redis_free(r);
}

/* What was sent whole is not sent again: its effect may be there already. */
static void
a_command_that_lost_its_answer_is_not_repeated(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;
	const char *incr[] = {"INCR", "count"};

	(void)state;
	(void)redis_fixture_say(&fixture, "DEL count");
	assert_true(pings(r));
	redis_fixture_pause(&fixture);
	assert_null(redis_command(r, 2, incr, NULL, &e));
	redis_fixture_resume(&fixture);
	wait_until(pings(r), 30000);
	assert_string_equal(redis_fixture_say(&fixture, "GET count"), "1");
	redis_free(r);
}

static void
a_command_too_large_for_the_socket_survives_a_restart(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;
	size_t size = 8u << 20;
	char *value = mem_alloc(size);
	const char *set[] = {"SET", "large", value};
	const size_t sizes[] = {3, 5, size};

	(void)state;
	memset(value, 'x', size);
	assert_true(pings(r));
	struct redisReply *reply = redis_command(r, 3, set, sizes, &e);
	assert_non_null(reply);
	redis_reply_free(reply);
	redis_fixture_kill(&fixture);
	redis_fixture_start(&fixture);
	wait_until(
	    (reply = redis_command(r, 3, set, sizes, &e)) != NULL, 30000);
	redis_reply_free(reply);
	(void)redis_fixture_say(&fixture, "DEL large");
	free(value);
	redis_free(r);
}

static void
the_socket_of_a_dead_server_is_away(void **state)
{
	struct redis *r = new_connection("unix:///nonexistent/redis.sock");
	struct err e = ERR_INIT;

	(void)state;
	check_fails(redis_ping(r, &e), &e, ERR_STORE_AWAY);
	redis_free(r);
	r = new_connection("redis://127.0.0.1:1");
	check_fails(redis_ping(r, &e), &e, ERR_STORE_AWAY);
	redis_free(r);
}

static void
a_password_and_a_database_are_given_on_every_connect(void **state)
{
	struct redis_fixture f = {
	    .password = "p@ss/w%rd", .tcp_port = port_free()};
	char url[128];
	struct err e = ERR_INIT;
	const char *set[] = {"SET", "in-db", "3"};

	(void)state;
	redis_fixture_open(&f);
	(void)snprintf(url, sizeof(url),
	    "redis://:p%%40ss%%2Fw%%25rd@127.0.0.1:%d/3", f.tcp_port);
	struct redis *r = new_connection(url);
	check_ok(redis_ping(r, &e), &e);
	redis_fixture_kill(&f);
	redis_fixture_start(&f);
	struct redisReply *reply = redis_command(r, 3, set, NULL, &e);
	assert_non_null(reply);
	redis_reply_free(reply);
	const char *info[] = {"INFO", "keyspace"};
	reply = redis_command(r, 2, info, NULL, &e);
	assert_non_null(strstr(reply_text(reply), "db3:keys=1"));
	redis_reply_free(reply);
	redis_free(r);
	redis_fixture_close(&f);
}

static void
a_wrong_password_is_refused_and_not_told(void **state)
{
	struct redis_fixture f = {.password = "right", .tcp_port = port_free()};
	struct err e = ERR_INIT;
	char url[128];

	(void)state;
	redis_fixture_open(&f);
	(void)snprintf(
	    url, sizeof(url), "redis://:s3cret@127.0.0.1:%d", f.tcp_port);
	struct redis *r = new_connection(url);
	check_fails(redis_ping(r, &e), &e, ERR_STORE);
	assert_null(strstr(e.text, "s3cret"));
	redis_free(r);
	r = new_connection(f.url);
	check_fails(redis_ping(r, &e), &e, ERR_STORE);
	redis_free(r);
	redis_fixture_close(&f);
}

static void
a_script_is_loaded_where_redis_does_not_know_it(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct script_call c;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 3; i++) {
		script_begin(&c, SCRIPT_run_due);
		script_add_int(&c, 1);
		check_ok(script_do(r, &c, &e), &e);
		(void)redis_fixture_say(&fixture, "SCRIPT FLUSH");
	}
	redis_free(r);
}

static void
a_redis_that_is_full_is_told_from_one_that_fails(void **state)
{
	/* Redis 7's words; those of 6 in a script. */
	static const char *const full[] = {
	    "MISCONF Errors writing to the AOF file: No space left on device",
	    "OOM command not allowed when used memory > 'maxmemory'. script: f",
	    "ERR Error running script (call to f_1): @user_script:9: "
	    "@user_script: 9: -MISCONF Errors writing to the AOF file",
	    "ERR Error running script (call to f_1): @user_script:9: "
	    "@user_script: 9: -OOM command not allowed"};
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
		const char *say[] = {
		    "EVAL", "return redis.error_reply(ARGV[1])", "0", full[i]};

		assert_null(redis_command(r, 4, say, NULL, &e));
		assert_int_equal(e.kind, ERR_STORE_SPACE);
		assert_true(str_starts(e.text, full[i]));
	}
	redis_free(r);
}

/* Really: a script of ours, in a Redis that may hold nothing more. */
static void
a_script_that_finds_no_room_says_so(void **state)
{
	struct redis *r = new_connection(fixture.url);
	struct err e = ERR_INIT;
	struct script_call c;

	(void)state;
	(void)redis_fixture_say(&fixture, "CONFIG SET maxmemory 1");
	script_begin(&c, SCRIPT_idem_begin);
	script_add(&c, "key");
	script_add(&c, "d1");
	script_add(&c, "t1");
	script_add_int(&c, 1000);
	int rc = script_do(r, &c, &e);
	(void)redis_fixture_say(&fixture, "CONFIG SET maxmemory 0");
	check_fails(rc, &e, ERR_STORE_SPACE);
	check_ok(script_do(r, &c, &e), &e);
	redis_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_command_is_binary_safe),
	    cmocka_unit_test(replies_of_the_wrong_type_read_as_nothing),
	    cmocka_unit_test(
		an_error_reply_is_an_error_and_keeps_the_connection),
	    cmocka_unit_test(a_restart_is_not_seen_by_the_next_command),
	    cmocka_unit_test(while_redis_is_away_calls_fail_at_once),
	    cmocka_unit_test(a_stalled_redis_is_an_error_in_time),
	    cmocka_unit_test(a_late_reply_never_answers_the_next_command),
	    cmocka_unit_test(a_command_that_lost_its_answer_is_not_repeated),
	    cmocka_unit_test(
		a_command_too_large_for_the_socket_survives_a_restart),
	    cmocka_unit_test(the_socket_of_a_dead_server_is_away),
	    cmocka_unit_test(
		a_password_and_a_database_are_given_on_every_connect),
	    cmocka_unit_test(a_wrong_password_is_refused_and_not_told),
	    cmocka_unit_test(a_script_is_loaded_where_redis_does_not_know_it),
	    cmocka_unit_test(a_redis_that_is_full_is_told_from_one_that_fails),
	    cmocka_unit_test(a_script_that_finds_no_room_says_so),
	};

	return cmocka_run_group_tests(tests, group_open, group_close);
}
