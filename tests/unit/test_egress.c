/* The policy of a run: its own entries, all in force, the text for its proxy.
 */
#include "../check.h"
#include "lib/str.h"
#include "run/egress.h"
#include "run/egress_network.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;

static int
release(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const char *
own(const char *const *entries)
{
	struct err e = ERR_INIT;
	const char *text = NULL;

	check_ok(egress_own(entries, &arena, &text, &e), &e);
	return text;
}

static void
refuse(const char *const *entries, const char *said)
{
	struct err e = ERR_INIT;
	const char *text = NULL;

	assert_int_equal(egress_own(entries, &arena, &text, &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	if (strstr(e.text, said) == NULL)
		fail_msg("\"%s\" does not say %s", e.text, said);
	assert_null(text);
}

static void
own_entries_become_canonical_and_each_once(void **state)
{
	const char *const entries[] = {"One.Example.", ".two.example",
	    "one.example", "three.example:8080", "[2001:DB8::1]:443", NULL};
	const char *const none[] = {NULL};

	(void)state;
	assert_string_equal(own(entries),
	    "[\"one.example\",\".two.example\",\"three.example:8080\","
	    "\"[2001:db8::1]:443\"]");
	assert_string_equal(own(none), "");
	assert_string_equal(own(NULL), "");
}

static void
a_bad_entry_is_refused_and_quoted(void **state)
{
	const char *const url[] = {"one.example", "https://two.example/", NULL};
	const char *const star[] = {"*.example", NULL};
	const char *const line[] = {"one.example\nprivate 0.0.0.0/0", NULL};
	const char *const comment[] = {"one.example#x", NULL};

	(void)state;
	refuse(url, "egressAllow: ");
	refuse(url, "\"https://two.example/\"");
	refuse(star, "\"*.example\"");
	refuse(line, "egressAllow");
	refuse(comment, "egressAllow");
}

static void
own_entries_are_bounded_in_number_and_bytes(void **state)
{
	const char *many[EGRESS_OWN_MAX + 2] = {NULL};
	char long_name[260];

	(void)state;
	for (int i = 0; i < EGRESS_OWN_MAX; i++)
		many[i] = arena_printf(&arena, "h%d.example", i);
	(void)own(many);
	many[EGRESS_OWN_MAX] = "one-too-many.example";
	refuse(many, "more than 256 entries");
	memset(long_name, 'a', sizeof(long_name));
	for (int i = 0; i < EGRESS_OWN_MAX; i++)
		many[i] = arena_printf(
		    &arena, "h%d.%.60s.%.60s", i, long_name, long_name);
	many[EGRESS_OWN_MAX] = NULL;
	refuse(many, "bytes in all");
}

static const struct config box = {
    .egress_allow = "a.example, .B.example\n127.0.0.1:99",
    .egress_private = "10.0.0.0/8 fd00::/8",
    .egress_sni = "off",
};

static void
all_entries_are_told_with_their_origin(void **state)
{
	const char *const mine[] = {"mine.example", NULL};
	const struct egress_entry *list;
	size_t count = egress_entries(&box, own(mine), &arena, &list);

	(void)state;
	assert_true(count > 4);
	assert_int_equal(list[0].origin, EGRESS_BUILTIN);
	assert_int_equal(list[count - 4].origin, EGRESS_BOX);
	assert_string_equal(list[count - 3].text, ".b.example");
	assert_string_equal(list[count - 2].text, "127.0.0.1:99");
	assert_int_equal(list[count - 1].origin, EGRESS_RUN);
	assert_string_equal(list[count - 1].text, "mine.example");
}

static void
a_policy_is_text_that_tells_its_own_entries_again(void **state)
{
	const char *const mine[] = {"mine.example", ".x.example:1", NULL};
	const struct config plain = {
	    .egress_allow = "", .egress_private = "", .egress_sni = "on"};
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);

	(void)state;
	egress_text(&box, own(mine), &text);
	assert_string_equal(text.data, "builtin\n"
				       "private 10.0.0.0/8\n"
				       "private fd00::/8\n"
				       "sni off\n"
				       "# SBX_EGRESS_ALLOW\n"
				       "a.example\n"
				       ".b.example\n"
				       "127.0.0.1:99\n"
				       "# egressAllow\n"
				       "mine.example\n"
				       ".x.example:1\n");
	assert_string_equal(egress_text_own(text.data, &arena), own(mine));
	buf_reset(&text);
	egress_text(&plain, "", &text);
	assert_string_equal(
	    text.data, "builtin\n# SBX_EGRESS_ALLOW\n# egressAllow\n");
	assert_string_equal(egress_text_own(text.data, &arena), "");
	assert_string_equal(egress_text_own("builtin\n", &arena), "");
}

static void
a_record_that_makes_no_sense_admits_nothing(void **state)
{
	static const char *const own_of[] = {"", "x", "{\"a\":1}", "[1,null]",
	    "[\"*\",\"a\\nprivate 0.0.0.0/0\"]"};
	BUF_AUTO text = BUF_INIT(EGRESS_TEXT_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(own_of) / sizeof(own_of[0]); i++) {
		buf_reset(&text);
		egress_text(&box, own_of[i], &text);
		assert_true(str_ends(text.data, "# egressAllow\n"));
	}
}

static void
the_proxy_is_on_loopback_or_first_in_the_runs_network(void **state)
{
	static const char *const table[][2] = {{"", "127.0.0.1"},
	    {"10.219.0.0/29", "10.219.0.1"}, {"10.219.3.8/29", "10.219.3.9"}};
	const struct run old = {.subnet = NULL};
	char address[ADDRESS_TEXT];

	(void)state;
	egress_address(&old, address);
	assert_string_equal(address, "127.0.0.1");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct run run = {.subnet = table[i][0]};

		egress_address(&run, address);
		assert_string_equal(address, table[i][1]);
	}
}

/* -- subnets --------------------------------------------------------------- */

static void
every_subnet_of_the_pool_is_tried_once(void **state)
{
	char subnet[ADDRESS_TEXT];
	bool seen[256] = {false};
	unsigned third, last, bits, count = 0;

	(void)state;
	while (egress_network_pick(
	    "10.9.8.0/21", "01J0000000000000000000000A", count, subnet)) {
		assert_int_equal(
		    sscanf(subnet, "10.9.%u.%u/%u", &third, &last, &bits), 3);
		assert_true(third >= 8 && third <= 15 && bits == 29);
		assert_int_equal(last % 8, 0);
		unsigned slot = (third - 8) * 32 + last / 8;
		assert_false(seen[slot]);
		seen[slot] = true;
		count++;
	}
	assert_int_equal(count, 256);
}

static void
a_pool_may_have_one_subnet_and_runs_begin_at_different_ones(void **state)
{
	char one[ADDRESS_TEXT], other[ADDRESS_TEXT];

	(void)state;
	assert_true(egress_network_pick("10.1.2.8/29", "A", 0, one));
	assert_string_equal(one, "10.1.2.8/29");
	assert_false(egress_network_pick("10.1.2.8/29", "A", 1, one));
	assert_true(egress_network_pick("10.0.0.0/8", "A", 0, one));
	assert_true(egress_network_pick("10.0.0.0/8", "B", 0, other));
	assert_string_not_equal(one, other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_entries_become_canonical_and_each_once),
	    cmocka_unit_test(a_bad_entry_is_refused_and_quoted),
	    cmocka_unit_test(own_entries_are_bounded_in_number_and_bytes),
	    cmocka_unit_test(all_entries_are_told_with_their_origin),
	    cmocka_unit_test(a_policy_is_text_that_tells_its_own_entries_again),
	    cmocka_unit_test(
		the_proxy_is_on_loopback_or_first_in_the_runs_network),
	    cmocka_unit_test(every_subnet_of_the_pool_is_tried_once),
	    cmocka_unit_test(
		a_pool_may_have_one_subnet_and_runs_begin_at_different_ones),
	    cmocka_unit_test(a_record_that_makes_no_sense_admits_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
