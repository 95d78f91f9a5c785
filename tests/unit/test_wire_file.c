/* lib/wire_file: the frames about files. */
#include "lib/wire_file.h"
#include "wire_frame.h"

#include <string.h>

static int
get_file(const char *at, size_t size, struct err *e)
{
	struct wire_file x;

	return wire_get_file(at, size, &x, e);
}

static int
get_read(const char *at, size_t size, struct err *e)
{
	struct wire_read x;

	return wire_get_read(at, size, &x, e);
}

static int
get_stat(const char *at, size_t size, struct err *e)
{
	struct wire_stat x;

	return wire_get_stat(at, size, &x, e);
}

static void
files_come_back_as_they_went(void **state)
{
	struct wire_file x = {.what = WIRE_FILE_MOVE,
	    .generation = 7,
	    .user = "1000:1000",
	    .root = "/work",
	    .path = "a/\n\xff",
	    .to = "b",
	    .recursive = true,
	    .limit = UINT64_MAX};
	BUF_AUTO b = BUF_INIT(3 * WIRE_PATH_MAX);
	struct wire_file y;
	struct err e = ERR_INIT;
	char path[WIRE_PATH_MAX + 2];

	(void)state;
	wire_put_file(&b, &x);
	assert_exact(&b, WIRE_FILE, get_file);
	char *at = b.data + WIRE_HEAD;
	size_t size = b.size - WIRE_HEAD;
	check_ok(wire_get_file(at, size, &y, &e), &e);
	assert_int_equal(y.what, WIRE_FILE_MOVE);
	assert_string_equal(y.path, x.path);
	assert_string_equal(y.to, "b");
	assert_string_equal(y.root, "/work");
	assert_string_equal(y.user, "1000:1000");
	assert_true(y.recursive && y.limit == UINT64_MAX && y.generation == 7);
	at[0] = WIRE_FILE_UNPACK + 1;
	check_fails(wire_get_file(at, size, &y, &e), &e, ERR_GUEST);
	memset(path, 'p', sizeof(path));
	for (size_t over = 0; over < 2; over++) {
		path[WIRE_PATH_MAX + over] = '\0';
		buf_reset(&b);
		x.path = path;
		wire_put_file(&b, &x);
		assert_int_equal(
		    get_file(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &e),
		    over ? -1 : 0);
		path[WIRE_PATH_MAX] = 'p';
	}
	buf_reset(&b);
	x.path = "";
	x.root = "work";
	wire_put_file(&b, &x);
	check_fails(get_file(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &e), &e,
	    ERR_GUEST);
}

static void
conditions_come_back_as_they_went(void **state)
{
	struct wire_file x = {.what = WIRE_FILE_PUT,
	    .user = "",
	    .root = "/work",
	    .path = "a",
	    .to = ""};
	BUF_AUTO b = BUF_INIT(2 * WIRE_PATH_MAX);
	struct err e = ERR_INIT;
	struct wire_file y;

	(void)state;
	wire_put_file(&b, &x);
	size_t plain = b.size;
	for (x.condition = WIRE_ABSENT; x.condition <= WIRE_SAME;
	     x.condition++) {
		x.same_count = x.condition == WIRE_SAME ? WIRE_SAME_MAX : 0;
		for (uint8_t i = 0; i < x.same_count; i++)
			x.same[i] = (struct wire_same){UINT64_MAX - i, i};
		buf_reset(&b);
		wire_put_file(&b, &x);
		check_ok(wire_get_file(
			     b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e),
		    &e);
		assert_int_equal(y.condition, x.condition);
		assert_int_equal(y.same_count, x.same_count);
		assert_memory_equal(
		    y.same, x.same, x.same_count * sizeof(x.same[0]));
		/* Without it the frame is whole, and of the older version. */
		for (size_t size = plain - WIRE_HEAD + 1;
		     size < b.size - WIRE_HEAD; size++)
			check_fails(
			    wire_get_file(b.data + WIRE_HEAD, size, &y, &e), &e,
			    ERR_GUEST);
	}
	b.data[plain] = WIRE_SAME + 1;
	check_fails(get_file(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &e), &e,
	    ERR_GUEST);
	b.data[plain] = WIRE_SAME;
	b.data[plain + 1] = WIRE_SAME_MAX + 1;
	check_fails(get_file(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &e), &e,
	    ERR_GUEST);
}

static void
reads_stay_in_what_an_offset_can_be(void **state)
{
	struct wire_read x = {INT64_MAX, INT64_MAX};
	BUF_AUTO b = BUF_INIT(100);
	struct err e = ERR_INIT;

	(void)state;
	wire_put_read(&b, &x);
	assert_exact(&b, WIRE_READ, get_read);
	b.data[WIRE_HEAD + 7] = (char)0x80;
	check_fails(get_read(b.data + WIRE_HEAD, 16, &e), &e, ERR_GUEST);
	b.data[WIRE_HEAD + 7] = 0;
	b.data[WIRE_HEAD + 15] = (char)0x80;
	check_fails(get_read(b.data + WIRE_HEAD, 16, &e), &e, ERR_GUEST);
}

static void
stats_come_back_as_they_went(void **state)
{
	struct wire_stat x = {.type = WIRE_TYPE_SYMLINK,
	    .mode = 07777,
	    .size = INT64_MAX,
	    .mtime_ns = INT64_MIN,
	    .tag = UINT64_MAX,
	    .name = "n\xff\n",
	    .target = "../up"};
	BUF_AUTO b = BUF_INIT(1000);
	struct wire_stat y;
	struct err e = ERR_INIT;

	(void)state;
	wire_put_stat(&b, &x);
	assert_exact(&b, WIRE_STAT, get_stat);
	check_ok(
	    wire_get_stat(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e), &e);
	assert_int_equal(y.type, WIRE_TYPE_SYMLINK);
	assert_int_equal(y.mode, 07777);
	assert_true(y.size == INT64_MAX && y.mtime_ns == INT64_MIN);
	assert_true(y.tag == UINT64_MAX);
	assert_string_equal(y.name, x.name);
	assert_string_equal(y.target, x.target);
}

static void
stats_that_make_no_sense_are_refused(void **state)
{
	char name[WIRE_NAME_MAX + 2];
	const struct wire_stat bad[] = {
	    {.type = 0, .name = "", .target = ""},
	    {.type = WIRE_TYPE_DEVICE + 1, .name = "", .target = ""},
	    {.type = WIRE_TYPE_FILE, .mode = 010000, .name = "", .target = ""},
	    {.type = WIRE_TYPE_FILE,
		.size = UINT64_MAX,
		.name = "",
		.target = ""},
	    {.type = WIRE_TYPE_FILE, .name = "a/b", .target = ""},
	    {.type = WIRE_TYPE_FILE, .name = name, .target = ""},
	};

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		BUF_AUTO b = BUF_INIT(1000);
		struct err e = ERR_INIT;

		wire_put_stat(&b, &bad[i]);
		assert_false(b.over);
		check_fails(
		    get_stat(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &e), &e,
		    ERR_GUEST);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(files_come_back_as_they_went),
	    cmocka_unit_test(conditions_come_back_as_they_went),
	    cmocka_unit_test(reads_stay_in_what_an_offset_can_be),
	    cmocka_unit_test(stats_come_back_as_they_went),
	    cmocka_unit_test(stats_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
