/* proxy/policy: what a run may reach. */
#include "../../proxy/policy.h"
#include "../check.h"
#include "lib/buf.h"

#include <stdio.h>
#include <string.h>

static struct policy *
policy(const char *text)
{
	struct err e = ERR_INIT;
	struct policy *p = policy_parse(text, strlen(text), &e);

	if (p == NULL)
		fail_msg("%s", e.text);
	return p;
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
admits(const struct policy *p, const char *name, uint16_t port)
{
	const struct allow_host h = host(name);

	return policy_admits(p, &h, port);
}

static const char *
refuses(const struct policy *p, const char *name, const char *address, int port)
{
	const struct allow_host h = host(name);
	struct address a;

	assert_true(address_parse(address, &a));
	return policy_refuses_address(p, &h, &a, (uint16_t)port);
}

static void
nothing_admits_nothing(void **state)
{
	static const char *const texts[] = {"", "\n\n", "# all\n", " \t\r\n",
	    "private 10.0.0.0/8\n", "sni off\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct policy *p = policy(texts[i]);

		assert_false(admits(p, "allowed.test", 443));
		assert_false(admits(p, "10.0.0.1", 80));
		assert_false(admits(p, "localhost", 80));
		policy_free(p);
	}
}

static void
entries_admit_what_they_name_and_no_more(void **state)
{
	struct policy *p = policy("Allowed.Test.\r\n"
				  "  .below.test\t# and all in it\n"
				  "# denied.test\n"
				  "port.test:8080\n"
				  ".deep.port.test:9\n"
				  "192.0.2.1\n"
				  "[2001:db8::1]:8443");

	(void)state;
	assert_true(admits(p, "allowed.test", 80));
	assert_true(admits(p, "ALLOWED.test.", 443));
	assert_false(admits(p, "allowed.test", 8080));
	assert_false(admits(p, "a.allowed.test", 443));
	assert_true(admits(p, "below.test", 443));
	assert_true(admits(p, "a.b.c.below.test", 443));
	assert_false(admits(p, "notbelow.test", 443));
	assert_false(admits(p, "below.test.example", 443));
	assert_false(admits(p, "test", 443));
	assert_false(admits(p, "denied.test", 443));
	assert_true(admits(p, "port.test", 8080));
	assert_false(admits(p, "port.test", 80));
	assert_true(admits(p, "x.deep.port.test", 9));
	assert_false(admits(p, "x.port.test", 9));
	assert_true(admits(p, "192.0.2.1", 80));
	assert_false(admits(p, "192.0.2.2", 80));
	assert_true(admits(p, "[2001:DB8:0::1]", 8443));
	assert_false(admits(p, "[2001:db8::1]", 443));
	policy_free(p);
}

static void
what_means_something_with_a_word_behind_it_is_a_host_alone(void **state)
{
	struct policy *p = policy("private\nsni\n");

	(void)state;
	assert_true(admits(p, "private", 80));
	assert_true(admits(p, "sni", 80));
	assert_true(policy_checks_sni(p));
	policy_free(p);
}

static void
builtin_stands_for_the_builtin_list(void **state)
{
	struct policy *p = policy("builtin\nbuiltin\n");

	(void)state;
	for (size_t i = 0; i < allow_builtin_count; i++) {
		const char *entry = allow_builtin[i].entry;

		assert_true(
		    admits(p, entry[0] == '.' ? entry + 1 : entry, 443));
	}
	assert_false(admits(p, "allowed.test", 443));
	policy_free(p);
}

static void
names_go_only_to_addresses_that_are_not_special(void **state)
{
	struct policy *p = policy("allowed.test\n"
				  "10.1.2.3\n"
				  "private 10.1.0.0/16\n"
				  "private fd00::/8\n");

	(void)state;
	assert_null(refuses(p, "allowed.test", "8.8.8.8", 443));
	assert_null(refuses(p, "allowed.test", "10.1.255.1", 443));
	assert_null(refuses(p, "allowed.test", "fd00::1", 443));
	assert_string_equal(
	    refuses(p, "allowed.test", "10.2.0.1", 443), "private");
	assert_string_equal(
	    refuses(p, "allowed.test", "127.0.0.1", 443), "loopback");
	assert_string_equal(
	    refuses(p, "allowed.test", "169.254.169.254", 80), "link-local");
	assert_null(refuses(p, "10.1.2.3", "10.1.2.3", 443));
	assert_null(refuses(p, "127.0.0.1", "127.0.0.1", 8080));
	policy_free(p);
}

static void
the_proxy_itself_is_never_dialled(void **state)
{
	struct policy *p = policy("private 0.0.0.0/0\nprivate ::/0\n");
	struct address own;

	(void)state;
	assert_non_null(refuses(p, "0.0.0.0", "0.0.0.0", 80));
	assert_non_null(refuses(p, "[::]", "::", 80));
	assert_null(refuses(p, "127.0.0.1", "127.0.0.1", 3128));
	assert_true(address_parse("127.0.0.1", &own));
	policy_own(p, &own, 3128);
	assert_non_null(refuses(p, "127.0.0.1", "127.0.0.1", 3128));
	assert_non_null(refuses(p, "allowed.test", "127.0.0.1", 3128));
	assert_null(refuses(p, "127.0.0.1", "127.0.0.1", 80));
	assert_null(refuses(p, "127.0.0.2", "127.0.0.2", 3128));
	assert_true(address_parse("0.0.0.0", &own));
	policy_own(p, &own, 3128);
	assert_non_null(refuses(p, "127.0.0.2", "127.0.0.2", 3128));
	assert_non_null(refuses(p, "[::1]", "::1", 3128));
	policy_free(p);
}

static void
server_names_are_checked_unless_switched_off(void **state)
{
	static const struct {
		const char *text;
		bool checks;
	} cases[] = {{"", true}, {"sni off", false}, {"sni\t off # x", false},
	    {"sni off\nsni on", true}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy *p = policy(cases[i].text);

		assert_int_equal(policy_checks_sni(p), cases[i].checks);
		policy_free(p);
	}
}

static void
each_bad_line_is_named(void **state)
{
	static const char text[] = "allowed.test\n"
				   "*.test\n"
				   "two words\n"
				   "private 10.0.0.1/8\n"
				   "private private\n"
				   "sni maybe\n"
				   "builtin now\n"
				   "a\0b.test\n"
				   "fine.test";
	struct err e = ERR_INIT;

	(void)state;
	assert_null(policy_parse(text, sizeof(text) - 1, &e));
	assert_int_equal(e.kind, ERR_INPUT);
	for (int line = 1; line <= 9; line++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "line %d: ", line);
		assert_int_equal(
		    strstr(e.text, name) != NULL, line >= 2 && line <= 8);
	}
}

static void
very_many_bad_lines_are_counted(void **state)
{
	BUF_AUTO text = BUF_INIT(POLICY_TEXT_MAX);
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "http://long.allowed.test/path/to/something\n");
	assert_null(policy_parse(text.data, text.size, &e));
	assert_non_null(strstr(e.text, "line 1: "));
	assert_non_null(strstr(e.text, " lines more"));
}

static void
it_holds_8192_entries_and_finds_each(void **state)
{
	BUF_AUTO text = BUF_INIT(POLICY_TEXT_MAX);
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < POLICY_ENTRIES_MAX; i++)
		buf_addf(&text,
		    i % 2 ? ".h%d.allowed.test\n" : "one.allowed.test:%d\n",
		    i + 1);
	struct policy *p = policy(text.data);
	for (int i = 0; i < POLICY_ENTRIES_MAX; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "x.h%d.allowed.test", i + 1);
		assert_int_equal(admits(p, name, 443), i % 2);
		assert_int_equal(
		    admits(p, "one.allowed.test", (uint16_t)(i + 1)),
		    i % 2 == 0);
	}
	policy_free(p);
	buf_adds(&text, "more.test\n");
	assert_null(policy_parse(text.data, text.size, &e));
	assert_non_null(strstr(e.text, "line 8193: "));
	text.size = 0;
	while (text.size < POLICY_TEXT_MAX)
		buf_addc(&text, '\n');
	policy_free(policy_parse(text.data, text.size, &e));
	assert_null(policy_parse(text.data, POLICY_TEXT_MAX + 1, &e));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_admits_nothing),
	    cmocka_unit_test(entries_admit_what_they_name_and_no_more),
	    cmocka_unit_test(
		what_means_something_with_a_word_behind_it_is_a_host_alone),
	    cmocka_unit_test(builtin_stands_for_the_builtin_list),
	    cmocka_unit_test(names_go_only_to_addresses_that_are_not_special),
	    cmocka_unit_test(the_proxy_itself_is_never_dialled),
	    cmocka_unit_test(server_names_are_checked_unless_switched_off),
	    cmocka_unit_test(each_bad_line_is_named),
	    cmocka_unit_test(very_many_bad_lines_are_counted),
	    cmocka_unit_test(it_holds_8192_entries_and_finds_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
