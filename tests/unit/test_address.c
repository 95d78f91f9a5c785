/* lib/address: spelling, ranges, and what leads where a run must not go. */
#include "../check.h"
#include "lib/address.h"

#include <string.h>

static struct address
address(const char *text)
{
	struct address a;

	if (!address_parse(text, &a))
		fail_msg("%s is no address", text);
	return a;
}

static void
addresses_come_back_as_rfc_5952_writes_them(void **state)
{
	static const char *const pairs[][2] = {
	    {"192.0.2.1", "192.0.2.1"},
	    {"2001:DB8:0:0:0:0:0:1", "[2001:db8::1]"},
	    {"::", "[::]"},
	    {"::ffff:192.0.2.1", "192.0.2.1"},
	    {"::FFFF:c000:0201", "192.0.2.1"},
	};
	char text[ADDRESS_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct address a = address(pairs[i][0]);

		address_format(&a, true, text);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void
other_spellings_are_no_addresses(void **state)
{
	static const char *const bad[] = {"", "1", "1.2.3", "1.2.3.4.5",
	    "01.2.3.4", "0x1.2.3.4", "1.2.3.256", " 1.2.3.4", "1.2.3.4 ",
	    "[::1]", "::1%lo", ":::", "1::2::3", "12345::", "::g"};
	struct address a;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(address_parse(bad[i], &a));
}

static bool
has(const char *range, const char *text)
{
	const struct address a = address(text);
	struct cidr c;

	assert_true(cidr_parse(range, &c));
	return cidr_has(&c, &a);
}

static void
ranges_end_at_their_bit(void **state)
{
	(void)state;
	assert_true(has("10.0.0.0/8", "10.255.255.255"));
	assert_false(has("10.0.0.0/8", "11.0.0.0"));
	assert_true(has("100.64.0.0/10", "100.127.255.255"));
	assert_false(has("100.64.0.0/10", "100.128.0.0"));
	assert_true(has("192.0.2.7", "192.0.2.7"));
	assert_false(has("192.0.2.7/32", "192.0.2.6"));
	assert_true(has("0.0.0.0/0", "8.8.8.8"));
	assert_false(has("0.0.0.0/0", "::1"));
	assert_true(has("fc00::/7", "fdff::1"));
	assert_false(has("fc00::/7", "fe00::1"));
	assert_true(has("::1/128", "::1"));
}

static void
ranges_that_make_no_sense_are_refused(void **state)
{
	static const char *const bad[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33",
	    "10.0.0.1/8", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8x", "::/129",
	    "fc00::1/7", "10.0.0.0/0008", "10/8", "host/8"};
	struct cidr c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(cidr_parse(bad[i], &c));
}

/* Both ends of each range of the registries; cases 6 and 8. */
static void
special_addresses_are_told(void **state)
{
	static const char *const special[] = {"0.0.0.0", "0.255.255.255",
	    "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255",
	    "127.0.0.1", "127.255.255.255", "168.63.129.16", "169.254.169.254",
	    "172.16.0.0", "172.31.255.255", "192.0.0.8", "192.0.2.1",
	    "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.1",
	    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
	    "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
	    "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1",
	    "::8.8.8.8", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "64:ff9b:1::1",
	    "100::1", "2001::1", "2001:0:4136:e378::1", "2001:db8::1",
	    "2002:a9fe:a9fe::", "2002:7f00:1::1", "3fff::1", "5f00::1",
	    "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1"};

	(void)state;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		const struct address a = address(special[i]);

		if (address_special(&a) == NULL)
			fail_msg("%s passes for public", special[i]);
	}
}

static void
public_addresses_are_not_special(void **state)
{
	static const char *const open[] = {"1.1.1.1", "8.8.8.8",
	    "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255",
	    "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15",
	    "169.253.255.255", "172.15.255.255", "172.32.0.0",
	    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
	    "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808",
	    "2002:808:808::1", "2001:200::1", "2606:4700::1111",
	    "2a00:1450::1"};

	(void)state;
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		const struct address a = address(open[i]);

		assert_null(address_special(&a));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_come_back_as_rfc_5952_writes_them),
	    cmocka_unit_test(other_spellings_are_no_addresses),
	    cmocka_unit_test(ranges_end_at_their_bit),
	    cmocka_unit_test(ranges_that_make_no_sense_are_refused),
	    cmocka_unit_test(special_addresses_are_told),
	    cmocka_unit_test(public_addresses_are_not_special),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
