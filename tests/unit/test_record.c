/* http/record: FastCGI records, cut anywhere. */
#include "../check.h"
#include "http/record.h"
#include "lib/buf.h"

#include <string.h>

#define ID 0x1234

static void
add(struct buf *to, int type, unsigned id, const char *content, size_t size,
    size_t padding)
{
	const char head[RECORD_HEAD] = {1, (char)type, (char)(id >> 8),
	    (char)id, (char)(size >> 8), (char)size, (char)padding, 0};

	buf_add(to, head, sizeof(head));
	buf_add(to, content, size);
	for (size_t i = 0; i < padding; i++)
		buf_addc(to, '#');
}

static void
add_begin(struct buf *to)
{
	add(to, RECORD_BEGIN, ID, "\0\1\1\0\0\0\0", 8, 0);
}

static void
add_request(struct buf *to)
{
	add_begin(to);
	add(to, RECORD_PARAMS, ID, "\4\5NAME", 6, 3);
	add(to, RECORD_PARAMS, ID, "value", 5, 0);
	add(to, RECORD_PARAMS, ID, "", 0, 8);
}

static void
a_request_is_taken_to_the_end_of_its_parameters(void **state)
{
	BUF_AUTO in = BUF_INIT(1024);
	unsigned id = 0;

	(void)state;
	add_request(&in);
	size_t whole = in.size;
	for (size_t size = 0; size < whole; size++)
		assert_int_equal(record_request(in.data, size, &id), 0);
	assert_int_equal(id, 0);
	add(&in, RECORD_STDIN, ID, "body", 4, 0);
	assert_int_equal(record_request(in.data, in.size, &id), whole);
	assert_int_equal(id, ID);
}

static void
what_is_no_request_is_refused(void **state)
{
	unsigned id;

	(void)state;
	for (int i = 0; i < 13; i++) {
		BUF_AUTO in = BUF_INIT(1024);

		if (i == 0) /* another version of the protocol */
			buf_add(&in, "\2\1\0\1\0\10\0\0\0\1\0\0\0\0\0\0", 16);
		if (i == 1) /* HTTP */
			buf_adds(&in, "GET / HTTP/1.1\r\n");
		if (i == 2) /* another role: an authorizer */
			add(&in, RECORD_BEGIN, ID, "\0\2\1\0\0\0\0", 8, 0);
		if (i == 3) /* request 0 is none */
			add(&in, RECORD_BEGIN, 0, "\0\1\1\0\0\0\0", 8, 0);
		if (i == 4) /* too short */
			add(&in, RECORD_BEGIN, ID, "\0\1\1\0\0\0\0", 7, 0);
		if (i == 5)
			add(&in, RECORD_PARAMS, ID, "", 0, 0);
		if (i == 12) /* padded: libfcgi would read that, too */
			add(&in, RECORD_BEGIN, ID, "\0\1\1\0\0\0\0", 8, 8);
		else if (i > 5)
			add_begin(&in);
		if (i == 6)
			add_begin(&in);
		if (i == 7) /* of another request */
			add(&in, RECORD_PARAMS, ID + 1, "", 0, 0);
		if (i == 8) /* a management record, which libfcgi answers */
			add(&in, 9, 0, "", 0, 0);
		if (i == 9) /* a value of 2 GiB */
			add(&in, RECORD_PARAMS, ID, "\1\377\377\377\377N", 6,
			    0);
		if (i == 10) /* a byte too short */
			add(&in, RECORD_PARAMS, ID, "\1\2Nv", 4, 0);
		if (i == 11) /* no value's size */
			add(&in, RECORD_PARAMS, ID, "\1", 1, 0);
		if (i > 8)
			add(&in, RECORD_PARAMS, ID, "", 0, 0);
		assert_int_equal(record_request(in.data, in.size, &id), -1);
	}
}

/* The content of a body that comes in pieces of that size. */
static void
check_body(const struct buf *in, size_t piece, const char *content)
{
	struct record_body b = {.id = ID};
	BUF_AUTO got = BUF_INIT(1024);
	char bytes[256];

	for (size_t at = 0; at < in->size; at += piece) {
		size_t n = in->size - at < piece ? in->size - at : piece;

		assert_false(b.ended);
		memcpy(bytes, in->data + at, n);
		int64_t size = record_squeeze(&b, bytes, n);
		assert_true(size >= 0);
		buf_add(&got, bytes, (size_t)size);
	}
	assert_true(b.ended);
	assert_string_equal(got.data, content);
}

static void
a_body_is_the_same_however_it_is_cut(void **state)
{
	BUF_AUTO in = BUF_INIT(1024);

	(void)state;
	add(&in, RECORD_STDIN, ID, "one", 3, 5);
	add(&in, RECORD_STDIN, ID, "two and more", 12, 0);
	add(&in, RECORD_STDIN, ID, "x", 1, 255);
	add(&in, RECORD_STDIN, ID, "", 0, 0);
	for (size_t piece = 1; piece <= 256; piece++)
		check_body(&in, piece, "onetwo and morex");
}

static void
what_is_behind_a_body_is_dropped(void **state)
{
	BUF_AUTO in = BUF_INIT(1024);
	struct record_body b = {.id = ID};

	(void)state;
	add(&in, RECORD_STDIN, ID, "a", 1, 0);
	add(&in, RECORD_STDIN, ID, "", 0, 0);
	add_request(&in);
	assert_int_equal(record_squeeze(&b, in.data, in.size), 1);
	assert_true(b.ended);
	assert_int_equal(record_squeeze(&b, in.data, in.size), 0);
}

static void
another_record_in_a_body_is_its_failure(void **state)
{
	static const struct {
		int type;
		unsigned id;
	} other[] = {{RECORD_ABORT, ID}, {RECORD_PARAMS, ID},
	    {RECORD_BEGIN, ID}, {RECORD_STDIN, ID + 1}, {RECORD_STDIN, 0},
	    {0, ID}};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		BUF_AUTO in = BUF_INIT(1024);
		struct record_body b = {.id = ID};

		add(&in, RECORD_STDIN, ID, "a", 1, 0);
		add(&in, other[i].type, other[i].id, "", 0, 0);
		assert_int_equal(record_squeeze(&b, in.data, in.size), -1);
	}
}

static void
a_piece_of_output_has_its_head(void **state)
{
	char head[RECORD_HEAD];

	(void)state;
	record_head(head, ID, 0xabcd);
	assert_memory_equal(head, "\1\6\x12\x34\xab\xcd\0\0", 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_is_taken_to_the_end_of_its_parameters),
	    cmocka_unit_test(what_is_no_request_is_refused),
	    cmocka_unit_test(a_body_is_the_same_however_it_is_cut),
	    cmocka_unit_test(what_is_behind_a_body_is_dropped),
	    cmocka_unit_test(another_record_in_a_body_is_its_failure),
	    cmocka_unit_test(a_piece_of_output_has_its_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
