/* The body of POST /v1/egress/check: hosts, ports, and what is refused. */
#include "../check.h"
#include "api/egress_input.h"
#include "json/read.h"

#include <string.h>

static struct arena arena = ARENA_INIT;

static int
release(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static int
ask(const char *body, struct egress_question *q, struct err *e)
{
	json_auto_t *o = read_object(body, strlen(body), e);

	assert_non_null(o);
	return egress_input(o, &arena, q, e);
}

static void
a_host_may_say_its_port(void **state)
{
	static const struct {
		const char *body, *host;
		uint16_t port;
	} cases[] = {
	    {"{\"host\":\"a.example\"}", "a.example", 443},
	    {"{\"host\":\"A.Example.\",\"port\":0}", "a.example", 443},
	    {"{\"host\":\"a.example\",\"port\":80}", "a.example", 80},
	    {"{\"host\":\"a.example:8443\"}", "a.example", 8443},
	    {"{\"host\":\"a.example:8443\",\"port\":8443}", "a.example", 8443},
	    {"{\"host\":\"192.0.2.1:1\"}", "192.0.2.1", 1},
	    {"{\"host\":\"2001:DB8::1\"}", "[2001:db8::1]", 443},
	    {"{\"host\":\"[2001:db8::1]\",\"port\":80}", "[2001:db8::1]", 80},
	    {"{\"host\":\"[2001:db8::1]:99\"}", "[2001:db8::1]", 99},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct egress_question q;
		struct err e = ERR_INIT;
		char host[ALLOW_TEXT];

		check_ok(ask(cases[i].body, &q, &e), &e);
		allow_host_format(&q.host, host);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(q.port, cases[i].port);
		assert_string_equal(q.own, "");
	}
}

static void
what_is_no_host_is_named(void **state)
{
	static const struct {
		const char *body, *text;
	} cases[] = {
	    {"{}", "host is required"},
	    {"{\"host\":\"\"}", "host is required"},
	    {"{\"host\":7}", "host must be a string"},
	    {"{\"host\":\"https://a.example/x\"}", "host: "},
	    {"{\"host\":\"https://a.example/x\"}", "is a URL or path"},
	    {"{\"host\":\"me@a.example\"}", "host alone"},
	    {"{\"host\":\"*.example\"}", "'*'"},
	    {"{\"host\":\".example.com\"}", "leave out the dot"},
	    {"{\"host\":\"a..b\"}", "empty label"},
	    {"{\"host\":\"0x7f.1\"}", "ends in a number"},
	    {"{\"host\":\"a.example:0\"}", "bad port"},
	    {"{\"host\":\"a.example:http\"}", "bad port"},
	    {"{\"host\":\"a.example\",\"port\":65536}", "port"},
	    {"{\"host\":\"a.example\",\"port\":-1}", "port"},
	    {"{\"host\":\"a.example\",\"port\":\"443\"}", "port"},
	    {"{\"host\":\"a.example:80\",\"port\":443}", "give one of them"},
	    {"{\"host\":\"a.example\",\"egressAllow\":\"b\"}", "egressAllow"},
	    {"{\"host\":\"a.example\",\"egressAllow\":[\"http://b\"]}",
		"\"http://b\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct egress_question q;
		struct err e = ERR_INIT;

		check_fails(ask(cases[i].body, &q, &e), &e, ERR_INPUT);
		if (strstr(e.text, cases[i].text) == NULL)
			fail_msg("%s: \"%s\"", cases[i].body, e.text);
	}
}

static void
the_first_entry_that_admits_it_is_told(void **state)
{
	static const struct egress_entry list[] = {
	    {".example.com", EGRESS_BUILTIN},
	    {"a.example.com:8443", EGRESS_BOX},
	    {"b.example.com:8443", EGRESS_RUN},
	};
	static const struct {
		const char *body;
		int entry; /* -1: none */
	} cases[] = {
	    {"{\"host\":\"example.com\"}", 0},
	    {"{\"host\":\"a.example.com\",\"port\":80}", 0},
	    {"{\"host\":\"a.example.com:8443\"}", 1},
	    {"{\"host\":\"b.example.com:8443\"}", 2},
	    {"{\"host\":\"c.example.com:8443\"}", -1},
	    {"{\"host\":\"evilexample.com\"}", -1},
	    {"{\"host\":\"192.0.2.1\"}", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct egress_question q;
		struct err e = ERR_INIT;

		check_ok(ask(cases[i].body, &q, &e), &e);
		const struct egress_entry *by = egress_admits(&q, list, 3);
		assert_int_equal(by != NULL ? by - list : -1, cases[i].entry);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_host_may_say_its_port),
	    cmocka_unit_test(what_is_no_host_is_named),
	    cmocka_unit_test(the_first_entry_that_admits_it_is_told),
	};

	return cmocka_run_group_tests_name(
	    "egress input", tests, NULL, release);
}
