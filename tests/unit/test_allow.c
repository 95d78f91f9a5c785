/* lib/allow: entries of an allowlist, and whom they admit. */
#include "../check.h"
#include "lib/allow.h"

#include <string.h>

static struct allow_entry
entry(const char *text)
{
	struct err e = ERR_INIT;
	struct allow_entry a;

	check_ok(allow_parse(text, strlen(text), &a, &e), &e);
	return a;
}

static struct allow_host
host(const char *text)
{
	struct err e = ERR_INIT;
	struct allow_host h;

	check_ok(allow_host_parse(text, strlen(text), &h, &e), &e);
	return h;
}

static bool
covers(const char *text, const char *name, uint16_t port)
{
	const struct allow_entry a = entry(text);
	const struct allow_host h = host(name);

	return allow_covers(&a, &h, port);
}

static void
entries_come_back_in_their_canonical_form(void **state)
{
	static const char *const pairs[][2] = {
	    {"Example.COM.", "example.com"},
	    {".Example.com", ".example.com"},
	    {"example.com:8443", "example.com:8443"},
	    {"example.com:00080", "example.com:80"},
	    {"a_b.example", "a_b.example"},
	    {"localhost", "localhost"},
	    {"xn--bcher-kva.example", "xn--bcher-kva.example"},
	    {"1.2.3.4", "1.2.3.4"},
	    {"1.2.3.4.", "1.2.3.4"},
	    {"1.2.3.4:1234", "1.2.3.4:1234"},
	    {"[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"},
	    {"2001:db8::1", "[2001:db8::1]"},
	    {"[::ffff:10.0.0.1]:80", "10.0.0.1:80"},
	};
	char text[ALLOW_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct allow_entry a = entry(pairs[i][0]);

		allow_format(&a, text);
		assert_string_equal(text, pairs[i][1]);
		a = entry(text);
		allow_format(&a, text);
		assert_string_equal(text, pairs[i][1]);
	}
}

/* CONTRACT 6, and cases 28 and 29. */
static void
what_is_no_entry_is_refused_and_quoted(void **state)
{
	static const char *const bad[] = {"http://example.com", "a.com/path",
	    "*", "*.example.com", "a b.com", "a.com,b.com", "user@a.com",
	    "a.com?x", "a.com#x", ".com", ".", "..", "a..b", ".a..b", "-a.com",
	    "a-.com", "a.com..", "a.com:0", "a.com:65536", "a.com:", "a.com:x",
	    "a.com:-1", "a.com:+1", "a.com:080808", "a.com:1:2", "[::1", "::1]",
	    "[1.2.3.4]", "[::1]x", "[]", "[fe80::1%eth0]", "0x7f.1",
	    "2130706433", "0177.0.0.1", "127.1", "1.2.3", "1.2.3.4.5",
	    "256.1.1.1", "a.com.0x1", "\xf0\x9f\x94\x90.example",
	    "\xef\xbc\x91.2.3.4", "a\tb",
	    "a\x01"
	    "b",
	    "a%2eb", "a;b", ".1.2.3.4", ".[::1]"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = ERR_INIT;
		struct allow_entry a;

		check_fails(
		    allow_parse(bad[i], strlen(bad[i]), &a, &e), &e, ERR_INPUT);
		assert_non_null(strstr(e.text, bad[i]));
	}
}

static void
a_range_of_addresses_is_told_where_it_belongs(void **state)
{
	static const struct {
		const char *text, *hint;
	} table[] = {{"10.0.0.0/8", "SBX_EGRESS_PRIVATE"},
	    {"192.168.1.7/24", "SBX_EGRESS_PRIVATE"},
	    {"fd00::/8", "SBX_EGRESS_PRIVATE"}, {"10.0.0.0/8/", "SBX_EGRESS"},
	    {"example.com/8", "the host alone"}, {"/8", "the host alone"},
	    {"http://10.0.0.1/", "the host alone"}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct err e = ERR_INIT;
		struct allow_entry a;

		check_fails(
		    allow_parse(table[i].text, strlen(table[i].text), &a, &e),
		    &e, ERR_INPUT);
		if (strstr(e.text, table[i].hint) == NULL)
			fail_msg("%s: %s", table[i].text, e.text);
	}
}

static void
empty_entries_and_nul_bytes_are_refused(void **state)
{
	struct err e = ERR_INIT;
	struct allow_entry a;

	(void)state;
	check_fails(allow_parse("", 0, &a, &e), &e, ERR_INPUT);
	check_fails(allow_parse("a\0b.com", 7, &a, &e), &e, ERR_INPUT);
}

static void
names_and_labels_have_their_longest(void **state)
{
	char text[300];
	struct err e = ERR_INIT;
	struct allow_entry a;

	(void)state;
	memset(text, 'a', sizeof(text));
	check_ok(allow_parse(text, 63, &a, &e), &e);
	check_fails(allow_parse(text, 64, &a, &e), &e, ERR_INPUT);
	for (size_t i = 63; i < sizeof(text); i += 64)
		text[i] = '.';
	check_ok(allow_parse(text, 253, &a, &e), &e);
	check_fails(allow_parse(text, 254, &a, &e), &e, ERR_INPUT);
}

static void
a_host_is_that_host_at_two_ports(void **state)
{
	(void)state;
	assert_true(covers("example.com", "EXAMPLE.com.", 443));
	assert_true(covers("example.com", "example.com", 80));
	assert_false(covers("example.com", "example.com", 8080));
	assert_false(covers("example.com", "www.example.com", 443));
	assert_false(covers("example.com", "evilexample.com", 443));
	assert_false(covers("example.com", "example.com.evil", 443));
}

static void
a_suffix_is_bounded_by_labels(void **state)
{
	(void)state;
	assert_true(covers(".example.com", "example.com", 443));
	assert_true(covers(".example.com", "a.b.example.com", 80));
	assert_false(covers(".example.com", "evilexample.com", 443));
	assert_false(covers(".example.com", "com", 443));
	assert_false(covers(".example.com", "example.com.evil", 443));
	assert_true(covers(".example.com:8443", "a.example.com", 8443));
	assert_false(covers(".example.com:8443", "a.example.com", 443));
}

static void
a_port_is_that_port_only(void **state)
{
	(void)state;
	assert_true(covers("example.com:22", "example.com", 22));
	assert_false(covers("example.com:22", "example.com", 443));
	assert_false(covers("example.com:443", "example.com", 80));
}

static void
addresses_match_addresses_and_never_names(void **state)
{
	(void)state;
	assert_true(covers("192.0.2.10:1234", "192.0.2.10", 1234));
	assert_false(covers("192.0.2.10:1234", "192.0.2.10", 80));
	assert_true(covers("10.0.0.1", "::ffff:10.0.0.1", 80));
	assert_true(covers("[::1]:443", "[0:0::1]", 443));
	assert_false(covers(".example.com", "192.0.2.10", 80));
	assert_false(covers("example.com", "[::1]", 80));
}

static void
a_suggestion_admits_what_was_refused(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *text;
	} rows[] = {
	    {"Example.com.", 443, "example.com"},
	    {"example.com", 80, "example.com"},
	    {"example.com", 8080, "example.com:8080"},
	    {"192.0.2.1", 443, "192.0.2.1"},
	    {"::1", 22, "[::1]:22"},
	};
	char text[ALLOW_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct allow_host h = host(rows[i].host);

		allow_suggest(&h, rows[i].port, text);
		assert_string_equal(text, rows[i].text);
		assert_true(covers(text, rows[i].host, rows[i].port));
	}
}

/* The built-in list is data, but data that must parse, once. */
static void
the_built_in_list_is_well_formed(void **state)
{
	char before[ALLOW_TEXT], text[ALLOW_TEXT];

	(void)state;
	assert_true(allow_builtin_count > 40);
	for (size_t i = 0; i < allow_builtin_count; i++) {
		const struct allow_entry a = entry(allow_builtin[i].entry);

		allow_format(&a, text);
		assert_string_equal(text, allow_builtin[i].entry);
		assert_false(a.host.is_address);
		assert_int_equal(a.port, 0);
		for (size_t k = 0; k < i; k++) {
			const struct allow_entry b =
			    entry(allow_builtin[k].entry);

			allow_format(&b, before);
			assert_string_not_equal(text, before);
			assert_false(allow_covers(&b, &a.host, 443));
		}
	}
}

/* The three rules of allow_builtin.def. */
static void
places_to_publish_and_to_paste_are_not_built_in(void **state)
{
	static const char *const absent[] = {"crates.io", "hex.pm",
	    "www.nuget.org", "packagist.org", "upload.pypi.org",
	    "oss.sonatype.org", "central.sonatype.com",
	    "storage.googleapis.com", "registry.k8s.io", "aka.ms",
	    "gist.github.com", "uploads.github.com", "s3.amazonaws.com",
	    "metadata.google.internal"};

	(void)state;
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		for (size_t k = 0; k < allow_builtin_count; k++)
			assert_false(
			    covers(allow_builtin[k].entry, absent[i], 443));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_come_back_in_their_canonical_form),
	    cmocka_unit_test(what_is_no_entry_is_refused_and_quoted),
	    cmocka_unit_test(a_range_of_addresses_is_told_where_it_belongs),
	    cmocka_unit_test(empty_entries_and_nul_bytes_are_refused),
	    cmocka_unit_test(names_and_labels_have_their_longest),
	    cmocka_unit_test(a_host_is_that_host_at_two_ports),
	    cmocka_unit_test(a_suffix_is_bounded_by_labels),
	    cmocka_unit_test(a_port_is_that_port_only),
	    cmocka_unit_test(addresses_match_addresses_and_never_names),
	    cmocka_unit_test(a_suggestion_admits_what_was_refused),
	    cmocka_unit_test(the_built_in_list_is_well_formed),
	    cmocka_unit_test(places_to_publish_and_to_paste_are_not_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
