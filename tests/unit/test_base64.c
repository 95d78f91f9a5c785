/* lib/base64. */
#include "../check.h"
#include "lib/base64.h"

#include <stdio.h>
#include <string.h>

/* RFC 4648 10, and bytes that differ by alphabet. */
static const struct {
	const char *bytes, *text, *url;
} vectors[] = {{"", "", ""}, {"f", "Zg==", "Zg=="}, {"fo", "Zm8=", "Zm8="},
    {"foo", "Zm9v", "Zm9v"}, {"foob", "Zm9vYg==", "Zm9vYg=="},
    {"fooba", "Zm9vYmE=", "Zm9vYmE="}, {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xff\xef\xbe", "/+++", "_---"}, {"\xfb\xf0", "+/A=", "-_A="}};

static void
bytes_become_text_in_either_alphabet(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		BUF_AUTO text = BUF_INIT(100);
		BUF_AUTO url = BUF_INIT(100);

		base64_encode(
		    vectors[i].bytes, strlen(vectors[i].bytes), &text);
		base64url_encode(
		    vectors[i].bytes, strlen(vectors[i].bytes), &url);
		assert_int_equal(text.size, strlen(vectors[i].text));
		assert_memory_equal(text.data, vectors[i].text, text.size);
		assert_int_equal(url.size, strlen(vectors[i].url));
		assert_memory_equal(url.data, vectors[i].url, url.size);
	}
}

static void
text_becomes_bytes_with_and_without_padding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		BUF_AUTO padded = BUF_INIT(100);
		BUF_AUTO bare = BUF_INIT(100);
		char text[16];

		(void)snprintf(text, sizeof(text), "%s", vectors[i].text);
		assert_int_equal(base64_decode(text, &padded), 0);
		assert_string_equal(padded.data, vectors[i].bytes);
		text[strcspn(text, "=")] = '\0';
		assert_int_equal(base64_decode(text, &bare), 0);
		assert_string_equal(bare.data, vectors[i].bytes);
	}
}

static void
what_is_no_base64_is_refused(void **state)
{
	static const char *const texts[] = {
	    "Zg=a", "Z g", "Zm9v\n", "_---", "Zg==Zg==", "\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		BUF_AUTO out = BUF_INIT(100);

		assert_int_equal(base64_decode(texts[i], &out), -1);
	}
	BUF_AUTO small = BUF_INIT(2);
	assert_int_equal(base64_decode("Zm9v", &small), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_become_text_in_either_alphabet),
	    cmocka_unit_test(text_becomes_bytes_with_and_without_padding),
	    cmocka_unit_test(what_is_no_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
