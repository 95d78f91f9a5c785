/* guest/ against a run's init that hangs up anywhere, says its bytes one by
 * one, or floods: each operation. */
#include "../check.h"
#include "guest/object.h"
#include "peer_fixture.h"

#include <string.h>

static const struct wire_exit ended = {.code = 3};
static const struct wire_info info = {.id = PEER_ID, .cmd = "true"};
static const struct wire_stat stat = {
    .type = WIRE_TYPE_FILE, .mode = 0644, .size = 4, .name = "f", .target = ""};

/* -- each operation to its end --------------------------------------------- */

/* Until its last event; -1 unless that is an exit. */
static int
to_exit(struct guest *g, struct err *e)
{
	struct guest_event ev = {.type = GUEST_NOTHING};
	int rc = g != NULL ? 0 : -1;

	while (rc == 0 && ev.type != GUEST_EXIT && ev.type != GUEST_LOST)
		rc = guest_next(g, -1, PEER_PATIENCE_MS, &ev, e);
	if (rc == 0 && ev.type == GUEST_LOST)
		rc = err_set(e, ERR_GUEST, "lost");
	guest_free(g);
	return rc;
}

static void
say_exec(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_STDOUT, "out");
	say(WIRE_STDERR, "err");
	wire_put_exit(&peer.say, &ended);
}

static int
do_exec(struct err *e)
{
	return to_exit(peer_exec(false, NULL, e), e);
}

static void
say_detach(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_STDOUT, "out");
	say_after(WIRE_DETACH, WIRE_DONE);
}

static int
do_detach(struct err *e)
{
	struct guest *g = peer_exec(true, NULL, e);
	int rc = g != NULL ? guest_detach(g, PEER_PATIENCE_MS, e) : -1;

	guest_free(g);
	return rc;
}

static void
say_follow(void)
{
	say(WIRE_STARTED, "");
	wire_put_gap(&peer.say, 9);
	say(WIRE_STDOUT, "out");
	wire_put_exit(&peer.say, &ended);
}

static int
do_follow(struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	static const struct wire_attach attach = {PEER_ID, 0};

	return to_exit(guest_follow(NULL, &at, &attach, e), e);
}

static void
say_input(void)
{
	say(WIRE_STARTED, "");
	say_after(WIRE_STDIN_END, WIRE_DONE);
}

static int
do_input(struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	static const struct wire_act act = {
	    .what = WIRE_ACT_INPUT, .id = PEER_ID, .generation = 1};
	struct guest *g = guest_input(NULL, &at, &act, e);
	int rc =
	    g != NULL ? guest_feed(g, "in", 2, -1, PEER_PATIENCE_MS, e) : -1;

	if (rc == 0)
		rc = guest_feed_end(g, -1, PEER_PATIENCE_MS, e);
	guest_free(g);
	return rc;
}

static void
say_list(void)
{
	wire_put_info(&peer.say, &info);
	wire_put_info(&peer.say, &info);
	say(WIRE_DONE, "");
}

static void
count_one(void *arg, const struct wire_info *told)
{
	int *count = arg;

	assert_string_equal(told->id, PEER_ID);
	(*count)++;
}

static int
do_list(struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	int count = 0;

	return guest_list(NULL, &at, count_one, &count, e);
}

static void
say_done(void)
{
	say(WIRE_DONE, "");
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
say_fence(void)
{
	wire_put_fenced(&peer.say, &(struct wire_fenced){true, 7});
}

static int
do_fence(struct err *e)
{
	const struct guest_place at = peer_place(&peer);
	uint64_t known;
	bool done;

	return guest_fence(NULL, &at, 7, &done, &known, e);
}

/* All that comes. */
static int
drain(struct guest_file *f, struct err *e)
{
	const char *bytes;
	size_t size;
	int rc = f != NULL ? 1 : -1;

	while (rc == 1)
		rc = guest_file_next(f, &bytes, &size, e);
	guest_file_free(f);
	return rc;
}

static void
say_get(void)
{
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DATA, "da");
	say(WIRE_DATA, "ta");
	say(WIRE_DATA_END, "");
}

static int
do_get(struct err *e)
{
	struct guest_file *f = peer_file(WIRE_FILE_GET, e);
	struct wire_stat told;

	if (f != NULL && (guest_file_stat(f, &told, e) != 1 ||
			     guest_file_read(f, 0, 4, e) != 0)) {
		guest_file_free(f);
		return -1;
	}
	return drain(f, e);
}

static void
say_stats(void)
{
	wire_put_stat(&peer.say, &stat);
	wire_put_stat(&peer.say, &stat);
	say(WIRE_DONE, "");
}

static int
do_stats(struct err *e)
{
	struct guest_file *f = peer_file(WIRE_FILE_LIST, e);
	struct wire_stat told;
	int rc = f != NULL ? 1 : -1;

	while (rc == 1)
		rc = guest_file_stat(f, &told, e);
	guest_file_free(f);
	return rc;
}

static int
do_mkdir(struct err *e)
{
	struct guest_file *f = peer_file(WIRE_FILE_MKDIR, e);
	int rc = f != NULL ? guest_file_done(f, e) : -1;

	guest_file_free(f);
	return rc;
}

static void
say_put(void)
{
	say(WIRE_STARTED, "");
	say_after(WIRE_DATA_END, WIRE_DONE);
}

static int
do_put(struct err *e)
{
	struct guest_file *f = peer_file(WIRE_FILE_PUT, e);
	int rc = f != NULL ? guest_file_send(f, "data", 4, e) : -1;

	if (rc == 0)
		rc = guest_file_end(f, e);
	guest_file_free(f);
	return rc;
}

static void
say_pack(void)
{
	say(WIRE_STARTED, "");
	say(WIRE_DATA, "archive");
	say(WIRE_DATA_END, "");
}

static int
do_pack(struct err *e)
{
	return drain(peer_file(WIRE_FILE_PACK, e), e);
}

static const struct {
	const char *name;
	void (*say)(void);
	int (*act)(struct err *e);
} operations[] = {
    {"exec", say_exec, do_exec},
    {"detach", say_detach, do_detach},
    {"follow", say_follow, do_follow},
    {"input", say_input, do_input},
    {"list", say_list, do_list},
    {"act", say_done, do_act},
    {"fence", say_fence, do_fence},
    {"get", say_get, do_get},
    {"stats", say_stats, do_stats},
    {"put", say_put, do_put},
    {"mkdir", say_done, do_mkdir},
    {"pack", say_pack, do_pack},
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static void
what_is_whole_is_done_and_what_is_cut_is_not(void **state)
{

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++) {
		say_nothing();
		operations[i].say();
		size_t whole = peer.say.size;
		for (size_t size = 0; size <= whole; size++) {
			struct err e = ERR_INIT;

			say_nothing();
			operations[i].say();
			peer.say.size = size;
			peer_play(&peer);
			int rc = operations[i].act(&e);
			peer_join(&peer);
			if (rc != (size == whole ? 0 : -1) ||
			    (rc != 0 && e.kind != ERR_GUEST))
				fail_msg("%s, %zu of %zu: %d kind %d %s",
				    operations[i].name, size, whole, rc, e.kind,
				    e.text);
		}
	}
}

static void
bytes_one_by_one_are_the_same(void **state)
{

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++) {
		struct err e = ERR_INIT;

		operations[i].say();
		peer.step = 1;
		peer_play(&peer);
		check_ok(operations[i].act(&e), &e);
		peer_join(&peer);
	}
}

/* Frames that are right for another operation, without end. */
static void
floods_are_not_listened_to(void **state)
{
	static const char *const frames[] = {"", "x"};
	static const enum wire_type types[] = {
	    WIRE_STDOUT, WIRE_DATA, WIRE_STARTED, WIRE_KILL};

	(void)state;
	for (size_t i = 0; i < OPERATIONS; i++)
		for (size_t k = 0; k < 8; k++) {
			struct err e = ERR_INIT;

			/* What is heard as output is for the next test. */
			if (types[k / 2] == WIRE_STDOUT && k % 2 == 1)
				continue;
			if (types[k / 2] == WIRE_DATA && k % 2 == 1 &&
			    operations[i].act == do_pack)
				continue;
			say_nothing();
			operations[i].say();
			/* Behind all but its last frame, which is small. */
			peer.say.size -= operations[i].say == say_fence ? 14
					 : operations[i].say == say_exec ||
						 operations[i].say == say_follow
					     ? 11
					     : 5;
			size_t before = peer.say.size;
			say(types[k / 2], frames[k % 2]);
			if (peer.say.over) /* such a frame there is not */
				continue;
			peer.flood = peer.say.size - before;
			peer.end = PEER_FLOOD;
			peer_play(&peer);
			check_fails(operations[i].act(&e), &e, ERR_GUEST);
			peer_join(&peer);
		}
	say_nothing();
}

#define PEER_TEST(f) cmocka_unit_test_teardown(f, peer_stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(what_is_whole_is_done_and_what_is_cut_is_not),
	    PEER_TEST(bytes_one_by_one_are_the_same),
	    PEER_TEST(floods_are_not_listened_to),
	};

	return cmocka_run_group_tests(tests, peer_setup, peer_teardown);
}
