/* lib/wire_object: the frames about execs that run already. */
#include "lib/wire_object.h"
#include "wire_frame.h"

#include <string.h>

static int
get_attach(const char *at, size_t size, struct err *e)
{
	struct wire_attach x;

	return wire_get_attach(at, size, &x, e);
}

static int
get_act(const char *at, size_t size, struct err *e)
{
	struct wire_act x;

	return wire_get_act(at, size, &x, e);
}

static int
get_info(const char *at, size_t size, struct err *e)
{
	struct wire_info x;

	return wire_get_info(at, size, &x, e);
}

static int
get_gap(const char *at, size_t size, struct err *e)
{
	uint64_t x;

	return wire_get_gap(at, size, &x, e);
}

static void
attaches_come_back_as_they_went(void **state)
{
	const struct wire_attach x = {"01J", UINT64_MAX};
	BUF_AUTO b = BUF_INIT(100);
	struct wire_attach y;
	struct err e = ERR_INIT;

	(void)state;
	wire_put_attach(&b, &x);
	assert_exact(&b, WIRE_ATTACH, get_attach);
	check_ok(
	    wire_get_attach(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e),
	    &e);
	assert_string_equal(y.id, "01J");
	assert_true(y.offset == UINT64_MAX);
}

static void
acts_come_back_as_they_went(void **state)
{
	const struct wire_act x = {.what = WIRE_ACT_END,
	    .id = "01J",
	    .generation = UINT64_MAX,
	    .close = true,
	    .signal = 64,
	    .cols = 1,
	    .rows = 0xffff};
	BUF_AUTO b = BUF_INIT(100);
	struct wire_act y;
	struct err e = ERR_INIT;

	(void)state;
	wire_put_act(&b, &x);
	assert_exact(&b, WIRE_ACT, get_act);
	char *at = b.data + WIRE_HEAD;
	size_t size = b.size - WIRE_HEAD;
	check_ok(wire_get_act(at, size, &y, &e), &e);
	assert_int_equal(y.what, WIRE_ACT_END);
	assert_string_equal(y.id, "01J");
	assert_true(y.generation == UINT64_MAX && y.close);
	assert_int_equal(y.signal, 64);
	assert_int_equal(y.cols, 1);
	assert_int_equal(y.rows, 0xffff);
	at[2] = 65; /* no such signal */
	check_fails(wire_get_act(at, size, &y, &e), &e, ERR_GUEST);
	at[2] = 1;
	at[0] = WIRE_ACT_END + 1;
	check_fails(wire_get_act(at, size, &y, &e), &e, ERR_GUEST);
	at[0] = 0;
	check_fails(wire_get_act(at, size, &y, &e), &e, ERR_GUEST);
	at[0] = WIRE_ACT_INPUT;
	at[1] = 2;
	check_fails(wire_get_act(at, size, &y, &e), &e, ERR_GUEST);
}

static void
infos_come_back_as_they_went(void **state)
{
	char cmd[WIRE_CMD_MAX + 100];
	struct wire_info x = {.id = "01J",
	    .cmd = cmd,
	    .kept = true,
	    .feedable = true,
	    .ended = true,
	    .exit = {.code = 137, .signal = 9, .oom_killed = true},
	    .started_ms = 1,
	    .ended_ms = INT64_MAX,
	    .first = 5,
	    .end = UINT64_MAX};
	BUF_AUTO b = BUF_INIT(4000);
	struct wire_info y;
	struct err e = ERR_INIT;

	(void)state;
	memset(cmd, 'c', sizeof(cmd));
	cmd[sizeof(cmd) - 1] = '\0';
	wire_put_info(&b, &x);
	assert_exact(&b, WIRE_INFO, get_info);
	check_ok(
	    wire_get_info(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e), &e);
	assert_int_equal(strlen(y.cmd), WIRE_CMD_MAX); /* the rest is cut */
	assert_true(y.kept && !y.tty && y.feedable && !y.detached && y.ended);
	assert_int_equal(y.exit.code, 137);
	assert_true(y.exit.oom_killed);
	assert_true(y.ended_ms == INT64_MAX && y.started_ms == 1);
	assert_true(y.first == 5 && y.end == UINT64_MAX);
	buf_reset(&b);
	x.end = 4; /* before its first */
	wire_put_info(&b, &x);
	check_fails(
	    wire_get_info(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e), &e,
	    ERR_GUEST);
	buf_reset(&b);
	x.end = 5;
	x.started_ms = -1;
	wire_put_info(&b, &x);
	check_fails(
	    wire_get_info(b.data + WIRE_HEAD, b.size - WIRE_HEAD, &y, &e), &e,
	    ERR_GUEST);
}

static void
gaps_come_back_as_they_went(void **state)
{
	BUF_AUTO b = BUF_INIT(100);
	uint64_t offset = 0;
	struct err e = ERR_INIT;

	(void)state;
	wire_put_gap(&b, UINT64_MAX);
	assert_exact(&b, WIRE_GAP, get_gap);
	check_ok(wire_get_gap(b.data + WIRE_HEAD, 8, &offset, &e), &e);
	assert_true(offset == UINT64_MAX);
}

static void
ids_have_a_length(void **state)
{
	static const char longest[] = "0123456789abcdef0123456789abcdef";
	static const char longer[] = "0123456789abcdef0123456789abcdefg";
	const char *const ids[] = {longest, longer, ""};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct wire_attach attach = {ids[i], 0};
		const struct wire_act act = {
		    .what = WIRE_ACT_END, .id = ids[i]};
		BUF_AUTO one = BUF_INIT(100);
		BUF_AUTO two = BUF_INIT(100);
		struct err e = ERR_INIT;
		int want = i == 0 ? 0 : -1;

		wire_put_attach(&one, &attach);
		wire_put_act(&two, &act);
		assert_int_equal(one.over ? -1
					  : get_attach(one.data + WIRE_HEAD,
						one.size - WIRE_HEAD, &e),
		    want);
		assert_int_equal(two.over ? -1
					  : get_act(two.data + WIRE_HEAD,
						two.size - WIRE_HEAD, &e),
		    want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(attaches_come_back_as_they_went),
	    cmocka_unit_test(acts_come_back_as_they_went),
	    cmocka_unit_test(infos_come_back_as_they_went),
	    cmocka_unit_test(gaps_come_back_as_they_went),
	    cmocka_unit_test(ids_have_a_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
