/* docker/demux: the engine's multiplexed stream. */
#include "../check.h"
#include "docker/demux.h"
#include "lib/buf.h"

#include <string.h>

/* Two outputs, the second in two payloads, and an empty one between. */
static const char stream[] = "\1\0\0\0\0\0\0\5hello"
			     "\2\0\0\0\0\0\0\2er"
			     "\1\0\0\0\0\0\0\0"
			     "\2\0\0\0\0\0\0\1r";
#define STREAM_SIZE (sizeof(stream) - 1)

struct heard {
	struct buf out, err;
};

static void
feed(struct demux *d, const char *bytes, size_t size, struct heard *h)
{
	while (size > 0) {
		struct err e = ERR_INIT;
		const char *piece;
		size_t used, piece_size;

		check_ok(
		    demux_next(d, bytes, size, &used, &piece, &piece_size, &e),
		    &e);
		assert_true(used > 0 && used <= size);
		buf_add(d->stream == DEMUX_STDERR ? &h->err : &h->out, piece,
		    piece_size);
		bytes += used;
		size -= used;
	}
}

static void
streams_survive_any_cut(void **state)
{
	(void)state;
	for (size_t first = 0; first <= STREAM_SIZE; first++) {
		for (size_t second = first; second <= STREAM_SIZE; second++) {
			struct demux d = DEMUX_INIT;
			struct heard h = {BUF_INIT(100), BUF_INIT(100)};

			feed(&d, stream, first, &h);
			feed(&d, stream + first, second - first, &h);
			feed(&d, stream + second, STREAM_SIZE - second, &h);
			assert_string_equal(h.out.data, "hello");
			assert_string_equal(h.err.data, "err");
			buf_release(&h.out);
			buf_release(&h.err);
		}
	}
}

static void
payload_is_handed_out_before_it_is_whole(void **state)
{
	struct demux d = DEMUX_INIT;
	struct err e = ERR_INIT;
	const char *piece;
	size_t used, size;

	(void)state;
	check_ok(demux_next(&d, stream, 10, &used, &piece, &size, &e), &e);
	assert_int_equal(used, 10);
	assert_int_equal(size, 2);
	assert_memory_equal(piece, "he", 2);
	assert_int_equal(d.stream, DEMUX_STDOUT);
}

static void
payload_of_four_gigabytes_is_counted_down(void **state)
{
	struct demux d = DEMUX_INIT;
	struct err e = ERR_INIT;
	const char *piece;
	size_t used, size;

	(void)state;
	check_ok(demux_next(&d,
		     "\1\0\0\0\xff\xff\xff\xff"
		     "abc",
		     11, &used, &piece, &size, &e),
	    &e);
	assert_int_equal(size, 3);
	assert_int_equal(d.left, 0xffffffffu - 3);
}

static void
what_is_no_header_is_an_error(void **state)
{
	static const char *const bad[] = {
	    "HTTP/1.1", "\4\0\0\0\0\0\0\1", "\1\0\0\1\0\0\0\1"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct demux d = DEMUX_INIT;
		struct err e = ERR_INIT;
		const char *piece;
		size_t used, size;

		check_fails(demux_next(&d, bad[i], 8, &used, &piece, &size, &e),
		    &e, ERR_ENGINE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_survive_any_cut),
	    cmocka_unit_test(payload_is_handed_out_before_it_is_whole),
	    cmocka_unit_test(payload_of_four_gigabytes_is_counted_down),
	    cmocka_unit_test(what_is_no_header_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
