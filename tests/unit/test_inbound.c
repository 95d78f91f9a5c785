/* guest/inbound: what a run's init says, in the only order that makes sense. */
#include "../check.h"
#include "guest/inbound.h"

#include <string.h>

/* So many bytes come, as a receive would bring them. */
static int
inbound_feed(struct inbound *in, const char *bytes, size_t size, struct err *e)
{
	size_t room;
	char *to = inbound_space(in, &room);

	assert_true(room >= INBOUND_FEED && size <= room);
	if (size > 0)
		memcpy(to, bytes, size);
	return inbound_came(in, size, e);
}

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
		bool fresh = in->state == INBOUND_FRESH;

		if ((rc = inbound_next(in, &ev, e)) != 1) {
			/* Nothing there: then none was promised. */
			assert_true(!pending || rc < 0);
			return rc;
		}
		assert_true(pending || fresh);
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

static void
put_stat(struct buf *to)
{
	const struct wire_stat stat = {.type = WIRE_TYPE_FILE,
	    .mode = 0644,
	    .size = 7,
	    .mtime_ns = -1,
	    .tag = 9,
	    .name = "a",
	    .target = ""};

	wire_put_stat(to, &stat);
}

static void
put_info(struct buf *to)
{
	const struct wire_info info = {
	    .id = "01", .cmd = "true", .kept = true, .first = 1, .end = 2};

	wire_put_info(to, &info);
}

/* Put the frame that the letter stands for. */
static void
put_letter(struct buf *to, char letter)
{
	static const struct {
		char letter;
		enum wire_type type;
		const char *bytes;
	} plain[] = {
	    {'S', WIRE_STARTED, ""},
	    {'o', WIRE_STDOUT, "x"},
	    {'0', WIRE_STDOUT, ""},
	    {'e', WIRE_STDERR, "x"},
	    {'d', WIRE_DATA, "x"},
	    {'1', WIRE_DATA, ""},
	    {'.', WIRE_DATA_END, ""},
	    {'D', WIRE_DONE, ""},
	    {'k', WIRE_KILL, ""},
	    {'l', WIRE_LIST, ""},
	};
	const struct wire_fenced fenced = {true, 5};
	const struct wire_exit exit = {.code = 0};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].letter == letter)
			wire_put(to, plain[i].type, plain[i].bytes,
			    strlen(plain[i].bytes));
	if (letter == 'X')
		wire_put_exit(to, &exit);
	if (letter == 'F')
		wire_put_fail(to, WIRE_FAIL_CWD, "no");
	if (letter == 'r' || letter == '2')
		wire_put_room(to, letter == 'r');
	if (letter == 'G')
		wire_put_gap(to, 3);
	if (letter == 'I')
		put_info(to);
	if (letter == 'T')
		put_stat(to);
	if (letter == 'f')
		wire_put_fenced(to, &fenced);
}

/* What follows when these frames come one after the other, cut there. */
static int
hear_letters(enum inbound_kind kind, const char *letters, size_t cut,
    struct buf *heard, struct err *e)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO frames = BUF_INIT(4096);

	for (; *letters != '\0'; letters++)
		put_letter(&frames, *letters);
	assert_true(frames.size > 0 && !frames.over);
	if (cut > frames.size)
		cut = frames.size;
	in.plain = true;
	in.kind = kind;
	if (kind == INBOUND_DETACH) /* it was an exec before */
		in.state = INBOUND_RUNNING;
	in.room = in.window - 1;
	int rc = inbound_feed(&in, frames.data, cut, e);
	if (rc == 0)
		rc = hear(&in, heard, e);
	if (rc == 0)
		rc = inbound_feed(&in, frames.data + cut, frames.size - cut, e);
	if (rc == 0)
		rc = hear(&in, heard, e);
	inbound_release(&in);
	return rc;
}

/* Frames that may come one after the other, and one that may not then. */
static const struct {
	enum inbound_kind kind;
	const char *good, *bad;
} orders[] = {
    {INBOUND_EXEC, "SoerX", NULL},
    {INBOUND_EXEC, "F", NULL},
    {INBOUND_EXEC, "SXoSFk", NULL}, /* nobody listens any more */
    {INBOUND_EXEC, "", "o"},
    {INBOUND_EXEC, "", "X"},
    {INBOUND_EXEC, "", "r"},
    {INBOUND_EXEC, "S", "S"},
    {INBOUND_EXEC, "S", "F"},
    {INBOUND_EXEC, "S", "D"}, /* it was not asked to leave */
    {INBOUND_EXEC, "S", "G"},
    {INBOUND_EXEC, "S", "d"},
    {INBOUND_EXEC, "Sr", "r"}, /* more room than was taken */
    {INBOUND_EXEC, "S", "2"},  /* none */
    {INBOUND_EXEC, "S", "0"},  /* output of nothing */
    {INBOUND_EXEC, "S", "k"},  /* the host's own */
    {INBOUND_DETACH, "oerD", NULL},
    {INBOUND_DETACH, "oX", NULL},
    {INBOUND_DETACH, "", "S"},
    {INBOUND_DETACH, "", "F"},
    {INBOUND_ATTACH, "SGoeGX", NULL},
    {INBOUND_ATTACH, "F", NULL},
    {INBOUND_ATTACH, "", "G"},
    {INBOUND_ATTACH, "S", "r"},
    {INBOUND_ATTACH, "S", "D"},
    {INBOUND_ATTACH, "S", "F"},
    {INBOUND_INPUT, "SrD", NULL},
    {INBOUND_INPUT, "SF", NULL},
    {INBOUND_INPUT, "F", NULL},
    {INBOUND_INPUT, "", "D"},
    {INBOUND_INPUT, "S", "o"},
    {INBOUND_INPUT, "S", "X"},
    {INBOUND_LIST, "D", NULL},
    {INBOUND_LIST, "IID", NULL},
    {INBOUND_LIST, "IF", NULL},
    {INBOUND_LIST, "", "T"},
    {INBOUND_LIST, "I", "l"},
    {INBOUND_FENCE, "f", NULL},
    {INBOUND_FENCE, "F", NULL},
    {INBOUND_FENCE, "", "D"},
    {INBOUND_DO, "D", NULL},
    {INBOUND_DO, "F", NULL},
    {INBOUND_DO, "", "S"},
    {INBOUND_DO, "", "f"},
    {INBOUND_GET, "Tdd.", NULL},
    {INBOUND_GET, "T.", NULL},
    {INBOUND_GET, "TdF", NULL},
    {INBOUND_GET, "F", NULL},
    {INBOUND_GET, "", "d"},
    {INBOUND_GET, "T", "T"},
    {INBOUND_GET, "T", "1"}, /* data of nothing */
    {INBOUND_GET, "T", "D"},
    {INBOUND_PUT, "SD", NULL},
    {INBOUND_PUT, "SF", NULL},
    {INBOUND_PUT, "F", NULL},
    {INBOUND_PUT, "", "D"},
    {INBOUND_PUT, "S", "d"},
    {INBOUND_STATS, "D", NULL},
    {INBOUND_STATS, "TTD", NULL},
    {INBOUND_STATS, "TF", NULL},
    {INBOUND_STATS, "T", "d"},
    {INBOUND_PACK, "Sd.", NULL},
    {INBOUND_PACK, "SdF", NULL},
    {INBOUND_PACK, "", "d"},
    {INBOUND_PACK, "S", "T"},
};

static void
each_operation_has_its_order_of_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		BUF_AUTO letters = BUF_INIT(100);
		BUF_AUTO heard = BUF_INIT(100);
		struct err e = ERR_INIT;

		buf_adds(&letters, orders[i].good);
		if (orders[i].bad != NULL)
			buf_adds(&letters, orders[i].bad);
		int rc = hear_letters(
		    orders[i].kind, letters.data, SIZE_MAX, &heard, &e);
		if (rc != (orders[i].bad != NULL ? -1 : 0))
			fail_msg(
			    "row %zu (%s): %d %s", i, letters.data, rc, e.text);
		if (rc != 0)
			assert_int_equal(e.kind, ERR_GUEST);
	}
}

static void
every_order_survives_any_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		BUF_AUTO whole = BUF_INIT(100);
		struct err e = ERR_INIT;

		if (orders[i].bad != NULL)
			continue;
		check_ok(hear_letters(orders[i].kind, orders[i].good, SIZE_MAX,
			     &whole, &e),
		    &e);
		for (size_t cut = 0; cut < 300; cut++) {
			BUF_AUTO heard = BUF_INIT(100);

			check_ok(hear_letters(orders[i].kind, orders[i].good,
				     cut, &heard, &e),
			    &e);
			assert_string_equal(heard.data, whole.data);
		}
	}
}

static void
what_frames_hold_is_decoded(void **state)
{
	static const char letters[] = "TFIGf";
	static const enum inbound_kind kinds[] = {INBOUND_GET, INBOUND_PACK,
	    INBOUND_LIST, INBOUND_ATTACH, INBOUND_FENCE};
	struct inbound_event ev[5];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct inbound in = INBOUND_INIT;
		BUF_AUTO frame = BUF_INIT(1000);
		struct err e = ERR_INIT;

		in.plain = true;
		in.kind = kinds[i];
		in.state = kinds[i] == INBOUND_ATTACH ? INBOUND_RUNNING
						      : INBOUND_FRESH;
		put_letter(&frame, letters[i]);
		check_ok(inbound_feed(&in, frame.data, frame.size, &e), &e);
		assert_int_equal(inbound_next(&in, &ev[i], &e), 1);
		if (kinds[i] == INBOUND_GET)
			assert_string_equal(ev[i].stat.name, "a");
		if (kinds[i] == INBOUND_LIST)
			assert_string_equal(ev[i].info.cmd, "true");
		inbound_release(&in);
	}
	assert_int_equal(ev[0].stat.size, 7);
	assert_int_equal(ev[1].why, WIRE_FAIL_CWD);
	assert_int_equal(ev[2].info.end, 2);
	assert_int_equal(ev[3].offset, 3);
	assert_int_equal(ev[4].fenced.generation, 5);
}

static void
kept_exec_has_a_window_of_its_own(void **state)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO frames = BUF_INIT(1000);
	BUF_AUTO heard = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	in.plain = true;
	in.window = WIRE_WINDOW_KEPT;
	in.room = 0;
	wire_put(&frames, WIRE_STARTED, NULL, 0);
	wire_put_room(&frames, WIRE_WINDOW_KEPT - 1);
	check_ok(inbound_feed(&in, frames.data, frames.size, &e), &e);
	check_ok(hear(&in, &heard, &e), &e);
	assert_int_equal(in.room, WIRE_WINDOW_KEPT - 1);
	buf_reset(&frames);
	wire_put_room(&frames, 2);
	check_ok(inbound_feed(&in, frames.data, frames.size, &e), &e);
	check_fails(hear(&in, &heard, &e), &e, ERR_GUEST);
	inbound_release(&in);
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

/* Frames of each size that may come, and what follows the last one. */
static void
memory_stays_bounded_whatever_comes(void **state)
{
	static char chunk[WIRE_HEAD + WIRE_CHUNK];
	struct inbound in = INBOUND_INIT;
	BUF_AUTO all = BUF_INIT(1 << 20);
	struct inbound_event ev;
	struct err e = ERR_INIT;
	size_t heard = 0;
	int rc;

	(void)state;
	in.plain = true;
	wire_put(&all, WIRE_STARTED, NULL, 0);
	for (size_t size = 1; size <= WIRE_CHUNK; size *= 2)
		wire_put(&all, WIRE_STDOUT, chunk, size);
	for (int i = 0; i < 3; i++)
		put_letter(&all, 'X');
	for (size_t at = 0; at < all.size;) {
		size_t left = all.size - at;
		size_t size = left < INBOUND_FEED ? left : INBOUND_FEED;

		check_ok(inbound_feed(&in, all.data + at, size, &e), &e);
		at += size;
		while ((rc = inbound_next(&in, &ev, &e)) == 1)
			heard += ev.type == WIRE_STDOUT ? ev.size : 0;
		check_ok(rc, &e);
	}
	assert_int_equal(heard, 2 * WIRE_CHUNK - 1);
	for (int i = 0; i < 100; i++)
		check_ok(inbound_feed(&in, chunk, sizeof(chunk), &e), &e);
	assert_true(in.frames.room <= in.frames.max + 1);
	inbound_release(&in);
}

/* An exec frame may be 2 MiB, but not one from there. */
static void
frame_of_the_host_is_refused_before_it_is_whole(void **state)
{
	struct inbound in = INBOUND_INIT;
	BUF_AUTO heard = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	in.plain = true;
	check_ok(inbound_feed(&in, "\0\0\0\0\x40\0\0\x20\0\x01", 10, &e), &e);
	check_fails(hear(&in, &heard, &e), &e, ERR_GUEST);
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
	    cmocka_unit_test(each_operation_has_its_order_of_frames),
	    cmocka_unit_test(every_order_survives_any_cut),
	    cmocka_unit_test(what_frames_hold_is_decoded),
	    cmocka_unit_test(kept_exec_has_a_window_of_its_own),
	    cmocka_unit_test(frame_of_the_host_is_refused_before_it_is_whole),
	    cmocka_unit_test(frame_that_never_ends_is_refused_at_its_head),
	    cmocka_unit_test(memory_stays_bounded_whatever_comes),
	    cmocka_unit_test(notes_are_cut_to_their_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
