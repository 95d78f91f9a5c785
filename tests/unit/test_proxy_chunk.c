/* proxy/chunk: where a chunked body ends, and which ones are refused. */
#include "../../proxy/chunk.h"
#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST "0\r\n\r\n"

/* In pieces of that size: how many bytes belong to it; -1 where refused, -2
 * where it has not ended. Its data is in *plain. */
static long
follow(const char *bytes, size_t size, size_t step, struct buf *plain)
{
	struct chunk c = CHUNK_INIT;
	bool done = false;
	size_t at = 0;

	buf_reset(plain);
	while (at < size && !done) {
		size_t part = size - at < step ? size - at : step;
		long got = chunk_plain(&c, bytes + at, part, plain, &done);

		if (got < 0) {
			assert_false(done);
			assert_int_equal(chunk_feed(&c, "0", 1, &done), -1);
			return -1;
		}
		assert_true(done || (size_t)got == part);
		at += (size_t)got;
	}
	assert_true(c.content == plain->size);
	return done ? (long)at : -2;
}

/* However it is cut. */
static void
check(const char *bytes, size_t size, long want, const char *data)
{
	BUF_AUTO plain = BUF_INIT(1u << 20);

	for (size_t step = 1; step <= size + 1; step++) {
		long got = follow(bytes, size, step, &plain);

		if (got != want)
			fail_msg("\"%s\" by %zu: %ld, not %ld", bytes, step,
			    got, want);
		if (want != -1)
			assert_string_equal(plain.data, data);
	}
}

static void
bodies_end_where_they_say(void **state)
{
	static const struct {
		const char *body, *data;
	} rows[] = {
	    {LAST, ""},
	    {"000\r\n\r\n", ""},
	    {"5\r\nhello\r\n" LAST, "hello"},
	    {"a\r\n0123456789\r\nA\r\nabcdefghij\r\n" LAST,
		"0123456789abcdefghij"},
	    {"0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n", "hello"},
	    {"5;x\r\nhello\r\n0;y=\"a;b\"\r\n\r\n", "hello"},
	    {"5;\tx = y\r\nhello\r\n" LAST, "hello"},
	    {"7\r\n0\r\n\r\nab\r\n" LAST, "0\r\n\r\nab"},
	    {"0\r\nX-Sum: 1\r\nY:\r\n\r\n", ""},
	    {"0\r\nx-a-name-of-more-than-thirty-one-bytes: 1\r\n\r\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		size_t size = strlen(rows[i].body);

		check(rows[i].body, size, (long)size, rows[i].data);
		(void)snprintf(
		    text, sizeof(text), "%sGET / HTTP", rows[i].body);
		check(text, strlen(text), (long)size, rows[i].data);
		for (size_t part = 0; part < size; part++) {
			BUF_AUTO plain = BUF_INIT(256);

			assert_int_equal(
			    follow(rows[i].body, part, 256, &plain), -2);
		}
	}
}

static const char *const bad[] = {
    "\r\n" LAST,
    "\n",
    "-1\r\n",
    "+5\r\nhello\r\n",
    " 5\r\nhello\r\n",
    "5 \r\nhello\r\n",
    "5 ;x\r\nhello\r\n",
    "5\t\r\nhello\r\n",
    "0x5\r\nhello\r\n",
    "5h\r\nhello\r\n",
    "5.0\r\nhello\r\n",
    "5,\r\nhello\r\n",
    "\"5\"\r\nhello\r\n",
    ";x\r\n",
    "g\r\n",
    "80000000\r\n",
    "FFFFFFFFFFFFFFFF\r\n",
    "10000000000000000\r\n",
    "00000000000000005\r\nhello\r\n",
    "5\nhello\r\n",
    "5\rhello\r\n",
    "5\r\r\nhello\r\n",
    "5;x\nhello\r\n",
    "5;x\rhello\r\n",
    "5;x\x01\r\nhello\r\n",
    "5;\x7f\r\nhello\r\n",
    "5\r\nhello" LAST,
    "5\r\nhello\n" LAST,
    "5\r\nhello\r" LAST,
    "5\r\nhelloX\r\n",
    "5\r\nhell\r\n" LAST,
    "5\r\nhello\r\n\r\n" LAST,
    "0\r\n\n",
    "0\n\n",
    "0\r\n\rX",
    "0\r\n X: y\r\n\r\n",
    "0\r\n\tX: y\r\n\r\n",
    "0\r\nX: y\r\n z\r\n\r\n",
    "0\r\nX : y\r\n\r\n",
    "0\r\nX\r\n\r\n",
    "0\r\n: y\r\n\r\n",
    "0\r\nX: y\n\r\n",
    "0\r\nX: y\rz\r\n",
    "0\r\nX: \x01\r\n\r\n",
    "0\r\nX\xc3\xa9: y\r\n\r\n",
    "0\r\nGET / HTTP/1.1\r\n\r\n",
    "0\r\nContent-Length: 5\r\n\r\n",
    "0\r\nTRANSFER-ENCODING: chunked\r\n\r\n",
    "0\r\nX: y\r\nhost: b.test\r\n\r\n",
    "0\r\nConnection: close\r\n\r\n",
    "0\r\nUpgrade: x\r\n\r\n",
    "0\r\nTrailer: x\r\n\r\n",
    "0\r\nProxy-Authorization: x\r\n\r\n",
    "0\r\nAuthorization: x\r\n\r\n",
    "0\r\nExpect: 100-continue\r\n\r\n",
    "0\r\nContent-Encoding: gzip\r\n\r\n",
};

static void
whatever_two_readers_could_take_differently_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check(bad[i], strlen(bad[i]), -1, "");
	check("5\0\r\nhello\r\n", 11, -1, "");
	check("0\r\nX: \0\r\n\r\n", 11, -1, "");
}

static void
large_chunks_are_followed_without_being_held(void **state)
{
	static char data[65536];
	struct chunk c = CHUNK_INIT;
	bool done;

	(void)state;
	assert_int_equal(chunk_feed(&c, "7FFFFFFF\r\n", 10, &done), 10);
	for (uint64_t left = INT32_MAX; left > 0;) {
		size_t part = left < sizeof(data) ? left : sizeof(data);

		assert_int_equal(chunk_feed(&c, data, part, &done), (long)part);
		left -= part;
	}
	assert_true(c.content == INT32_MAX);
	assert_int_equal(chunk_feed(&c, "\r\n" LAST "x", 8, &done), 7);
	assert_true(done);
	assert_int_equal(chunk_feed(&c, "x", 1, &done), 0);
	assert_true(done);
}

static void
extensions_and_trailers_have_a_largest_size(void **state)
{
	static const char *const starts[] = {"0;", "0\r\nX:", "0\r\n"};
	struct chunk c;
	bool done;

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t count = 0;

		c = (struct chunk)CHUNK_INIT;
		(void)chunk_feed(&c, starts[i], strlen(starts[i]), &done);
		while (chunk_feed(&c, "x", 1, &done) == 1)
			count++;
		assert_in_range(count, CHUNK_EXTRA - 1, CHUNK_EXTRA);
	}
	/* All of a body's together. */
	c = (struct chunk)CHUNK_INIT;
	for (unsigned i = 0; i < CHUNK_EXTRA; i++)
		assert_int_equal(chunk_feed(&c, "1;x\r\ny\r\n", 8, &done), 8);
	assert_int_equal(chunk_feed(&c, "1;x\r\ny\r\n", 8, &done), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bodies_end_where_they_say),
	    cmocka_unit_test(
		whatever_two_readers_could_take_differently_is_refused),
	    cmocka_unit_test(large_chunks_are_followed_without_being_held),
	    cmocka_unit_test(extensions_and_trailers_have_a_largest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
