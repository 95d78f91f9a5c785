/* The text of hosts(5) and resolv.conf(5). */
#include "../../proxy/hosts.h"
#include "../check.h"

#include <string.h>

static const char hosts[] = "# a comment\n"
			    "127.0.0.1\tlocalhost  Alias.test.  # not.this\n"
			    "::1 localhost\n"
			    "10.0.0.1 one.test\r\n"
			    "no-address two.test\n"
			    "300.0.0.1 two.test\n"
			    "fe80::1%eth0 two.test\n"
			    "\n"
			    "  10.0.0.2   one.test one.test.more\n"
			    "#10.0.0.3 one.test\n"
			    "10.0.0.4 last.test";

static void
must_find(const char *name, const char *addresses)
{
	struct address found[4];
	BUF_AUTO text = BUF_INIT(1024);
	size_t count = hosts_find(hosts, name, found, 4);

	for (size_t i = 0; i < count; i++) {
		char one[ADDRESS_TEXT];

		address_format(&found[i], false, one);
		buf_addf(&text, "%s%s", i > 0 ? " " : "", one);
	}
	assert_string_equal(text.data, addresses);
}

static void
names_are_found_whole_and_in_any_case(void **state)
{
	(void)state;
	must_find("localhost", "127.0.0.1 ::1");
	must_find("alias.test", "127.0.0.1");
	must_find("one.test", "10.0.0.1 10.0.0.2");
	must_find("one.test.more", "10.0.0.2");
	must_find("last.test", "10.0.0.4");
	must_find("one", "");
	must_find("test", "");
	must_find("not.this", "");
	must_find("two.test", "");
	must_find("10.0.0.1", "");
}

static void
no_more_than_there_is_room_for(void **state)
{
	struct address found[1];

	(void)state;
	assert_int_equal(hosts_find(hosts, "localhost", found, 1), 1);
	assert_int_equal(hosts_find(hosts, "localhost", found, 0), 0);
	assert_int_equal(hosts_find("", "localhost", found, 1), 0);
}

static void
servers_are_listed_with_their_ports(void **state)
{
	static const struct {
		const char *text, *servers;
	} rows[] = {
	    {"", "127.0.0.1:53"},
	    {"search x\noptions ndots:5\n", "127.0.0.1:53"},
	    {"nameserver 10.0.0.1\n", "10.0.0.1:53"},
	    {"nameserver\t10.0.0.1 # one\nnameserver 2001:db8::1",
		"10.0.0.1:53,[2001:db8::1]:53"},
	    {"nameserver 127.0.0.1:5353\nnameserver [::1]:5354\n",
		"127.0.0.1:5353,[::1]:5354"},
	    {"nameserver nowhere\nnameserver fe80::1%eth0\n"
	     "nameserver 10.0.0.1:0\nnameserver 10.0.0.1:99999\n"
	     "nameserver ::1:\n;nameserver 10.0.0.2\nnameserver\n",
		"127.0.0.1:53"},
	    {"nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n"
	     "nameserver 10.0.0.4\n",
		"10.0.0.1:53,10.0.0.2:53,10.0.0.3:53"},
	    {"nameservers 10.0.0.1\nxnameserver 10.0.0.1\n", "127.0.0.1:53"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		BUF_AUTO servers = BUF_INIT(1024);

		hosts_servers(rows[i].text, &servers);
		assert_string_equal(servers.data, rows[i].servers);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_found_whole_and_in_any_case),
	    cmocka_unit_test(no_more_than_there_is_room_for),
	    cmocka_unit_test(servers_are_listed_with_their_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
