/* How many kept execs there are, how much they remember, and for how long. */
#include "../check.h"
#include "init/kept.h"
#include "init/object.h"

#include <stdio.h>
#include <string.h>

#define MINUTES (INT64_C(60) * 1000)

static struct ops *ops;
static uint64_t memory;

static int
open_ops(void **state)
{
	(void)state;
	ops = ops_new();
	memory = kept_memory(0);
	return ops == NULL;
}

/* One that runs, as if its supervisor had told so; or NULL. */
static struct object *
add(const char *id)
{
	const struct wire_exec x = {.script = "true", .id = id, .keep = true};
	struct op *op = ops_take(ops);

	assert_non_null(op);
	if (!kept_add(ops, op, memory)) {
		op_forked(op, -1);
		return NULL;
	}
	object_tell(op_object(op), &x);
	return op_object(op);
}

static struct object *
add_numbered(int number)
{
	char id[16];

	(void)snprintf(id, sizeof(id), "%d", number);
	struct object *x = add(id);
	assert_non_null(x);
	return x;
}

static void
end_at(struct object *x, int64_t when)
{
	const struct ring_end end = {.mono_ms = when};

	ring_finish(x->ring, &end);
}

static void
fill(struct object *x)
{
	static char bytes[WIRE_CHUNK];

	for (int i = 0; i < 20; i++)
		ring_put(x->ring, WIRE_STDOUT, bytes, sizeof(bytes));
}

static void
ten_minutes_after_the_end_it_is_forgotten(void **state)
{
	(void)state;
	(void)add("runs");
	assert_int_equal(kept_expire(ops, 1000 * MINUTES), -1);
	end_at(add("later"), 3 * MINUTES);
	end_at(add("first"), 1 * MINUTES);
	assert_int_equal(kept_expire(ops, 4 * MINUTES), 7 * MINUTES);
	assert_int_equal(kept_expire(ops, 11 * MINUTES - 1), 1);
	assert_non_null(ops_find(ops, "first"));
	assert_int_equal(kept_expire(ops, 11 * MINUTES), 2 * MINUTES);
	assert_null(ops_find(ops, "first"));
	assert_non_null(ops_find(ops, "later"));
	assert_int_equal(kept_expire(ops, 100 * MINUTES), -1);
	assert_null(ops_find(ops, "later"));
	assert_non_null(ops_find(ops, "runs"));
}

static void
the_oldest_end_makes_room_for_a_new_one(void **state)
{
	struct object *x[KEPT_MAX];

	(void)state;
	for (int i = 0; i < KEPT_MAX; i++)
		x[i] = add_numbered(i);
	assert_null(add("one more"));
	end_at(x[20], 5);
	end_at(x[10], 3);
	end_at(x[30], 4);
	assert_non_null(add("a"));
	assert_null(ops_find(ops, "10"));
	assert_non_null(add("b"));
	assert_null(ops_find(ops, "30"));
	assert_non_null(ops_find(ops, "20"));
}

static void
little_output_leaves_room_for_all(void **state)
{
	(void)state;
	for (int i = 0; i < KEPT_MAX; i++) {
		struct object *x = add_numbered(i);

		ring_put(x->ring, WIRE_STDOUT, "hi", 2);
		end_at(x, i);
	}
	assert_non_null(ops_find(ops, "0"));
}

static void
full_rings_go_where_a_new_one_could_not_fill(void **state)
{
	(void)state;
	for (int i = 0; i < 13; i++) {
		struct object *x = add_numbered(i);

		fill(x);
		assert_int_equal(
		    ring_last(x->ring) - ring_first(x->ring), RING_BYTES);
		end_at(x, i);
	}
	assert_non_null(ops_find(ops, "0"));
	(void)add_numbered(13);
	assert_non_null(ops_find(ops, "0"));
	(void)add_numbered(14);
	assert_null(ops_find(ops, "0"));
	assert_non_null(ops_find(ops, "1"));
}

static void
those_that_run_share(void **state)
{
	struct object *x[KEPT_MAX];
	uint64_t sum = 0;

	(void)state;
	memory = kept_memory(32);
	assert_int_equal(memory, 2 << 20);
	for (int i = 0; i < KEPT_MAX; i++) {
		x[i] = add_numbered(i);
		fill(x[i]);
	}
	for (int i = 0; i < KEPT_MAX; i++) {
		ring_trim(x[i]->ring); /* SIGUSR1 tells their supervisors */
		sum += ring_used(x[i]->ring);
		assert_true(ring_last(x[i]->ring) - ring_first(x[i]->ring) >=
			    memory / KEPT_MAX / 2);
	}
	assert_true(sum <= memory);
	/* The next has as much as any, when one has ended. */
	end_at(x[3], 1);
	struct object *next = add("next");
	assert_non_null(next);
	fill(next);
	for (int i = 0; i < KEPT_MAX; i++)
		if (i != 3)
			fill(x[i]);
	sum = ring_used(next->ring);
	for (int i = 0; i < KEPT_MAX; i++)
		if (i != 3)
			sum += ring_used(x[i]->ring);
	assert_true(sum <= memory);
}

static void
a_part_of_the_runs_memory_is_theirs(void **state)
{
	(void)state;
	assert_int_equal(kept_memory(0), 16 << 20);
	assert_int_equal(kept_memory(64), 4 << 20);
	assert_int_equal(kept_memory(256), 16 << 20);
	assert_int_equal(kept_memory(1 << 20), 16 << 20);
}

#define TEST(f) cmocka_unit_test_setup(f, open_ops)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(ten_minutes_after_the_end_it_is_forgotten),
	    TEST(the_oldest_end_makes_room_for_a_new_one),
	    TEST(little_output_leaves_room_for_all),
	    TEST(full_rings_go_where_a_new_one_could_not_fill),
	    TEST(those_that_run_share),
	    TEST(a_part_of_the_runs_memory_is_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
