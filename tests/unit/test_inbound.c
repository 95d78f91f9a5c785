/* guest/inbound: what a run's init says, in the only order that makes sense. */
#include "../check.h"
#include "guest/inbound.h"

#include <string.h>

/* Put size bytes onto that stream of Docker's. */
static void
wrap(struct buf *to, char stream, const char *bytes, size_t size)
{
	const char head[8] = {
	    stream, 0, 0, 0, 0, 0, (char)(size >> 8), (char)(size & 0xff)};

	buf_add(to, head, sizeof(head));
	buf_add(to, bytes, size);
}

static struct buf
session(void)
{
	struct buf all = BUF_INIT(4096);
	BUF_AUTO frames = BUF_INIT(4096);
	const struct wire_exit exit = {.code = 3};

	wire_put(&frames, WIRE_STARTED, NULL, 0);
	wire_put(&frames, WIRE_STDOUT, "hello", 5);
	wire_put_room(&frames, 0);
	wire_put(&frames, WIRE_STDERR, "oh", 2);
	wrap(&all, 1, frames.data, 8);
	wrap(&all, 2, "a note", 6);
	wrap(&all, 1, frames.data + 8, frames.size - 8);
	buf_reset(&frames);
	wire_put_exit(&frames, &exit);
	wire_put(&frames, WIRE_STDOUT, "late", 4);
	wrap(&all, 1, frames.data, frames.size);
	return all;
}

/* Append each event as a letter and its bytes. */
static int
hear(struct inbound *in, struct buf *heard, struct err *e)
{
	struct inbound_event ev;
	int rc;

	for (;;) {
		bool pending = inbound_pending(in);

		if ((rc = inbound_next(in, &ev, e)) != 1) {
			/* Nothing there: then none was promised. */
			assert_true(!pending || rc < 0);
			return rc;
		}
		assert_true(
		    pending || ev.type == WIRE_STARTED || ev.type == WIRE_FAIL);
		buf_addc(heard, (char)ev.type);
		if (ev.type == WIRE_STDOUT || ev.type == WIRE_STDERR)
			buf_add(heard, ev.bytes, ev.size);
	}
}

static void
events_survive_any_cut(void **state)
{
	struct buf all = session();

	(void)state;
	for (size_t cut = 0; cut <= all.size; cut++) {
		struct inbound in = INBOUND_INIT;
		BUF_AUTO heard = BUF_INIT(100);
		struct err e = ERR_INIT;

		check_ok(inbound_feed(&in, all.data, cut, &e), &e);
		check_ok(hear(&in, &heard, &e), &e);
		check_ok(
		    inbound_feed(&in, all.data + cut, all.size - cut, &e), &e);
		check_ok(hear(&in, &heard, &e), &e);
		assert_string_equal(heard.data, "@AhelloBohC");
		assert_string_equal(in.notes.data, "a note");
		assert_int_equal(in.state, INBOUND_OVER);
		inbound_release(&in);
	}
	buf_release(&all);
}

static void
words_of_the_engine_are_kept_as_notes(void **state)
{
	static const char words[] = "OCI runtime exec failed: no\r\n";
	BUF_AUTO all = BUF_INIT(4096);

	(void)state;
	wrap(&all, 1, words, 10);
	wrap(&all, 1, words + 10, sizeof(words) - 11);
	for (size_t cut = 0; cut <= all.size; cut++) {
		struct inbound in = INBOUND_INIT;
		BUF_AUTO heard = BUF_INIT(100);
		struct err e = ERR_INIT;

		check_ok(inbound_feed(&in, all.data, cut, &e), &e);
		check_ok(hear(&in, &heard, &e), &e);
		check_ok(
		    inbound_feed(&in, all.data + cut, all.size - cut, &e), &e);
		check_ok(hear(&in, &heard, &e), &e);
		assert_int_equal(heard.size, 0);
		size_t said_size;
		const char *said = inbound_words(&in, &said_size);
		assert_int_equal(said_size, sizeof(words) - 1);
		assert_memory_equal(said, words, said_size);
		assert_int_equal(in.state, INBOUND_REFUSED);
		inbound_release(&in);
	}
}

/* What follows when these frames come one after the other. */
static void
assert_order(const char *types, bool good)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO frames = BUF_INIT(4096);
	BUF_AUTO all = BUF_INIT(4096);
	BUF_AUTO heard = BUF_INIT(100);
	const struct wire_exit exit = {.code = 0};
	struct err e = ERR_INIT;

	for (; *types != '\0'; types++) {
		if (*types == WIRE_EXIT)
			wire_put_exit(&frames, &exit);
		else if (*types == WIRE_FAIL)
			wire_put_fail(&frames, WIRE_FAIL_CWD, "no");
		else if (*types == WIRE_ROOM)
			wire_put_room(&frames, 1);
		else
			wire_put(&frames, (enum wire_type) * types, NULL, 0);
	}
	wrap(&all, 1, frames.data, frames.size);
	check_ok(inbound_feed(&in, all.data, all.size, &e), &e);
	in.room -= 1;
	if (good)
		check_ok(hear(&in, &heard, &e), &e);
	else
		check_fails(hear(&in, &heard, &e), &e, ERR_GUEST);
	inbound_release(&in);
}

static void
frames_out_of_order_are_refused(void **state)
{
	(void)state;
	assert_order("@AC", true);
	assert_order("D", true);
	assert_order("@EC", true);
	assert_order("@CA@D", true); /* nobody listens any more */
	assert_order("A", false);
	assert_order("C", false);
	assert_order("E", false);
	assert_order("@@", false);
	assert_order("@D", false);
	assert_order("@EE", false); /* more room than was taken */
	assert_order("@\3", false); /* the host's own */
}

static void
frame_that_never_ends_is_refused_at_its_head(void **state)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO all = BUF_INIT(4096);
	BUF_AUTO heard = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	wrap(&all, 1, "\0\0\0\0\x40\0\0\0\x20\x41", 10);
	check_ok(inbound_feed(&in, all.data, all.size, &e), &e);
	check_fails(hear(&in, &heard, &e), &e, ERR_GUEST);
	inbound_release(&in);
}

/* An exec frame may be 2 MiB, but not one from there. */
static void
memory_stays_bounded_whatever_comes(void **state)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO all = BUF_INIT(4096);
	BUF_AUTO heard = BUF_INIT(100);
	struct err e = ERR_INIT;
	int rc = 0;

	(void)state;
	wrap(&all, 1, "\0\0\0\0\x40\0\0\x20\0\x01", 10);
	check_ok(inbound_feed(&in, all.data, all.size, &e), &e);
	check_ok(hear(&in, &heard, &e), &e);
	for (int i = 0; i < 2000 && rc == 0; i++) {
		static const char zeros[8 + 0x400] = {1, 0, 0, 0, 0, 0, 4, 0};

		rc = inbound_feed(&in, zeros, sizeof(zeros), &e);
		if (rc == 0)
			rc = hear(&in, &heard, &e);
	}
	assert_int_equal(rc, -1);
	assert_int_equal(e.kind, ERR_GUEST);
	assert_true(in.frames.room <= in.frames.max + 1);
	inbound_release(&in);
}

static void
notes_are_cut_to_their_limit(void **state)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO all = BUF_INIT(8192);
	struct err e = ERR_INIT;
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text));
	wrap(&all, 2, text, sizeof(text));
	check_ok(inbound_feed(&in, all.data, all.size, &e), &e);
	check_ok(inbound_feed(&in, all.data, all.size, &e), &e);
	assert_int_equal(in.notes.size, INBOUND_NOTES);
	inbound_release(&in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(events_survive_any_cut),
	    cmocka_unit_test(words_of_the_engine_are_kept_as_notes),
	    cmocka_unit_test(frames_out_of_order_are_refused),
	    cmocka_unit_test(frame_that_never_ends_is_refused_at_its_head),
	    cmocka_unit_test(memory_stays_bounded_whatever_comes),
	    cmocka_unit_test(notes_are_cut_to_their_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
