/* proxy/options: the command line of sbx-proxy. */
#include "../../proxy/options.h"
#include "../check.h"

#include <stdlib.h>
#include <string.h>

#define ARGUMENTS 16

/* A line, its words apart by one blank. The options point into it. */
static int
parse(char *line, struct options *o, struct err *e)
{
	char *argv[ARGUMENTS + 1] = {line};
	int argc = 1;

	for (char *c = line; (c = strchr(c, ' ')) != NULL; c++) {
		*c = '\0';
		assert_true(argc < ARGUMENTS);
		argv[argc++] = c + 1;
	}
	return options_parse(argc, argv, o, e);
}

static void
defaults_are_those_of_a_run(void **state)
{
	char line[] = "sbx-proxy --netns /run/x --pid 7 --policy p "
		      "--control=c --run R --detach";
	struct err e = ERR_INIT;
	struct options o;
	char text[ADDRESS_TEXT];

	(void)state;
	check_ok(parse(line, &o, &e), &e);
	address_format(&o.address, false, text);
	assert_string_equal(text, "127.0.0.1");
	assert_int_equal(o.port, 3128);
	assert_string_equal(o.netns, "/run/x");
	assert_int_equal(o.pid, 7);
	assert_string_equal(o.policy, "p");
	assert_string_equal(o.control, "c");
	assert_string_equal(o.name, "R");
	assert_true(o.detach);
	assert_string_equal(o.resolv, "/etc/resolv.conf");
	assert_string_equal(o.hosts, "/etc/hosts");
	assert_int_equal(o.limits.connections, 1024);
}

static void
a_link_of_its_own_moves_the_place(void **state)
{
	char line[] = "sbx-proxy --netns /run/x --policy p --user 2000000000 "
		      "--subnet 10.219.0.8/29";
	struct err e = ERR_INIT;
	struct options o;
	char text[ADDRESS_TEXT];

	(void)state;
	check_ok(parse(line, &o, &e), &e);
	address_format(&o.address, false, text);
	assert_string_equal(text, "10.219.0.9");
	assert_int_equal(o.port, 3128);
	assert_int_equal(o.subnet.bits, 29);
	assert_int_equal(o.user, 2000000000);
}

static void
by_hand_it_takes_a_place_and_a_policy(void **state)
{
	char line[] = "sbx-proxy --listen [::1]:0 --policy=a=b --resolv r "
		      "--hosts h --connections 5";
	struct err e = ERR_INIT;
	struct options o;

	(void)state;
	check_ok(parse(line, &o, &e), &e);
	assert_int_equal(o.address.family, 6);
	assert_int_equal(o.port, 0);
	assert_string_equal(o.policy, "a=b");
	assert_string_equal(o.resolv, "r");
	assert_string_equal(o.hosts, "h");
	assert_string_equal(o.control, "");
	assert_string_equal(o.netns, "");
	assert_int_equal(o.pid, 0);
	assert_false(o.detach);
	assert_int_equal(o.limits.connections, 5);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *line, *named;
	} cases[] = {
	    {"x", "--policy FILE is missing"},
	    {"x --policy p", "--listen ADDR:PORT is missing"},
	    {"x --netns n", "--policy FILE is missing"},
	    {"x --policy p --listen 1.2.3.4:1 --subnet 10.0.0.0/29",
		"--subnet takes --netns"},
	    {"x --subnet 10.0.0.1/29", "--subnet 10.0.0.1/29"},
	    {"x --subnet fd00::/64", "--subnet fd00::/64"},
	    {"x --subnet 10.0.0.0/31", "--subnet 10.0.0.0/31"},
	    {"x --user 0", "--user 0"},
	    {"x --user 4294967295", "--user 4294967295"},
	    {"x --listen", "--listen"},
	    {"x --listen 127.0.0.1", "--listen 127.0.0.1"},
	    {"x --listen 127.0.0.1:65536", "65535"},
	    {"x --listen 127.0.0.1:x", "65535"},
	    {"x --listen localhost:80", "localhost:80"},
	    {"x --listen :80", "--listen :80"},
	    {"x --listen 0x7f.1:80", "0x7f.1"},
	    {"x --policy ", "--policy"},
	    {"x --policy=", "--policy"},
	    {"x --pid 0", "--pid 0"},
	    {"x --pid -1", "--pid -1"},
	    {"x --pid 1x", "--pid 1x"},
	    {"x --detach=yes", "--detach"},
	    {"x --connections 0", "1 to 16384"},
	    {"x --connections many", "--connections many"},
	    {"x --unknown", "--unknown"},
	    {"x -h", "-h"},
	    {"x policy", "policy"},
	    {"x --", "--"},
	    {"x --pol p", "--pol"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[128];
		struct err e = ERR_INIT;
		struct options o;

		memcpy(line, cases[i].line, strlen(cases[i].line) + 1);
		check_fails(parse(line, &o, &e), &e, ERR_INPUT);
		if (strstr(e.text, cases[i].named) == NULL)
			fail_msg("%s: %s", cases[i].line, e.text);
	}
}

static void
help_needs_nothing_else_and_tells_all(void **state)
{
	static const char *const names[] = {"--listen ADDR:PORT",
	    "--policy FILE", "--control PATH", "--resolv FILE", "--hosts FILE",
	    "--run ID", "--netns PATH", "--subnet CIDR", "--user UID",
	    "--pid PID", "--detach\n", "--connections N", "--idle-ms N"};
	char line[] = "x --help", *text = NULL;
	struct err e = ERR_INIT;
	struct options o;
	size_t size;

	(void)state;
	check_ok(parse(line, &o, &e), &e);
	assert_true(o.help);
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	options_help(to);
	assert_int_equal(fclose(to), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(text, names[i]) == NULL)
			fail_msg("no %s in %s", names[i], text);
	for (char *c = text; *c != '\0'; c += strcspn(c, "\n") + 1)
		assert_in_range(strcspn(c, "\n"), 1, 80 - 8 + 1);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_are_those_of_a_run),
	    cmocka_unit_test(a_link_of_its_own_moves_the_place),
	    cmocka_unit_test(by_hand_it_takes_a_place_and_a_policy),
	    cmocka_unit_test(what_is_wrong_is_named),
	    cmocka_unit_test(help_needs_nothing_else_and_tells_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
