/* What an exec said last. */
#include "../check.h"
#include "init/ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Which stream says the byte at an offset, and what it is: streams take turns
 * in runs of different lengths. */
static enum wire_type
stream_at(uint64_t offset)
{
	return offset / 37 % 5 == 0 || offset / 100000 % 2 == 0 ? WIRE_STDERR
								: WIRE_STDOUT;
}

static char
byte_at(uint64_t offset)
{
	return (char)(offset * 2654435761u >> 13);
}

/* Say all from that offset to that one, in pieces of all sizes. */
static void
say(struct ring *r, uint64_t from, uint64_t to)
{
	char piece[WIRE_CHUNK];
	unsigned seed = 7;

	while (from < to) {
		size_t most = 1 + (size_t)rand_r(&seed) % sizeof(piece);
		size_t size = 0;

		while (size < most && from + size < to &&
		       stream_at(from + size) == stream_at(from)) {
			piece[size] = byte_at(from + size);
			size++;
		}
		ring_put(r, stream_at(from), piece, size);
		from += size;
	}
}

/* How much is got at *offset, which moves past it; -1: that is wrong. */
static ssize_t
get(struct ring *r, uint64_t *offset, size_t max)
{
	char piece[WIRE_CHUNK];
	enum wire_type stream;
	size_t size = ring_get(r, offset, piece, max, &stream);

	for (size_t i = 0; i < size; i++)
		if (piece[i] != byte_at(*offset + i) ||
		    stream != stream_at(*offset + i))
			return -1;
	*offset += size;
	return (ssize_t)size;
}

static bool
check_piece(struct ring *r, uint64_t *offset, size_t max)
{
	ssize_t size = get(r, offset, max);

	if (size < 0)
		fail_msg("wrong after %zu", (size_t)*offset);
	return size > 0;
}

static void
what_was_said_is_got_from_any_offset(void **state)
{
	struct ring *r = ring_new();

	(void)state;
	say(r, 0, 300000);
	assert_int_equal(ring_first(r), 0);
	assert_int_equal(ring_last(r), 300000);
	for (uint64_t from = 0; from < 300000; from += 9973) {
		uint64_t offset = from;

		while (check_piece(r, &offset, 1 + from % WIRE_CHUNK))
			assert_true(offset > from);
		assert_int_equal(offset, 300000);
	}
	ring_free(r);
}

static void
the_last_mebibyte_is_kept(void **state)
{
	static const char line[100] = "x";
	struct ring *r = ring_new();
	char to[RING_BYTES];
	enum wire_type stream;
	uint64_t offset = 0;

	(void)state;
	for (int i = 0; i < 50000; i++)
		ring_put(r, i % 2 ? WIRE_STDOUT : WIRE_STDERR, line, 100);
	assert_int_equal(ring_last(r), 5000000);
	assert_int_equal(ring_first(r), 5000000 - RING_BYTES);
	assert_int_equal(
	    ring_get(r, &offset, to, sizeof(to), &stream), RING_BYTES % 100);
	assert_int_equal(offset, 5000000 - RING_BYTES);
	assert_true(ring_used(r) <= RING_MEMORY);
	ring_free(r);
}

static void
a_long_stretch_of_one_stream_and_single_bytes_are_the_same(void **state)
{
	static char many[WIRE_CHUNK];
	struct ring *r = ring_new();
	enum wire_type stream;
	char to[WIRE_CHUNK];

	(void)state;
	/* Beyond what 31 bits count. */
	for (int i = 0; i < 70000; i++)
		ring_put(r, WIRE_STDOUT, many, sizeof(many));
	for (int i = 0; i < 100000; i++)
		ring_put(r, i % 2 ? WIRE_STDOUT : WIRE_STDERR, "y", 1);
	uint64_t offset = ring_last(r) - 2;
	assert_int_equal(ring_get(r, &offset, to, sizeof(to), &stream), 1);
	assert_int_equal(stream, WIRE_STDERR);
	/* So many turns of the streams are known, and no more. */
	assert_int_equal(ring_last(r) - ring_first(r), RING_BYTES / 32);
	ring_free(r);
}

static void
a_limit_holds_from_when_it_is_set(void **state)
{
	static const uint64_t limits[] = {
	    500000, 100000, 20000, 900000, 5000, RING_MEMORY, 65536};
	struct ring *r = ring_new();
	uint64_t said = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		uint64_t offset = 0;

		(void)ring_limit(r, limits[i]);
		ring_trim(r);
		assert_true(ring_last(r) - ring_first(r) <= limits[i]);
		say(r, said, said + 2000000);
		said += 2000000;
		assert_int_equal(ring_last(r), said);
		assert_true(said - ring_first(r) <= limits[i]);
		assert_true(said - ring_first(r) >= limits[i] / 4);
		while (check_piece(r, &offset, WIRE_CHUNK))
			assert_true(offset >= ring_first(r));
		assert_int_equal(offset, said);
	}
	ring_free(r);
}

static void
nothing_is_kept_within_a_limit_of_nothing(void **state)
{
	struct ring *r = ring_new();

	(void)state;
	assert_true(ring_limit(r, 0));
	ring_put(r, WIRE_STDOUT, "some", 4);
	assert_int_equal(ring_last(r), ring_first(r));
	ring_free(r);
}

static _Noreturn void
read_along(struct ring *r, uint64_t total, unsigned slow)
{
	uint64_t offset = 0;

	while (offset < total) {
		bool finished = ring_finished(r, NULL);
		ssize_t size = get(r, &offset, WIRE_CHUNK);

		if (size < 0)
			_exit(1);
		if (size > 0 && slow > 0)
			(void)usleep(slow);
		if (size == 0 && finished)
			_exit(2);
		if (size == 0)
			ring_wait(r, offset, 10000);
	}
	_exit(0);
}

static void
readers_get_nothing_wrong_while_it_is_written(void **state)
{
	const uint64_t total = 200u << 20;
	struct ring *r = ring_new();
	const struct ring_end end = {.wall_ms = 1};
	pid_t reader[3];
	int status;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		reader[i] = fork();
		if (reader[i] == 0)
			read_along(r, total, i * 300);
	}
	for (uint64_t at = 0; at < total; at += total / 10) {
		(void)ring_limit(r, at % 3 ? RING_MEMORY : 200000);
		say(r, at, at + total / 10);
	}
	ring_finish(r, &end);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(reader[i], &status, 0), reader[i]);
		assert_int_equal(status, 0);
	}
	ring_free(r);
}

static void
the_first_end_counts(void **state)
{
	const struct ring_end one = {{.code = 1}, 10, 20},
			      two = {{.code = 2}, 30, 40};
	struct ring *r = ring_new();
	struct ring_end end;

	(void)state;
	assert_false(ring_finished(r, &end));
	ring_finish(r, &one);
	ring_finish(r, &two);
	assert_true(ring_finished(r, &end));
	assert_int_equal(end.exit.code, 1);
	assert_int_equal(end.wall_ms, 10);
	ring_wait(r, 100, 1000000);
	ring_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_said_is_got_from_any_offset),
	    cmocka_unit_test(the_last_mebibyte_is_kept),
	    cmocka_unit_test(
		a_long_stretch_of_one_stream_and_single_bytes_are_the_same),
	    cmocka_unit_test(a_limit_holds_from_when_it_is_set),
	    cmocka_unit_test(nothing_is_kept_within_a_limit_of_nothing),
	    cmocka_unit_test(readers_get_nothing_wrong_while_it_is_written),
	    cmocka_unit_test(the_first_end_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
