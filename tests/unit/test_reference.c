/* docker/reference: image references. */
#include "../check.h"
#include "docker/reference.h"

#include <string.h>

#define HEX64                              \
	"0123456789abcdef0123456789abcdef" \
	"0123456789abcdef0123456789abcdef"

static void
references_come_apart_as_docker_takes_them(void **state)
{
	static const struct {
		const char *text, *host, *name, *version;
	} rows[] = {
	    {"busybox", "docker.io", "busybox", "latest"},
	    {"busybox:1.36", "docker.io", "busybox", "1.36"},
	    {"team/app", "docker.io", "team/app", "latest"},
	    {"a/b/c:v1.2-rc_3", "docker.io", "a/b/c", "v1.2-rc_3"},
	    {"localhost/x", "localhost", "localhost/x", "latest"},
	    {"localhost:5000/x", "localhost:5000", "localhost:5000/x",
		"latest"},
	    {"127.0.0.1:5000/a/b:t", "127.0.0.1:5000", "127.0.0.1:5000/a/b",
		"t"},
	    {"registry.example/x", "registry.example", "registry.example/x",
		"latest"},
	    {"[fd00::1]:5000/x:y", "[fd00::1]:5000", "[fd00::1]:5000/x", "y"},
	    {"a@sha256:" HEX64, "docker.io", "a", "sha256:" HEX64},
	    {"a:t@sha256:" HEX64, "docker.io", "a", "sha256:" HEX64},
	    {"a__b/c---d.e", "docker.io", "a__b/c---d.e", "latest"},
	    /* The tag may look like a digest's hex, the name like an id's. */
	    {"sha256:abc", "docker.io", "sha256", "abc"},
	    {"0123456789ab", "docker.io", "0123456789ab", "latest"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reference r;
		struct err e = ERR_INIT;

		check_ok(reference_parse(rows[i].text, &r, &e), &e);
		assert_string_equal(r.host, rows[i].host);
		assert_string_equal(r.name, rows[i].name);
		assert_string_equal(r.version, rows[i].version);
		assert_false(r.is_id);
	}
}

static void
an_image_id_is_told_from_a_name(void **state)
{
	struct reference r;
	struct err e = ERR_INIT;

	(void)state;
	check_ok(reference_parse("sha256:" HEX64, &r, &e), &e);
	assert_true(r.is_id);
	check_ok(reference_parse(HEX64, &r, &e), &e);
	assert_true(r.is_id);
	check_ok(reference_parse(HEX64 "0", &r, &e), &e);
	assert_false(r.is_id);
}

static void
what_docker_refuses_is_an_input_error(void **state)
{
	static const char *const bad[] = {"", " ", "a b", "Busybox", "x//y",
	    "/x", "x/", "x:", "x:-t", "x:.t", "x@", "x@sha256:abc",
	    "x@md5:" HEX64, "x@sha256:" HEX64 "0",
	    "x@sha256:ABCDEF0123456789" HEX64, "a..b", "a___b", "-a", "a-",
	    "a.-b/c", "http://x/y", "localhost:port/x", "x.example:/y",
	    "[fd00::1/x", "[]:1/x", "x\n", "x?y", "x%2Fy", "../x", "a/../b",
	    "\xc3\xa9"};
	struct reference r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = ERR_INIT;

		if (reference_parse(bad[i], &r, &e) == 0)
			fail_msg("\"%s\" passes", bad[i]);
		assert_int_equal(e.kind, ERR_INPUT);
	}
}

static void
lengths_have_ceilings(void **state)
{
	char text[1000];
	struct reference r;
	struct err e = ERR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[REFERENCE_NAME_MAX] = '\0';
	check_ok(reference_parse(text, &r, &e), &e);
	memset(text, 'a', sizeof(text));
	text[REFERENCE_NAME_MAX + 1] = '\0';
	check_fails(reference_parse(text, &r, &e), &e, ERR_INPUT);
	memset(text, 'a', sizeof(text));
	text[1] = ':';
	text[2 + 128] = '\0';
	check_ok(reference_parse(text, &r, &e), &e);
	text[2 + 128] = 'a';
	text[2 + 129] = '\0';
	check_fails(reference_parse(text, &r, &e), &e, ERR_INPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(references_come_apart_as_docker_takes_them),
	    cmocka_unit_test(an_image_id_is_told_from_a_name),
	    cmocka_unit_test(what_docker_refuses_is_an_input_error),
	    cmocka_unit_test(lengths_have_ceilings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
