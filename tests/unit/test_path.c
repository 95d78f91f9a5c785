/* lib/path: request targets decoded exactly once, and split. */
#include "../check.h"
#include "lib/path.h"

#include <string.h>

static const char *
decoded(const char *from)
{
	static char to[8192];
	struct err e = ERR_INIT;

	check_ok(path_decode(from, strlen(from), to, &e), &e);
	return to;
}

/* Paths that a second decoding, or a proxy's normalising, would confuse. */
static void
paths_are_decoded_exactly_once(void **state)
{
	(void)state;
	assert_string_equal(decoded("/report%20name.txt"), "/report name.txt");
	assert_string_equal(
	    decoded("/report%2520name.txt"), "/report%20name.txt");
	assert_string_equal(decoded("/a%3Fb"), "/a?b");
	assert_string_equal(decoded("/a%23b"), "/a#b");
	assert_string_equal(decoded("/a+b"), "/a+b");
	assert_string_equal(decoded("/..%2fx"), "/../x");
	assert_string_equal(decoded("/%2e%2E"), "/..");
	assert_string_equal(decoded("/%252e%252e"), "/%2e%2e");
	assert_string_equal(decoded("/%C3%A9"), "/\xc3\xa9");
	assert_string_equal(decoded("/e%CC%81"), "/e\xcc\x81");
	assert_string_equal(decoded("/a%0Ab"), "/a\nb");
	assert_string_equal(decoded("/\xff%ff"), "/\xff\xff");
	assert_string_equal(decoded(""), "");
}

static void
escapes_that_are_not_two_hex_digits_are_refused(void **state)
{
	static const char *const bad[] = {"%", "/%", "/%4", "/%zz", "/%4g",
	    "/%g4", "/%%41", "/% 1", "/%+1", "/%-1", "/a%"};
	struct err e = ERR_INIT;
	char to[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_fails(
		    path_decode(bad[i], strlen(bad[i]), to, &e), &e, ERR_PATH);
	/* The digits must lie within the size that was given. */
	check_fails(path_decode("/%41", 3, to, &e), &e, ERR_PATH);
}

static void
nul_bytes_are_refused_raw_and_escaped(void **state)
{
	struct err e = ERR_INIT;
	char to[64];

	(void)state;
	check_fails(path_decode("/x%00y", 6, to, &e), &e, ERR_PATH);
	check_fails(path_decode("/x\0y", 4, to, &e), &e, ERR_PATH);
	assert_string_equal(decoded("/x%2500y"), "/x%00y");
}

static void
plain_paths_split_into_their_segments(void **state)
{
	struct err e = ERR_INIT;
	char *seg[8], path[] = "/v1/runs/01ABC/exec", root[] = "/";

	(void)state;
	assert_int_equal(path_split(path, seg, 8, &e), 4);
	assert_string_equal(seg[0], "v1");
	assert_string_equal(seg[1], "runs");
	assert_string_equal(seg[2], "01ABC");
	assert_string_equal(seg[3], "exec");
	assert_int_equal(path_split(root, seg, 8, &e), 0);
}

static void
dots_that_are_not_a_whole_segment_are_names(void **state)
{
	struct err e = ERR_INIT;
	char *seg[8], path[] = "/.../..a/a../.a";

	(void)state;
	assert_int_equal(path_split(path, seg, 8, &e), 4);
	assert_string_equal(seg[0], "...");
	assert_string_equal(seg[3], ".a");
}

static void
dot_empty_and_relative_paths_are_refused(void **state)
{
	static const char *const bad[] = {"", "x", "..", "//", "/a/", "/a//b",
	    "//a", "/.", "/..", "/./a", "/a/.", "/a/..", "/../a",
	    "/v1/../health", "a/b", " /a"};
	struct err e = ERR_INIT;
	char *seg[8], path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(path, bad[i], strlen(bad[i]) + 1);
		check_fails(path_split(path, seg, 8, &e), &e, ERR_PATH);
	}
}

static void
segments_have_a_ceiling(void **state)
{
	struct err e = ERR_INIT;
	char *seg[3] = {NULL, NULL, NULL};
	char fits[] = "/a/b", more[] = "/a/b/c";

	(void)state;
	assert_int_equal(path_split(fits, seg, 2, &e), 2);
	check_fails(path_split(more, seg, 2, &e), &e, ERR_PATH);
	assert_null(seg[2]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_are_decoded_exactly_once),
	    cmocka_unit_test(escapes_that_are_not_two_hex_digits_are_refused),
	    cmocka_unit_test(nul_bytes_are_refused_raw_and_escaped),
	    cmocka_unit_test(plain_paths_split_into_their_segments),
	    cmocka_unit_test(dots_that_are_not_a_whole_segment_are_names),
	    cmocka_unit_test(dot_empty_and_relative_paths_are_refused),
	    cmocka_unit_test(segments_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
