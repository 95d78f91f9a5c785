/* guest/object against a run's init that the workload may own. */
#include "../check.h"
#include "guest/object.h"
#include "lib/fd.h"
#include "lib/mem.h"
#include "peer_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define LARGE (4u << 20)

static const struct wire_exit ended = {.code = 3};
static const struct wire_info info = {.id = PEER_ID, .cmd = "true"};
static void
count_one(void *arg, const struct wire_info *told)
{
	int *count = arg;

	assert_string_equal(told->id, PEER_ID);
	(*count)++;
}

static void
list_has_an_end(void **state)
{
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;
	int count = 0;

	(void)state;
	wire_put_info(&peer.say, &info);
	peer.flood = peer.say.size;
	peer.end = PEER_FLOOD;
	peer_play(&peer);
	check_fails(
	    guest_list(NULL, &at, count_one, &count, &e), &e, ERR_GUEST);
	assert_int_equal(count, GUEST_LIST_MAX);
	peer_join(&peer);
}

static long
resident_kb(void)
{
	struct rusage use;

	assert_int_equal(getrusage(RUSAGE_SELF, &use), 0);
	return use.ru_maxrss;
}

static void
output_without_end_takes_no_memory(void **state)
{
	static const struct wire_attach attach = {PEER_ID, 0};
	const struct guest_place at = peer_place(&peer);
	char *chunk = mem_zalloc(WIRE_CHUNK);
	struct err e = ERR_INIT;
	struct guest_event ev;
	uint64_t heard = 0;

	(void)state;
	say(WIRE_STARTED, "");
	wire_put(&peer.say, WIRE_STDOUT, chunk, WIRE_CHUNK);
	peer.flood = WIRE_HEAD + WIRE_CHUNK;
	peer.end = PEER_FLOOD;
	peer_play(&peer);
	struct guest *g = guest_follow(NULL, &at, &attach, &e);
	assert_non_null(g);
	long before = resident_kb();
	while (heard < (256u << 20)) {
		check_ok(guest_next(g, -1, PEER_PATIENCE_MS, &ev, &e), &e);
		assert_int_equal(ev.type, GUEST_STDOUT);
		heard += ev.size;
	}
	assert_true(resident_kb() - before < 4096);
	guest_free(g);
	peer_join(&peer);
	free(chunk);
}

/* -- events of their own --------------------------------------------------- */

static void
say_follow(void)
{
	say(WIRE_STARTED, "");
	wire_put_gap(&peer.say, 9);
	say(WIRE_STDOUT, "out");
	wire_put_exit(&peer.say, &ended);
}

static void
gap_tells_where_output_goes_on(void **state)
{
	static const struct wire_attach attach = {PEER_ID, 5};
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;
	struct guest_event ev;

	(void)state;
	say_follow();
	peer_play(&peer);
	struct guest *g = guest_follow(NULL, &at, &attach, &e);
	assert_non_null(g);
	check_ok(guest_next(g, -1, PEER_PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_GAP);
	assert_int_equal(ev.offset, 9);
	check_ok(guest_next(g, -1, PEER_PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_STDOUT);
	check_ok(guest_next(g, -1, PEER_PATIENCE_MS, &ev, &e), &e);
	assert_int_equal(ev.type, GUEST_EXIT);
	assert_int_equal(ev.exit.code, 3);
	guest_free(g);
	peer_join(&peer);
}

static int
do_act(struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	static const struct wire_act act = {
	    .what = WIRE_ACT_END, .id = PEER_ID, .generation = 1};

	return guest_act(NULL, &at, &act, e);
}

static void
refusals_name_the_exec(void **state)
{
	static const struct {
		enum wire_fail why;
		enum err_kind kind;
		const char *text;
	} refusals[] = {
	    {WIRE_FAIL_EXEC_ABSENT, ERR_EXEC_ABSENT,
		"There is no exec 01J in this run, or it is forgotten."},
	    {WIRE_FAIL_EXEC_ENDED, ERR_EXEC_ENDED,
		"Exec 01J has ended, or takes no input."},
	    {WIRE_FAIL_EXEC_TTY, ERR_INPUT, "Exec 01J has no terminal."},
	    {WIRE_FAIL_FENCED, ERR_LEASE_SUPERSEDED, "superseded: later"},
	    {WIRE_FAIL_INTERNAL, ERR_GUEST, "later"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct err e = ERR_INIT;

		wire_put_fail(&peer.say, refusals[i].why, "later");
		peer_play(&peer);
		check_fails(do_act(&e), &e, refusals[i].kind);
		assert_string_equal(e.text, refusals[i].text);
		peer_join(&peer);
	}
}

static void
detach_comes_after_all_of_the_input(void **state)
{
	char *text = mem_zalloc(WIRE_WINDOW_KEPT + 1);
	struct err e = ERR_INIT;
	size_t size;

	(void)state;
	memset(text, 'x', WIRE_WINDOW_KEPT);
	say(WIRE_STARTED, "");
	peer.hear = WIRE_WINDOW_KEPT;
	peer_play(&peer);
	struct guest *g = peer_exec(true, text, &e);
	assert_non_null(g);
	/* It hangs up having heard most of it: nothing was promised. */
	check_fails(guest_detach(g, PEER_PATIENCE_MS, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);

	say(WIRE_STARTED, "");
	peer.end = PEER_STALL;
	peer_play(&peer);
	g = peer_exec(true, "text", &e);
	assert_non_null(g);
	check_fails(guest_detach(g, 50, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);

	say(WIRE_STARTED, "");
	say(WIRE_STDOUT, "out");
	say_after(WIRE_DETACH, WIRE_DONE);
	peer.hear = SIZE_MAX; /* until this side hangs up */
	peer_play(&peer);
	g = peer_exec(true, "text", &e);
	assert_non_null(g);
	check_ok(guest_detach(g, PEER_PATIENCE_MS, &e), &e);
	guest_free(g);
	peer_join(&peer);
	assert_int_equal(next_heard(&size), WIRE_EXEC);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 4);
	assert_int_equal(next_heard(&size), WIRE_STDIN_END);
	assert_int_equal(next_heard(&size), WIRE_DETACH);
	assert_int_equal(next_heard(&size), 0);
	free(text);
}

/* -- input ----------------------------------------------------------------- */

static struct guest *
begin_input(struct err *e)
{
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = PEER_ID, .generation = 1};
	const struct guest_place at = peer_place(&peer);

	peer_play(&peer);
	struct guest *g = guest_input(NULL, &at, &act, e);
	if (g == NULL)
		fail_msg("%s", e->text);
	return g;
}

static void
input_waits_for_room(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;
	int fd[2];

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_CLOSE;
	peer.hear = SIZE_MAX;
	struct guest *g = begin_input(&e);
	check_ok(
	    guest_feed(g, bytes, WIRE_WINDOW, -1, PEER_PATIENCE_MS, &e), &e);
	check_fails(guest_feed(g, bytes, 1, -1, 50, &e), &e, ERR_GUEST);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	fd_close(&fd[1]);
	check_fails(guest_feed(g, bytes, 1, fd[0], PEER_PATIENCE_MS, &e), &e,
	    ERR_GONE_AWAY);
	fd_close(&fd[0]);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_of_an_exec_that_ends_is_refused(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	wire_put_fail(&peer.say, WIRE_FAIL_EXEC_ENDED, "");
	struct guest *g = begin_input(&e);
	check_fails(guest_feed(g, bytes, LARGE, -1, PEER_PATIENCE_MS, &e), &e,
	    ERR_EXEC_ENDED);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_is_not_done_before_its_end(void **state)
{
	char *bytes = mem_zalloc(LARGE);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	say(WIRE_DONE, "");
	struct guest *g = begin_input(&e);
	check_fails(guest_feed(g, bytes, LARGE, -1, PEER_PATIENCE_MS, &e), &e,
	    ERR_GUEST);
	guest_free(g);
	peer_join(&peer);
	free(bytes);
}

static void
input_that_was_taken_is_done(void **state)
{
	const struct guest_place at = peer_place(&peer);
	struct err e = ERR_INIT;

	(void)state;
	say(WIRE_STARTED, "");
	peer.end = PEER_CLOSE;
	peer.hear = SIZE_MAX;
	peer_play(&peer);
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = PEER_ID, .generation = 1};
	struct guest *g = guest_input(NULL, &at, &act, &e);
	assert_non_null(g);
	check_ok(guest_feed(g, "in", 2, -1, PEER_PATIENCE_MS, &e), &e);
	check_ok(guest_feed(g, "put", 3, -1, PEER_PATIENCE_MS, &e), &e);
	check_fails(guest_feed_end(g, -1, 50, &e), &e, ERR_GUEST);
	guest_free(g);
	peer_join(&peer);
	size_t size;
	assert_int_equal(next_heard(&size), WIRE_ACT);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 2);
	assert_int_equal(next_heard(&size), WIRE_STDIN);
	assert_int_equal(size, 3);
	assert_int_equal(next_heard(&size), WIRE_STDIN_END);
}

#define PEER_TEST(f) cmocka_unit_test_teardown(f, peer_stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(list_has_an_end),
	    PEER_TEST(output_without_end_takes_no_memory),
	    PEER_TEST(gap_tells_where_output_goes_on),
	    PEER_TEST(refusals_name_the_exec),
	    PEER_TEST(detach_comes_after_all_of_the_input),
	    PEER_TEST(input_waits_for_room),
	    PEER_TEST(input_of_an_exec_that_ends_is_refused),
	    PEER_TEST(input_is_not_done_before_its_end),
	    PEER_TEST(input_that_was_taken_is_done),
	};

	return cmocka_run_group_tests(tests, peer_setup, peer_teardown);
}
