/* lib/utf8: the decoder of the WHATWG Encoding Standard, as a filter. */
#include "../check.h"
#include "lib/utf8.h"

#include <stdlib.h>
#include <string.h>

#define R "\xef\xbf\xbd" /* U+FFFD */

struct vector {
	const char *in, *out; /* in: NUL-terminated, or size given */
	size_t size;
};

#define V(in_, out_)                       \
	{                                  \
		in_, out_, sizeof(in_) - 1 \
	}

/* Maximal parts are replaced once each (WHATWG Encoding 4.9.1; the same cases
 * as Unicode 15, table 3-8 and 3-11). */
static const struct vector vectors[] = {
    V("", ""),
    V("plain", "plain"),
    V("\xc3\xa9", "\xc3\xa9"),
    V("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"),
    V("\xef\xbf\xbd", R),
    V("\xef\xbb\xbf!", "\xef\xbb\xbf!"), /* a BOM is text here */
    V("\x7f", "\x7f"),
    V("\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf"),
    V("\xe0\xa0\x80\xef\xbf\xbf", "\xe0\xa0\x80\xef\xbf\xbf"),
    V("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
    V("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"),
    /* lone continuation, impossible bytes */
    V("\x80", R),
    V("\x80\xbf", R R),
    V("a\xff"
      "b\xfe"
      "c",
	"a" R "b" R "c"),
    V("\xc0\x80", R R),
    V("\xc1\xbf", R R),
    V("\xf5\x80\x80\x80", R R R R),
    V("\xf8\x88\x80\x80\x80", R R R R R),
    /* overlong */
    V("\xe0\x80\xaf", R R R),
    V("\xe0\x9f\xbf", R R R),
    V("\xf0\x80\x80\xaf", R R R R),
    V("\xf0\x8f\xbf\xbf", R R R R),
    /* surrogates, beyond U+10FFFF */
    V("\xed\xa0\x80", R R R),
    V("\xed\xbf\xbf", R R R),
    V("\xf4\x90\x80\x80", R R R R),
    /* cut off: the maximal part counts once */
    V("\xc3", R),
    V("\xe2\x82", R),
    V("\xf0\x9f\x98", R),
    V("\xe2\x82"
      "A",
	R "A"),
    V("\xf0\x9f\x98"
      "AB",
	R "AB"),
    V("\xf0\x9f\xc3\xa9", R "\xc3\xa9"),
    V("\xe2\xe2\x82\xac", R "\xe2\x82\xac"),
    V("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
      "A",
	R R R R "A"),
    V("\xc3\n", R "\n"),
};

#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static void
vectors_of_the_standard_come_out_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		struct utf8 u = UTF8_INIT;
		BUF_AUTO out = BUF_INIT(1000);

		utf8_feed(&u, v->in, v->size, &out);
		utf8_end(&u, &out);
		assert_string_equal(out.data, v->out);
	}
}

static void
cuts_anywhere_do_not_change_the_text(void **state)
{
	BUF_AUTO in = BUF_INIT(1000);
	BUF_AUTO want = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < VECTORS; i++)
		buf_add(&in, vectors[i].in, vectors[i].size);
	struct utf8 whole = UTF8_INIT;
	utf8_feed(&whole, in.data, in.size, &want);
	utf8_end(&whole, &want);

	for (size_t a = 0; a <= in.size; a++) {
		for (size_t b = a; b <= in.size; b++) {
			struct utf8 u = UTF8_INIT;
			BUF_AUTO out = BUF_INIT(1000);

			utf8_feed(&u, in.data, a, &out);
			utf8_feed(&u, in.data + a, b - a, &out);
			utf8_feed(&u, in.data + b, in.size - b, &out);
			utf8_end(&u, &out);
			assert_string_equal(out.data, want.data);
		}
	}
}

static void
an_incomplete_tail_is_held_back_until_it_completes(void **state)
{
	static const char face[] = "\xf0\x9f\x98\x80";
	struct utf8 u = UTF8_INIT;
	BUF_AUTO out = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		utf8_feed(&u, face + i, 1, &out);
		assert_int_equal(out.size, 0);
	}
	utf8_feed(&u, face + 3, 1, &out);
	assert_string_equal(out.data, face);
	utf8_end(&u, &out);
	assert_string_equal(out.data, face);
}

static void
a_decoder_can_go_on_after_its_end(void **state)
{
	struct utf8 u = UTF8_INIT;
	BUF_AUTO out = BUF_INIT(100);

	(void)state;
	utf8_feed(&u, "\xe0", 1, &out);
	utf8_end(&u, &out);
	utf8_feed(&u, "\xc2\x80", 2, &out);
	utf8_end(&u, &out);
	assert_string_equal(out.data, R "\xc2\x80");
}

static void
valid_is_what_passes_unchanged(void **state)
{
	(void)state;
	for (size_t i = 0; i < VECTORS; i++) {
		const struct vector *v = &vectors[i];
		int same = v->size == strlen(v->out) &&
			   memcmp(v->in, v->out, v->size) == 0;

		if (utf8_valid(v->in, v->size) != same)
			fail_msg("vector %zu: valid is not %d", i, same);
	}
	assert_true(utf8_valid("a\0b", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(vectors_of_the_standard_come_out_right),
	    cmocka_unit_test(cuts_anywhere_do_not_change_the_text),
	    cmocka_unit_test(
		an_incomplete_tail_is_held_back_until_it_completes),
	    cmocka_unit_test(a_decoder_can_go_on_after_its_end),
	    cmocka_unit_test(valid_is_what_passes_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
