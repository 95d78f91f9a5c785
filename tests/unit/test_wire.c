/* lib/wire: the frames between the host and a run's init. */
#include "lib/wire.h"
#include "wire_frame.h"

#include <string.h>

static const char *const argv[] = {"printf", "%s\n", "", "a b", NULL};
static const char *const env[] = {"A=1", "PATH=", "B==", NULL};
static const char *const none[] = {NULL};

static const struct wire_exec whole = {
    .argv = argv,
    .env = env,
    .cwd = "/work",
    .user = "1000:users",
    .timeout_ms = 0x01020304,
    .open_stdin = true,
    .generation = UINT64_C(0x0102030405060708),
};

static void
assert_same_list(const char *const *a, const char *const *b)
{
	for (; *a != NULL && *b != NULL; a++, b++)
		assert_string_equal(*a, *b);
	assert_ptr_equal(*a, *b);
}

static void
exec_comes_back_as_it_went(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x;
	const char *payload;
	size_t size;

	(void)state;
	wire_put_exec(&b, &whole);
	assert_int_equal(only_frame(&b, &payload, &size), WIRE_EXEC);
	check_ok(wire_get_exec(payload, size, &store, &x, &e), &e);
	assert_same_list(x.argv, argv);
	assert_same_list(x.env, env);
	assert_null(x.script);
	assert_string_equal(x.cwd, "/work");
	assert_string_equal(x.user, "1000:users");
	assert_int_equal(x.timeout_ms, 0x01020304);
	assert_true(x.open_stdin);
	assert_true(x.generation == whole.generation);
}

static void
exec_without_a_generation_is_of_the_first_version(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x = whole;

	(void)state;
	x.generation = 0;
	wire_put_exec(&b, &x);
	assert_int_equal(b.data[WIRE_HEAD], 1);
	check_ok(wire_get_exec(
		     b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &x, &e),
	    &e);
	assert_true(x.generation == 0);
	assert_same_list(x.argv, argv);
}

static void
script_takes_the_place_of_argv(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x = {
	    .script = "echo \"$0\"\n", .env = none, .cwd = "/", .user = ""};
	const char *payload;
	size_t size;

	(void)state;
	wire_put_exec(&b, &x);
	(void)only_frame(&b, &payload, &size);
	memset(&x, 0xff, sizeof(x));
	check_ok(wire_get_exec(payload, size, &store, &x, &e), &e);
	assert_null(x.argv);
	assert_string_equal(x.script, "echo \"$0\"\n");
	assert_null(x.env[0]);
	assert_false(x.open_stdin);
}

static void
every_shortened_exec_is_refused(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	struct wire_exec x;

	(void)state;
	wire_put_exec(&b, &whole);
	for (size_t size = 0; size < b.size - WIRE_HEAD; size++) {
		BUF_AUTO store = BUF_INIT(4096);
		struct err e = ERR_INIT;

		check_fails(
		    wire_get_exec(b.data + WIRE_HEAD, size, &store, &x, &e), &e,
		    ERR_GUEST);
	}
}

static void
another_version_is_told_apart(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x;

	(void)state;
	wire_put_exec(&b, &whole);
	b.data[WIRE_HEAD] = WIRE_VERSION + 1;
	check_fails(wire_get_exec(
			b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &x, &e),
	    &e, ERR_UNSUPPORTED);
}

static void
exec_that_makes_no_sense_is_refused(void **state)
{
	static const char *const unnamed[] = {"=1", NULL};
	static const char *const no_value[] = {"A", NULL};
	const struct wire_exec bad[] = {
	    {.argv = none, .env = none, .cwd = "/", .user = ""},
	    {.argv = argv, .env = unnamed, .cwd = "/", .user = ""},
	    {.argv = argv, .env = no_value, .cwd = "/", .user = ""},
	    {.argv = argv, .env = none, .cwd = "work", .user = ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		BUF_AUTO b = BUF_INIT(WIRE_MAX);
		BUF_AUTO store = BUF_INIT(4096);
		struct err e = ERR_INIT;
		struct wire_exec x;

		wire_put_exec(&b, &bad[i]);
		check_fails(wire_get_exec(b.data + WIRE_HEAD,
				b.size - WIRE_HEAD, &store, &x, &e),
		    &e, ERR_GUEST);
	}
}

static void
exits_come_back_as_they_went(void **state)
{
	const struct wire_exit exits[] = {{.code = 0}, {.code = 255},
	    {.code = 137, .signal = 9, .oom_killed = true},
	    {.code = -1, .timed_out = true}, {.code = 127, .not_found = true},
	    {.code = -1, .fenced = true}};

	(void)state;
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
		BUF_AUTO b = BUF_INIT(100);
		struct err e = ERR_INIT;
		struct wire_exit x;
		const char *payload;
		size_t size;

		wire_put_exit(&b, &exits[i]);
		assert_int_equal(only_frame(&b, &payload, &size), WIRE_EXIT);
		check_ok(wire_get_exit(payload, size, &x, &e), &e);
		assert_int_equal(x.code, exits[i].code);
		assert_int_equal(x.signal, exits[i].signal);
		assert_int_equal(x.timed_out, exits[i].timed_out);
		assert_int_equal(x.oom_killed, exits[i].oom_killed);
		assert_int_equal(x.not_found, exits[i].not_found);
		assert_int_equal(x.fenced, exits[i].fenced);
	}
}

static void
exit_codes_out_of_range_are_refused(void **state)
{
	const struct wire_exit exits[] = {{.code = -2}, {.code = 256},
	    {.code = 0x7fffffff}, {.code = 0, .signal = 65}};

	(void)state;
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
		BUF_AUTO b = BUF_INIT(100);
		struct err e = ERR_INIT;
		struct wire_exit x;

		wire_put_exit(&b, &exits[i]);
		check_fails(wire_get_exit(
				b.data + WIRE_HEAD, b.size - WIRE_HEAD, &x, &e),
		    &e, ERR_GUEST);
	}
}

static void
failure_text_is_cut_to_its_limit(void **state)
{
	BUF_AUTO b = BUF_INIT(2000);
	struct err e = ERR_INIT;
	char text[WIRE_TEXT + 100];
	enum wire_fail why;
	const char *payload, *said;
	size_t size, said_size;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	wire_put_fail(&b, WIRE_FAIL_CWD, text);
	assert_int_equal(only_frame(&b, &payload, &size), WIRE_FAIL);
	check_ok(wire_get_fail(payload, size, &why, &said, &said_size, &e), &e);
	assert_int_equal(why, WIRE_FAIL_CWD);
	assert_int_equal(said_size, WIRE_TEXT);
	check_fails(wire_get_fail("\0x", 2, &why, &said, &said_size, &e), &e,
	    ERR_GUEST);
}

static void
frames_survive_any_cut(void **state)
{
	BUF_AUTO b = BUF_INIT(1000);
	struct err e = ERR_INIT;
	enum wire_type type;
	const char *payload;
	size_t size, used;

	(void)state;
	wire_put(&b, WIRE_STARTED, NULL, 0);
	wire_put(&b, WIRE_STDOUT, "hello", 5);
	for (size_t cut = 0; cut < b.size; cut++) {
		int rc =
		    wire_next(b.data, cut, &type, &payload, &size, &used, &e);

		assert_int_equal(rc, cut >= WIRE_HEAD);
		rc = wire_next(b.data + WIRE_HEAD,
		    cut > WIRE_HEAD ? cut - WIRE_HEAD : 0, &type, &payload,
		    &size, &used, &e);
		assert_int_equal(rc, 0);
	}
	assert_int_equal(wire_next(b.data + WIRE_HEAD, b.size - WIRE_HEAD,
			     &type, &payload, &size, &used, &e),
	    1);
	assert_int_equal(type, WIRE_STDOUT);
	assert_memory_equal(payload, "hello", 5);
	assert_int_equal(size, 5);
}

static void
frames_over_their_limit_are_refused_at_their_head(void **state)
{
	static const struct {
		const char *head;
		int rc;
	} heads[] = {
	    {"\0\0\1\0\x41", 0},  /* 64 KiB of output: more bytes needed */
	    {"\1\0\1\0\x41", -1}, /* one more */
	    {"\0\0\x20\0\1", 0},  /* 2 MiB of exec */
	    {"\1\0\x20\0\1", -1}, /* one more */
	    {"\0\0\0\0\1", -1},	  /* an empty exec */
	    {"\1\0\0\0\4", -1},	  /* a kill with a payload */
	    {"\5\0\0\0\x43", -1}, /* a short exit */
	    {"\7\0\0\0\x43", -1}, /* a long exit */
	    {"\0\0\0\0\x7f", -1}, /* no such type */
	    {"\0\0\0\0\0", -1},	  /* no such type */
	    {"OCI r", -1},	  /* Docker's own words */
	    {"\xff\xff\xff\xff\x41", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct err e = ERR_INIT;
		enum wire_type type;
		const char *payload;
		size_t size, used;

		assert_int_equal(wire_next(heads[i].head, WIRE_HEAD, &type,
				     &payload, &size, &used, &e),
		    heads[i].rc);
		if (heads[i].rc < 0)
			assert_int_equal(e.kind, ERR_GUEST);
	}
}

static void
frame_that_does_not_fit_leaves_no_trace(void **state)
{
	char chunk[WIRE_CHUNK + 1] = {0};
	BUF_AUTO b = BUF_INIT(2 * WIRE_CHUNK);
	BUF_AUTO small = BUF_INIT(20);

	(void)state;
	wire_put(&b, WIRE_STDOUT, chunk, WIRE_CHUNK);
	assert_false(b.over);
	wire_put(&b, WIRE_STDOUT, chunk, sizeof(chunk));
	assert_true(b.over);
	assert_int_equal(b.size, WIRE_HEAD + WIRE_CHUNK);
	wire_put_exec(&small, &whole);
	assert_true(small.over);
	assert_int_equal(small.size, 0);
}

static void
room_is_never_more_than_the_largest_window(void **state)
{
	BUF_AUTO b = BUF_INIT(100);
	struct err e = ERR_INIT;
	uint32_t room = 0;

	(void)state;
	wire_put_room(&b, WIRE_WINDOW_KEPT);
	wire_put_room(&b, WIRE_WINDOW_KEPT + 1);
	check_ok(wire_get_room(b.data + WIRE_HEAD, 4, &room, &e), &e);
	assert_int_equal(room, WIRE_WINDOW_KEPT);
	check_fails(
	    wire_get_room(b.data + 9 + WIRE_HEAD, 4, &room, &e), &e, ERR_GUEST);
}

static void
fences_come_back_as_they_went(void **state)
{
	const struct wire_fenced answers[] = {{true, 1}, {false, UINT64_MAX}};
	struct err e = ERR_INIT;
	uint64_t generation;
	const char *payload;
	size_t size;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		BUF_AUTO b = BUF_INIT(100);
		BUF_AUTO c = BUF_INIT(100);
		struct wire_fenced x;

		wire_put_fence(&b, answers[i].generation);
		assert_int_equal(only_frame(&b, &payload, &size), WIRE_FENCE);
		check_ok(wire_get_fence(payload, size, &generation, &e), &e);
		assert_true(generation == answers[i].generation);
		wire_put_fenced(&c, &answers[i]);
		assert_int_equal(only_frame(&c, &payload, &size), WIRE_FENCED);
		check_ok(wire_get_fenced(payload, size, &x, &e), &e);
		assert_int_equal(x.done, answers[i].done);
		assert_true(x.generation == answers[i].generation);
		c.data[WIRE_HEAD] = 2;
		check_fails(
		    wire_get_fenced(payload, size, &x, &e), &e, ERR_GUEST);
	}
}

static void
exec_with_an_id_is_of_the_third_version(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	struct err e = ERR_INIT;
	struct wire_exec x = whole;

	(void)state;
	x.id = "01JABCDEFGHJKMNPQRSTVWXYZ0";
	x.keep = x.go_on = x.feedable = true;
	x.cols = 0xfffe;
	x.rows = 24;
	wire_put_exec(&b, &x);
	assert_int_equal(b.data[WIRE_HEAD], 3);
	assert_true(wire_peek_keep(b.data));
	for (size_t size = 0; size <= b.size - WIRE_HEAD; size++) {
		BUF_AUTO store = BUF_INIT(4096);
		struct wire_exec y;

		int rc =
		    wire_get_exec(b.data + WIRE_HEAD, size, &store, &y, &e);
		if (size < b.size - WIRE_HEAD) {
			check_fails(rc, &e, ERR_GUEST);
			continue;
		}
		check_ok(rc, &e);
		assert_string_equal(y.id, x.id);
		assert_true(y.keep && y.go_on && y.feedable && y.open_stdin);
		assert_int_equal(y.cols, 0xfffe);
		assert_int_equal(y.rows, 24);
		assert_true(y.generation == whole.generation);
		assert_same_list(y.argv, argv);
		assert_same_list(y.env, env);
	}
}

static void
exec_that_is_to_be_left_is_of_the_fourth_version(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x = whole, y;

	(void)state;
	x.id = "a";
	x.keep = x.leaving = true;
	wire_put_exec(&b, &x);
	assert_int_equal(b.data[WIRE_HEAD], 4);
	assert_true(wire_peek_keep(b.data));
	check_ok(wire_get_exec(
		     b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &y, &e),
	    &e);
	assert_true(y.keep && y.leaving && !y.go_on);
	assert_string_equal(y.id, "a");
	/* An older frame cannot say so. */
	b.data[WIRE_HEAD] = 3;
	check_fails(wire_get_exec(
			b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &y, &e),
	    &e, ERR_GUEST);
}

static void
only_an_exec_with_an_id_is_kept(void **state)
{
	BUF_AUTO b = BUF_INIT(WIRE_MAX);
	BUF_AUTO store = BUF_INIT(4096);
	struct err e = ERR_INIT;
	struct wire_exec x = whole;

	(void)state;
	x.keep = x.go_on = x.feedable = true;
	x.cols = 80;
	wire_put_exec(&b, &x);
	assert_int_equal(b.data[WIRE_HEAD], 2);
	assert_false(wire_peek_keep(b.data));
	check_ok(wire_get_exec(
		     b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &x, &e),
	    &e);
	assert_null(x.id);
	assert_false(x.keep || x.go_on || x.feedable || x.cols != 0);
	/* Nor can an older frame carry its flags. */
	b.data[WIRE_HEAD + 1] |= 4;
	check_fails(wire_get_exec(
			b.data + WIRE_HEAD, b.size - WIRE_HEAD, &store, &x, &e),
	    &e, ERR_GUEST);
	assert_false(wire_peek_keep("\2\0\0\0\2\3\4"));
	assert_true(wire_peek_keep("\2\0\0\0\1\3\4"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(exec_comes_back_as_it_went),
	    cmocka_unit_test(exec_without_a_generation_is_of_the_first_version),
	    cmocka_unit_test(fences_come_back_as_they_went),
	    cmocka_unit_test(script_takes_the_place_of_argv),
	    cmocka_unit_test(every_shortened_exec_is_refused),
	    cmocka_unit_test(another_version_is_told_apart),
	    cmocka_unit_test(exec_that_makes_no_sense_is_refused),
	    cmocka_unit_test(exits_come_back_as_they_went),
	    cmocka_unit_test(exit_codes_out_of_range_are_refused),
	    cmocka_unit_test(failure_text_is_cut_to_its_limit),
	    cmocka_unit_test(frames_survive_any_cut),
	    cmocka_unit_test(frames_over_their_limit_are_refused_at_their_head),
	    cmocka_unit_test(frame_that_does_not_fit_leaves_no_trace),
	    cmocka_unit_test(room_is_never_more_than_the_largest_window),
	    cmocka_unit_test(exec_with_an_id_is_of_the_third_version),
	    cmocka_unit_test(exec_that_is_to_be_left_is_of_the_fourth_version),
	    cmocka_unit_test(only_an_exec_with_an_id_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
